/** MCP and GraphQL from a client's point of view: installed over HTTP, given a secret, enabled, called by a script. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serve } from "../contract/adapters/graphql/host.ts";
import { createRichServer } from "../contract/adapters/graphql/schema.ts";
import { EVERYTHING, startEverything } from "../contract/adapters/mcp/host.ts";
import { startScripted } from "../contract/adapters/mcp/scripted-server.ts";
import { startServer, type TestServer } from "./harness/server.ts";
import { SECRETS_KEY } from "./services-server.ts";

const SECRET = "planted-bearer-token-7731";
let server: TestServer;

beforeAll(async () => {
  server = await startServer({
    environment: { CYRNEL_SECRETS_KEY: SECRETS_KEY, CYRNEL_EGRESS_ALLOW: "127.0.0.1" },
  });
});
afterAll(async () => {
  await server?.close();
});

const ok = async (answer: Promise<{ status: number; text: string; body: unknown }>) => {
  const { status, text, body } = await answer;
  expect(status, text).toBeLessThan(300);
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  return body as any;
};
const install = (id: string, adapter: string, definition: object) =>
  ok(server.post("/services", { id, adapter, content: JSON.stringify(definition) }));
const setSecret = (id: string, path: string, value: unknown) =>
  ok(server.request("PATCH", `/services/${id}/secrets`, { json: [{ op: "add", path, value }] }));
const enable = (id: string) => ok(server.post(`/services/${id}/enabled`, { enabled: true }));
const run = (code: string) => ok(server.post("/processes", { code, block: true }));

describe("mcp", () => {
  test("a server that shows its tools to known callers only", async () => {
    await using remote = await startScripted(({ request, refuse }) =>
      request.headers.authorization === `Bearer ${SECRET}` ? false : refuse(401, "who are you?"),
    );
    await install("locked", "mcp", { transport: "http", url: remote.url });
    expect((await ok(server.get("/tools?serviceId=locked"))).tools).toEqual([]);

    await setSecret("locked", "/bearerToken", SECRET);
    await ok(server.post("/services/locked/sync"));
    await enable("locked");
    expect((await ok(server.get("/tools?serviceId=locked"))).tools).toMatchObject([
      { id: "ping", destructive: true },
    ]);

    const record = await run("return await tools.locked.ping({})");
    expect(record).toMatchObject({ exitState: "success", result: "called ping" });
    const everywhere = JSON.stringify([record, await ok(server.get("/services/locked")), server.logs()]);
    expect(everywhere).not.toContain(SECRET);
  });

  test("the reference server, called by a script ten times at once; a kill ends what is under way", async () => {
    await using remote = await startEverything("streamableHttp");
    await install("everything", "mcp", { transport: "http", url: remote.url });
    await enable("everything");
    const record = await run(`
      const sums = await Promise.all(Array.from({ length: 10 }, (_, n) => tools.everything.get_sum({ a: n, b: 1 })));
      const error = await tools.everything.get_sum({ a: "x", b: 1 }).catch((error) => error.code);
      return { sums, error, weather: await tools.everything.get_structured_content({ location: "Chicago" }) };
    `);
    expect(record).toMatchObject({
      exitState: "success",
      result: { sums: expect.arrayContaining(["The sum of 9 and 1 is 10."]), weather: { humidity: 82 } },
    });
    const { id } = await ok(
      server.post("/processes", {
        code: "await tools.everything.trigger_long_running_operation({ duration: 25, steps: 5 })",
        options: { timeout: 60_000 },
      }),
    );
    while ((await ok(server.get(`/processes/${id}`))).state !== "running")
      await new Promise((done) => setTimeout(done, 20));
    await ok(server.post(`/processes/${id}/signals/kill`));
    const killed = await ok(server.get(`/processes/${id}?wait=20000`));
    expect(killed).toMatchObject({ state: "idle", exitState: "canceled" });
  });

  test("programs are refused unless the operator allows them, and the address rules hold", async () => {
    const stdio = { transport: "stdio", command: process.execPath, args: [EVERYTHING, "stdio"] };
    const refused = await server.post("/services", {
      id: "stdio",
      adapter: "mcp",
      content: JSON.stringify(stdio),
    });
    expect([refused.status, refused.body.code]).toEqual([400, "invalid_definition"]);
    expect(refused.body.error).toContain("CYRNEL_ALLOW_STDIO_MCP=true");
    const metadata = { transport: "http", url: "http://169.254.169.254/mcp" };
    const guarded = await server.post("/services", {
      id: "meta",
      adapter: "mcp",
      content: JSON.stringify(metadata),
    });
    expect(guarded.status).toBe(400);
    expect(guarded.body.error).toContain("169.254.169.254");
    expect((await server.get("/services/stdio")).status).toBe(404);
    expect((await server.get("/services/meta")).status).toBe(404);
  });

  test("where it is allowed, a program serves a script, and ends with the server", async () => {
    const own = await startServer({
      environment: { CYRNEL_ALLOW_STDIO_MCP: "true", CYRNEL_SECRETS_KEY: SECRETS_KEY },
    });
    try {
      const content = JSON.stringify({
        transport: "stdio",
        command: process.execPath,
        args: [EVERYTHING, "stdio"],
      });
      await ok(own.post("/services", { id: "local", adapter: "mcp", content }));
      await ok(own.post("/services/local/enabled", { enabled: true }));
      const record = await ok(
        own.post("/processes", { code: 'return await tools.local.echo({ message: "hi" })', block: true }),
      );
      expect(record).toMatchObject({ exitState: "success", result: "Echo: hi" });
    } finally {
      await own.close();
    }
  });
});

describe("graphql", () => {
  test("an endpoint that tells its schema to known callers only", async () => {
    const yoga = createRichServer();
    await using remote = await serve((request, response) => {
      if (request.headers["x-api-key"] === SECRET) return yoga(request, response);
      response.writeHead(401).end("who are you?");
    });
    await install("pets", "graphql", { endpoint: remote.url });
    expect((await ok(server.get("/tools?serviceId=pets"))).tools).toEqual([]);
    await setSecret("pets", "/headers", { "X-Api-Key": SECRET });
    await ok(server.post("/services/pets/sync"));
    await enable("pets");
    const record = await run(`
      const [ada] = (await tools.pets.people({ first: 1 })).data;
      const chosen = await tools.pets.person({ by: { id: ada.id }, select: "{ name friends(first: 1) { name } }" });
      const bad = await tools.pets.person({ by: {} }).catch((error) => error.message);
      const smuggled = await tools.pets.person({ by: { id: "p1" }, select: "{ id } } mutation { removeAll" }).catch((error) => error.message);
      return { ada: ada.name, chosen, bad, smuggled };
    `);
    expect(record).toMatchObject({
      exitState: "success",
      result: {
        ada: "Ada",
        chosen: { data: { name: "Ada", friends: [{ name: "Bob" }] } },
        bad: expect.stringContaining("by"),
        smuggled: expect.stringContaining("The selection cannot be used"),
      },
    });
    const listed = (await ok(server.get("/tools?serviceId=pets&limit=200"))).tools as {
      id: string;
      destructive: boolean;
    }[];
    expect(
      listed
        .filter((tool) => tool.destructive)
        .map((tool) => tool.id)
        .sort(),
    ).toEqual(["addPet", "both_mutation", "removeAll"]);
    expect(JSON.stringify([record, server.logs()])).not.toContain(SECRET);
  });

  test("a hostile definition leaves nothing behind", async () => {
    const answer = await server.post("/services", {
      id: "bad",
      adapter: "graphql",
      content: "type Query { a: Nowhere }",
    });
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_definition"]);
    expect(answer.body.error).toContain("Nowhere");
    expect((await server.get("/services/bad")).status).toBe(404);
  });
});
