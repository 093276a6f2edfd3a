import { readFile } from "node:fs/promises";
import type { FetchResponse } from "openapi-fetch";
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import { ERROR_CATALOGUE } from "#api/errors.ts";
import type { App } from "#api/http/app-type.ts";
import { SCOPES } from "#api/http/auth.ts";
import { printOpenApiDocument } from "#api/openapi-main.ts";
import type { components, paths } from "#client/schema.ts";
import { buildHttpApp, TEST_KEY } from "./harness/http-app.ts";

interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  security?: unknown[];
  tags?: string[];
  "x-scope"?: string;
  parameters?: { name: string; in: string }[];
  responses: Record<string, Answer>;
}
interface Answer {
  description: string;
  $ref?: string;
  content?: Record<string, { schema: { $ref?: string } }>;
}
interface Document {
  openapi: string;
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>> & { responses: Record<string, Answer> };
}

const COMMITTED = new URL("../../docs/openapi.json", import.meta.url);
let app: App;
let document: Document;
let operations: [string, Operation][];
beforeAll(async () => {
  app = await buildHttpApp({ environment: { CYRNEL_API_KEY: TEST_KEY } });
  document = (await app.inject("/openapi.json")).json();
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
});
afterAll(() => app.close());

test("docs/openapi.json is what the server serves", async () => {
  const committed = await readFile(COMMITTED, "utf8");
  expect(await printOpenApiDocument()).toBe(committed);
  expect(document).toEqual(JSON.parse(committed));
});

test("it is OpenAPI 3.1 and every reference in it leads somewhere", () => {
  expect(document.openapi).toMatch(/^3\.1\./);
  const references = [...JSON.stringify(document).matchAll(/"#\/components\/([^"/]+)\/([^"]+)"/g)];
  const kinds = new Set(references.map(([, kind]) => kind));
  expect(kinds).toEqual(new Set(["schemas", "responses", "parameters"]));
  for (const [, kind = "", name = ""] of references) {
    expect(document.components[kind]).toHaveProperty([name]);
  }
});

test("it describes every route the server has, but for itself and its page", () => {
  const routes = app
    .printRoutes({ commonPrefix: false, includeHooks: false })
    .split("\n")
    .filter((line) => line.includes("("));
  expect(routes.length).toBeGreaterThan(10);
  for (const path of [
    "/processes",
    "/processes/{id}",
    "/processes/{id}/events",
    "/modules",
    "/modules/{id}",
    "/environment",
    "/environment/docs",
    "/health",
    "/health/ready",
  ]) {
    expect(Object.keys(document.paths)).toContain(path);
  }
});

describe("every operation", () => {
  test("has a summary, a description and a tag that is defined", () => {
    const tags = document.tags.map(({ name }) => name);
    for (const [name, { summary, description, tags: [tag, ...rest] = [] }] of operations) {
      expect([name, summary, description]).toEqual([name, expect.any(String), expect.any(String)]);
      expect([tags, rest]).toEqual([expect.arrayContaining([tag]), []]);
    }
  });

  test("has an operationId of its own: a verb and a noun, from which generators make method names", () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    for (const id of ids) expect(id).toMatch(/^[a-z]+(?:[A-Z][a-z]+)+$/);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("is public on purpose, or names the key it needs and its scope", () => {
    const open = operations.filter(([, operation]) => operation.security?.length === 0).map(([name]) => name);
    expect(open).toEqual(["GET /health", "GET /health/live", "GET /health/ready"]);
    for (const [, operation] of operations) {
      const scope = operation["x-scope"];
      if (scope !== undefined) expect(SCOPES).toContain(scope);
    }
  });

  test("documents its errors: the ones that all share, with bodies the ones of bodies, under their own status", () => {
    for (const [name, operation] of operations.filter(([, { security }]) => security?.length !== 0)) {
      const codes = codesOf(operation);
      for (const shared of [
        "unauthorized",
        "forbidden",
        "rate_limited",
        "internal_error",
        "database_unavailable",
      ]) {
        expect([name, codes.map(([, code]) => code)]).toEqual([name, expect.arrayContaining([shared])]);
      }
      for (const [status, code] of codes) {
        expect([name, code, String(ERROR_CATALOGUE[code as keyof typeof ERROR_CATALOGUE]?.status)]).toEqual([
          name,
          code,
          status,
        ]);
      }
      for (const [status, response] of Object.entries(operation.responses)) {
        if (Number(status) < 400) continue;
        const shared = document.components.responses[response.$ref?.split("/").at(-1) ?? ""];
        expect(shared?.content?.["application/json"]?.schema.$ref).toBe("#/components/schemas/Error");
      }
    }
  });
});

test("the types of the client know what a failed request returns", () => {
  type Failure = FetchResponse<paths["/processes/{id}"]["get"], object, "application/json">["error"];
  expectTypeOf<Failure>().toEqualTypeOf<components["schemas"]["Error"] | undefined>();
});

test("GET /llms.txt needs no key, is the same everywhere, and names documents that are there", async () => {
  const answer = await app.inject("/llms.txt");
  expect([answer.statusCode, answer.headers["content-type"]]).toEqual([200, "text/plain; charset=utf-8"]);
  const other = await buildHttpApp({ environment: {} });
  try {
    expect((await other.inject("/llms.txt")).body).toBe(answer.body);
  } finally {
    await other.close();
  }
  const linked = [...answer.body.matchAll(/\]\((\/[^)]+)\)/g)].map(([, path]) => path ?? "");
  expect(linked).toEqual(expect.arrayContaining(["/environment/docs", "/openapi.json", "/mcp"]));
  for (const url of linked) {
    const isThere = ["GET", "POST"].some((method) => app.hasRoute({ method: method as "GET", url }));
    expect(isThere || url === "/docs", url).toBe(true);
  }
});

test("the catalogue, docs/errors.md and the document know the same codes", async () => {
  const catalogue = Object.keys(ERROR_CATALOGUE).sort();
  const documented = new Set(
    operations.flatMap(([, operation]) => codesOf(operation).map(([, code]) => code)),
  );
  const page = await readFile(new URL("../../docs/errors.md", import.meta.url), "utf8");
  for (const [, code] of page.matchAll(/^\| `([a-z_]+)` \|.*Scripts only\./gm))
    documented.add(code as string);
  expect([...documented].sort()).toEqual(catalogue);
  expect([...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map((match) => match[1]).sort()).toEqual(catalogue);
});

describe("the documentation page", () => {
  test("comes from this server only, and its policy forbids everything else", async () => {
    const page = await app.inject("/docs/");
    expect(page.statusCode).toBe(200);
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.body).not.toMatch(/https?:\/\//);
    const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] as string);
    expect(assets.length).toBeGreaterThan(2);
    for (const asset of assets) {
      const answer = await app.inject(new URL(asset, "http://localhost/docs/").pathname);
      expect([asset, answer.statusCode]).toEqual([asset, 200]);
    }
  });
});

/** `Error: a, b` in a response's description -> [status, code] pairs. */
function codesOf(operation: Operation): [string, string][] {
  return Object.entries(operation.responses).flatMap(([status, { description }]) =>
    description.startsWith("Error: ")
      ? description
          .slice("Error: ".length)
          .split(", ")
          .map((code): [string, string] => [status, code])
      : [],
  );
}
