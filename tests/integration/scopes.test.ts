import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeRoute } from "#api/audit/http-hook.ts";
import { SCOPES, type Scope } from "#api/http/auth.ts";
import { type Caller, type GovernanceServer, startGovernanceServer } from "./governance-server.ts";

interface Operation {
  method: string;
  path: string;
  scope: Scope | undefined;
  isPublic: boolean;
}

const CHANGING_METHODS = ["POST", "PUT", "PATCH", "DELETE"];

let governance: GovernanceServer;
let operations: Operation[];
/** A key with every scope but one, and one with that scope only. */
const without = new Map<Scope, Caller>();
const onlyWith = new Map<Scope, Caller>();

beforeAll(async () => {
  governance = await startGovernanceServer();
  const document = (await governance.server.get("/openapi.json")).body;
  operations = Object.entries<Record<string, Record<string, unknown>>>(document.paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        scope: operation["x-scope"] as Scope | undefined,
        isPublic: (operation.security as unknown[] | undefined)?.length === 0,
      })),
  );
  for (const scope of SCOPES) {
    without.set(scope, await governance.makeKey({ scopes: SCOPES.filter((other) => other !== scope) }));
    onlyWith.set(scope, await governance.makeKey({ scopes: [scope] }));
  }
});
afterAll(() => governance.server.close());

const name = ({ method, path }: Operation) => `${method} ${path}`;
/** A path that leads to nothing, so that a request which gets through does no harm. */
const concrete = ({ path }: Operation) => path.replaceAll(/\{[^}]+\}/g, "999999999");

describe("every route of the document", () => {
  test("refuses a key without its scope with 403, naming the scope, before it looks at anything else", async () => {
    const scoped = operations.filter(({ scope }) => scope !== undefined);
    expect(scoped.length).toBeGreaterThan(30);
    for (const operation of scoped) {
      const scope = operation.scope as Scope;
      const answer = await without.get(scope)?.send(operation.method, concrete(operation));
      expect([name(operation), answer?.status, answer?.body.code]).toEqual([
        name(operation),
        403,
        "forbidden",
      ]);
      expect(answer?.body.error).toContain(scope);
    }
  });

  test("lets a key with its scope, and no other, through to the rest", async () => {
    for (const operation of operations.filter(({ scope }) => scope !== undefined)) {
      // What needs no body or path could really do something.
      if (operation.method !== "GET" && !operation.path.includes("{")) continue;
      // Its answer has no end.
      if (operation.path.endsWith("/stream")) continue;
      const answer = await onlyWith
        .get(operation.scope as Scope)
        ?.send(operation.method, concrete(operation));
      expect([name(operation), answer?.status]).not.toEqual([name(operation), 403]);
      expect([name(operation), answer?.status]).not.toEqual([name(operation), 401]);
    }
  });

  test("names a scope if it can change anything; without one it is for any key, or public on purpose", () => {
    const unscoped = operations.filter(({ scope }) => scope === undefined);
    expect(unscoped.filter(({ method }) => CHANGING_METHODS.includes(method)).map(name)).toEqual([]);
    expect(unscoped.filter(({ isPublic }) => isPublic).map(name)).toEqual([
      "GET /health",
      "GET /health/live",
      "GET /health/ready",
    ]);
  });

  test("without a key answers 401, public ones excepted", async () => {
    for (const operation of operations.filter(({ isPublic }) => !isPublic)) {
      const answer = await governance.callerWith("").send(operation.method, concrete(operation));
      expect([name(operation), answer.status]).toEqual([name(operation), 401]);
    }
  });

  test("that can change something has a name in the audit trail", () => {
    const changing = operations.filter(({ method }) => CHANGING_METHODS.includes(method));
    expect(changing.length).toBeGreaterThan(15);
    for (const { method, path } of changing) {
      const route = describeRoute(method, path.replaceAll(/\{([^}]+)\}/g, ":$1"));
      expect([`${method} ${path}`, route?.action]).toEqual([
        `${method} ${path}`,
        expect.stringMatching(/^[a-z]+\.[a-z]+$/),
      ]);
    }
  });
});
