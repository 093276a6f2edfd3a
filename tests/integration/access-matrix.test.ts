/**
 * Every route of the document × every scope × own, another key's, hidden by role, revoked, expired, without a key. What is
 * to be answered follows from the scope that the document names and from what the path is about; a route that has no row
 * here fails, so that each new one says what it is about.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCOPES, type Scope } from "#api/http/auth.ts";
import { ROWS } from "./access-rows.ts";
import {
  type Caller,
  type GovernanceServer,
  insertTools,
  startGovernanceServer,
} from "./governance-server.ts";
import { until } from "./processes-server.ts";
import { SECRETS_KEY } from "./services-server.ts";

const READ = "processes:read";
const WRITE = "processes:write";
const ALL = "processes:all";

const routes = Object.entries(ROWS).map(([name, row]) => {
  const [method = "", path = ""] = name.split(" ");
  return { name, method, path, ...row };
});
type Route = (typeof routes)[number];

let governance: GovernanceServer;
/** By what they may do: `only <scope>`, `without <scope>`, and what else is asked about. */
const callers = new Map<string, Caller & { scopes: ReadonlySet<Scope> }>();
let owner: Caller;

async function addCaller(
  name: string,
  scopes: readonly Scope[],
  more: Record<string, unknown> = {},
): Promise<void> {
  callers.set(name, { ...(await governance.makeKey({ name, scopes, ...more })), scopes: new Set(scopes) });
}

function callerCalled(name: string): Caller & { scopes: ReadonlySet<Scope> } {
  const caller = callers.get(name);
  if (caller === undefined) throw new Error(`there is no caller ${name}`);
  return caller;
}

beforeAll(async () => {
  governance = await startGovernanceServer({ environment: { CYRNEL_SECRETS_KEY: SECRETS_KEY } });
  await addCaller("no scope", []);
  for (const scope of SCOPES) {
    await addCaller(`only ${scope}`, [scope]);
    await addCaller(
      `without ${scope}`,
      SCOPES.filter((other) => other !== scope),
    );
  }
  for (const scopes of [
    [READ, WRITE],
    [READ, ALL],
    [WRITE, ALL],
    [READ, WRITE, ALL],
  ] as const) {
    await addCaller(scopes.join(" and "), scopes);
  }
  await addCaller("every scope", SCOPES);
  const role = (await governance.server.post("/roles", { name: "limited", allow: ["shown*.*"] })).body.id;
  await addCaller("every scope under a role", SCOPES, { roleId: role });
  owner = await governance.makeKey({ scopes: [READ, WRITE] });
});
afterAll(() => governance[Symbol.asyncDispose]());

interface Outcome {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  body: any;
}

/** A request whose answer is read as far as it has an end. */
async function ask(route: Route, path: string, key: string): Promise<Outcome> {
  const json = route.json ?? (route.method === "GET" ? undefined : { unknownField: true });
  const response = await fetch(governance.server.url + path, {
    method: route.method,
    headers: {
      ...(key !== "" && { authorization: `Bearer ${key}` }),
      ...(json !== undefined && { "content-type": "application/json" }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const type = response.headers.get("content-type") ?? "";
  if (type.includes("event-stream")) {
    await response.body?.cancel();
    return { status: response.status, body: undefined };
  }
  const text = await response.text();
  return { status: response.status, body: /[/+]json/.test(type) ? JSON.parse(text) : text };
}

let made = 0;
/** One of a kind for each request: what gets through may change or delete it. */
async function makeProcess(by: Caller): Promise<number> {
  const answer = await by.send("POST", "/processes", { code: "print secret", autorun: false });
  if (answer.status === 201) return answer.body.id;
  // A caller that may not submit has none of its own but one that was made for it.
  const [row] = await governance.server.pool<{ id: number }[]>`
    insert into processes (code, state, creator, key_id) values ('print secret', 'idle', 'key', ${by.id}) returning id`;
  return row?.id as number;
}
async function makeService(kind: "shown" | "hidden"): Promise<string> {
  made += 1;
  const service = `${kind}${made}`;
  await insertTools(governance.server, [{ service, tool: "read" }]);
  return service;
}

const withProcess = ({ path }: Route, id: number) => path.replace("{id}", String(id));
const withService = ({ path }: Route, id: string) =>
  path.replace(/\{(id|serviceId)\}/, id).replace("{toolId}", "read");
/** Of a route that is about nothing in particular. */
const withNothing = ({ path }: Route) => path.replaceAll(/\{[^}]+\}/g, "999999999");

const GOT_THROUGH = "got through";
/** 404 is what `exists: true` does not expect. */
function describeOutcome({ status, body }: Outcome, exists: boolean): string {
  if (status === 401) return "401";
  if (status === 403) return `403 ${body?.error?.match(/scope ([\w:]+)/)?.[1]}`;
  if (status === 404 && exists && body?.code === "not_found") return "404";
  return status < 500 || body?.code === "no_environment" || body?.code === "module_failed"
    ? GOT_THROUGH
    : `${status}`;
}
/** The same words for what is hidden and for what was never there. */
function withoutNames({ status, body }: Outcome, name: string): string {
  const { requestId: _, ...rest } = body ?? {};
  return `${status} ${JSON.stringify(rest).replaceAll(name, "<name>")}`;
}

test("every route of the document has a row here, with the scope that the document names, and no row is without one", async () => {
  const { paths } = (await governance.server.get("/openapi.json")).body;
  const documented = Object.entries<Record<string, Record<string, unknown>>>(paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const isPublic = (operation.security as unknown[] | undefined)?.length === 0;
        return [`${method.toUpperCase()} ${path}`, isPublic ? "public" : (operation["x-scope"] ?? null)];
      }),
  );
  expect(Object.fromEntries(documented)).toEqual(
    Object.fromEntries(routes.map(({ name, opens }) => [name, opens])),
  );
  expect(documented.length).toBeGreaterThan(60);
});

test("without a key, with a key that was never made, with a revoked one and with an expired one nothing but the public is answered", async () => {
  const revoked = await governance.makeKey({ scopes: SCOPES });
  await governance.server.request("DELETE", `/keys/${revoked.id}`);
  const expired = await governance.makeKey({
    scopes: SCOPES,
    expiresAt: new Date(Date.now() + 1000).toISOString(),
  });
  await until("it is expired", async () => (await expired.get("/tools")).status === 401);
  const keys = { none: "", invented: `cyk_${"x".repeat(43)}`, revoked: revoked.key, expired: expired.key };
  const surprises: string[] = [];
  for (const route of routes) {
    for (const [kind, key] of Object.entries(keys)) {
      const { status } = await ask(route, withNothing(route), key);
      if ((status === 401) === (route.opens === "public"))
        surprises.push(`${route.name}, ${kind}: ${status}`);
    }
  }
  expect(surprises).toEqual([]);
}, 120_000);

describe("every route × every set of scopes", () => {
  const expected = ({ opens }: Route, scopes: ReadonlySet<Scope>, exists: boolean): string => {
    if (opens !== null && opens !== "public" && !scopes.has(opens)) return `403 ${opens}`;
    return exists ? GOT_THROUGH : "404";
  };

  test("of what belongs to nobody in particular", async () => {
    const surprises: string[] = [];
    for (const route of routes.filter(({ about }) => !["process", "service", "tool"].includes(about))) {
      for (const [name, caller] of callers) {
        const outcome = describeOutcome(await ask(route, withNothing(route), caller.key), false);
        const wanted = expected(route, caller.scopes, true);
        if (outcome !== wanted) surprises.push(`${route.name}, ${name}: ${outcome}, not ${wanted}`);
      }
    }
    expect(surprises).toEqual([]);
  }, 300_000);

  test("× own and another key's process", async () => {
    const surprises: string[] = [];
    for (const route of routes.filter(({ about }) => about === "process")) {
      for (const [name, caller] of callers) {
        for (const whose of ["own", "other"] as const) {
          const id = await makeProcess(whose === "own" ? caller : owner);
          const answer = await ask(route, withProcess(route, id), caller.key);
          const outcome = describeOutcome(answer, true);
          const wanted = expected(route, caller.scopes, whose === "own" || caller.scopes.has(ALL));
          const place = `${route.name}, ${name}, ${whose}`;
          if (outcome !== wanted) surprises.push(`${place}: ${outcome}, not ${wanted}`);
          if (outcome === GOT_THROUGH && route.method === "POST" && !caller.scopes.has(READ)) {
            const isBare = answer.status >= 400 || Object.keys(answer.body).sort().join() === "id,state";
            if (!isBare) surprises.push(`${place}: shows ${Object.keys(answer.body)}`);
          }
          if (outcome !== "404") continue;
          const missing = withoutNames(await ask(route, withProcess(route, 999_999), caller.key), "999999");
          const found = withoutNames(answer, String(id));
          if (found !== missing) surprises.push(`${place}: ${found}, of a missing one ${missing}`);
        }
      }
    }
    expect(surprises).toEqual([]);
  }, 300_000);

  test("× services and tools that the role shows and hides", async () => {
    const surprises: string[] = [];
    for (const route of routes.filter(({ about }) => about === "service" || about === "tool")) {
      for (const [name, caller] of callers) {
        for (const kind of ["shown", "hidden"] as const) {
          const id = await makeService(kind);
          const answer = await ask(route, withService(route, id), caller.key);
          const outcome = describeOutcome(answer, true);
          const isHidden = kind === "hidden" && name === "every scope under a role";
          const wanted = expected(route, caller.scopes, !isHidden);
          const place = `${route.name}, ${name}, ${kind}`;
          if (outcome !== wanted) surprises.push(`${place}: ${outcome} ${answer.body?.code}, not ${wanted}`);
          const isThere = await governance.server.pool`select from services where id = ${id}`;
          if (outcome === "404" && isThere.length === 0) surprises.push(`${place}: is gone`);
          if (outcome === "404" && route.about === "service") {
            const missing = withoutNames(
              await ask(route, withService(route, "nothing"), caller.key),
              "nothing",
            );
            const found = withoutNames(answer, id);
            if (found !== missing) surprises.push(`${place}: ${found}, of a missing one ${missing}`);
          }
          await governance.server.pool`delete from services where id = ${id}`;
        }
      }
    }
    expect(surprises).toEqual([]);
  }, 300_000);
});

describe("lists", () => {
  test("of processes hold the caller's own, with processes:all those of all", async () => {
    const others = await makeProcess(owner);
    for (const [name, caller] of callers) {
      if (!caller.scopes.has(READ)) continue;
      const own = await makeProcess(caller);
      const ids: number[] = (await caller.get("/processes?limit=200")).body.processes.map(
        ({ id }: { id: number }) => id,
      );
      expect([name, ids.includes(own), ids.includes(others)]).toEqual([name, true, caller.scopes.has(ALL)]);
    }
  });

  test("of services and tools hold what the role shows, whatever they are filtered by", async () => {
    const [shown, hidden] = [await makeService("shown"), await makeService("hidden")];
    const limited = callerCalled("every scope under a role");
    const free = callerCalled("every scope");
    for (const path of [
      "/services",
      `/services?query=${hidden}`,
      "/services?limit=1",
      "/tools",
      `/tools?query=${hidden}`,
    ]) {
      const answer = await limited.get(path);
      expect([path, answer.status, answer.text.includes(hidden)]).toEqual([path, 200, false]);
    }
    expect((await limited.get("/services")).text).toContain(shown);
    expect((await free.get("/services")).text).toContain(hidden);
    for (const path of [`/tools?serviceId=${hidden}`, `/tools/types.d.ts?serviceId=${hidden}`]) {
      expect([path, (await limited.get(path)).status]).toEqual([path, 404]);
      expect([path, (await free.get(path)).status]).toEqual([path, 200]);
    }
    expect((await limited.get("/tools/types.d.ts")).text).not.toContain(hidden);
    const preview = await limited.get(`/policies/preview?servicePattern=${hidden}&toolPattern=*`);
    expect(preview.body).toMatchObject({ tools: [], affected: 0 });
  });

  test("of services are paged without a gap where most are hidden", async () => {
    const shown: string[] = [];
    for (let n = 0; n < 30; n += 1) {
      const service = await makeService(n % 10 === 0 ? "shown" : "hidden");
      if (n % 10 === 0) shown.push(service);
    }
    const limited = callerCalled("every scope under a role");
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: { services: { id: string }[]; nextCursor: string | null } = (
        await limited.get(`/services?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`)
      ).body;
      seen.push(...page.services.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(seen.filter((id) => shown.includes(id))).toEqual(shown.reverse());
    expect(seen.filter((id) => id.startsWith("hidden"))).toEqual([]);
    expect(new Set(seen).size).toBe(seen.length);
  });
});
