/**
 * A server repeats a secret, and the script chooses how much stands before it: where a text is cut before secrets are taken out,
 * the cut leaves the first part of one. Every adapter, over a real server on loopback, and an adapter of someone else that
 * cuts by itself.
 */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import tls from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { SELF_SIGNED } from "#tests/integration/harness/self-signed.ts";
import { startServer, type TestServer } from "#tests/integration/harness/server.ts";
import { builtin } from "#tests/integration/modules-server.ts";
import { SECRETS_KEY } from "#tests/integration/services-server.ts";
import { CuttingAdapter } from "./secrets/cutting-adapter.ts";

const SECRET = "Sk-Live-kQ7vR2mXw9TzLbN4cGd";
/** As many as are looked for, and no more may be left of it at a cut that the host did not make. */
const MIN_CHARACTERS = 8;
const authorities = tls.getCACertificates("default");
let upstream: ReturnType<typeof createServer>;
let origin: string;
let server: TestServer;

const SCHEMA = "type Query { echo(pad: Int!): String }";
const OPENAPI = {
  openapi: "3.1.0",
  info: { title: "Echo", version: "1" },
  paths: Object.fromEntries(
    ["header", "json"].map((name) => [
      `/${name}`,
      {
        get: {
          operationId: name,
          security: [{ token: [] }],
          responses: { 200: { description: "echo", content: { "application/json": {} } } },
        },
      },
    ]),
  ),
  components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
};

/** What follows the number of characters that a script asks for, in every place of an answer. */
async function answer(url: URL, body: string): Promise<{ status: number; headers?: object; text: string }> {
  const message = body === "" ? {} : JSON.parse(body);
  const pad = Number(url.searchParams.get("pad") ?? message.variables?.pad ?? message.params?.arguments?.pad);
  const said = `${"x".repeat(pad)}${SECRET} was refused`;
  switch (url.pathname) {
    case "/header":
      return { status: 200, headers: { [`X-Token-${SECRET}`]: "seen" }, text: "{}" };
    case "/json":
      return { status: 200, text: `{"token":${SECRET}}` };
    case "/coded":
      return { status: 200, headers: { "content-encoding": said }, text: "?" };
    case "/graphql-text":
      return { status: 502, headers: { "content-type": "text/plain" }, text: said };
    case "/graphql-type":
      return { status: 200, headers: { "content-type": said }, text: "?" };
    case "/graphql-errors":
      return { status: 200, text: JSON.stringify({ data: null, errors: [{ message: said }] }) };
    default:
      return answerMcp(message, said);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: messages of every shape
function answerMcp({ id, method, params }: Record<string, any>, said: string) {
  const reply = (result: unknown) => ({ status: 200, text: JSON.stringify({ jsonrpc: "2.0", id, result }) });
  if (method === "initialize") {
    const { protocolVersion } = params;
    return reply({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "echo", version: "1" },
    });
  }
  const schema = { type: "object", properties: { pad: { type: "integer" } } };
  if (method === "tools/list")
    return reply({ tools: ["failed", "refused", "text"].map((name) => ({ name, inputSchema: schema })) });
  if (method !== "tools/call") return { status: method === undefined ? 405 : 202, text: "" };
  if (params.name === "failed") return reply({ isError: true, content: [{ type: "text", text: said }] });
  if (params.name === "text") return { status: 500, headers: { "content-type": "text/plain" }, text: said };
  return {
    status: 200,
    text: JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32050, message: said } }),
  };
}

beforeAll(async () => {
  tls.setDefaultCACertificates([...authorities, SELF_SIGNED.cert]);
  upstream = createServer({ ...SELF_SIGNED, maxHeaderSize: 64 * 1024 }, async (request, response) => {
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece;
    const { status, headers, text } = await answer(new URL(request.url ?? "/", origin), body);
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  origin = `https://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  server = await startServer({
    environment: { CYRNEL_SECRETS_KEY: SECRETS_KEY, CYRNEL_EGRESS_ALLOW: "127.0.0.1" },
    builtins: [...BUILTIN_MODULES, builtin({ id: "cutting", type: "adapter" }, () => new CuttingAdapter())],
  });
  const rule = { name: "get", origins: [origin], methods: ["GET"], auth: { type: "bearer" } };
  await install("web", "http", { rules: [rule] }, { get: SECRET });
  await install("api", "openapi", { ...OPENAPI, servers: [{ url: origin }] }, { token: SECRET });
  await install("mcp", "mcp", { transport: "http", url: `${origin}/mcp` }, { bearerToken: SECRET });
  for (const name of ["text", "type", "errors"]) {
    const definition = { endpoint: `${origin}/graphql-${name}`, sdl: SCHEMA };
    await install(`graphql_${name}`, "graphql", definition, { bearerToken: SECRET });
  }
  await install("cutting", "cutting", {}, { token: SECRET });
});
afterAll(async () => {
  tls.setDefaultCACertificates(authorities);
  upstream.closeAllConnections();
  upstream.close();
  await server?.close();
});

async function install(id: string, adapter: string, definition: object, secrets: object): Promise<void> {
  const done = async (sent: ReturnType<TestServer["request"]>) => {
    const { status, text } = await sent;
    expect(status, text).toBeLessThan(300);
  };
  await done(server.post("/services", { id, adapter, content: JSON.stringify(definition) }));
  const patch = Object.entries(secrets).map(([name, value]) => ({ op: "add", path: `/${name}`, value }));
  await done(server.request("PATCH", `/services/${id}/secrets`, { json: patch }));
  await done(server.post(`/services/${id}/enabled`, { enabled: true }));
}

/** What a script gets to know of an expression's error, for each number of characters before the secret. */
async function messagesOf(call: string, pads: readonly number[]): Promise<string[]> {
  const code = `
    const messages = [];
    for (const pad of ${JSON.stringify(pads)}) {
      const error = await ${call}.then(() => null, (error) => error);
      messages.push(error === null ? null : [error.name, error.message, error.code, error.cause?.message].join(" "));
    }
    return messages;`;
  const { body } = await server.post("/processes", { code, block: true });
  expect(body).toMatchObject({ exitState: "success" });
  for (const message of body.result) expect(message).toEqual(expect.any(String));
  return body.result;
}

/** So that the cut of a text of so many characters falls into the secret, whatever sentence stands before it. */
const before = (limit: number) => Array.from({ length: 12 }, (_, index) => limit - 10 - index * 11);

test.each([
  ["mcp: a tool that says that it failed", "tools.mcp.failed({ pad })", [2000, 10_000]],
  ["mcp: an error of the protocol", "tools.mcp.refused({ pad })", [2000, 10_000]],
  ["mcp: an HTTP error", "tools.mcp.text({ pad })", [2000, 10_000]],
  ["graphql: an HTTP error", "tools.graphql_text.echo({ pad })", [300, 2000, 10_000]],
  ["graphql: the type of an answer", "tools.graphql_type.echo({ pad })", [150, 2000]],
  ["graphql: errors", "tools.graphql_errors.echo({ pad })", [2000, 10_000]],
  ["http: a coding", "fetch('$ORIGIN/coded?pad=' + pad)", [150, 2000, 10_000]],
])("%s holds no part of a secret, wherever it is cut", async (_, call, limits) => {
  const messages = await messagesOf(call.replace("$ORIGIN", origin), limits.flatMap(before));
  for (const message of messages) expect(message).not.toContain(SECRET.slice(0, 4));
  expect(messages.join()).toContain("[secret]");
});

test("a parser's words about an answer that is not JSON do not show a part of a secret", async () => {
  const [message] = await messagesOf("tools.api.json({})", [0]);
  expect(message).toContain("is not valid JSON");
  expect(message).not.toContain(SECRET.slice(0, 4));
});

test("what an adapter of someone else has cut by itself ends before the secret", async () => {
  const pads = Array.from({ length: 30 }, (_, index) => 100 - index);
  for (const tool of ["plain", "dots", "ellipsis"]) {
    const messages = await messagesOf(`tools.cutting.${tool}({ pad })`, pads);
    for (const message of messages) expect(message).not.toContain(SECRET.slice(0, MIN_CHARACTERS));
    expect(messages.filter((message) => message.includes("[secret]")).length).toBeGreaterThan(15);
  }
});

test("names of headers that repeat a secret come without it, although they come in lower case", async () => {
  const code = `return [await tools.api.header({}), [...(await fetch("${origin}/header")).headers]]`;
  const { body } = await server.post("/processes", { code, block: true });
  expect(body).toMatchObject({ exitState: "success" });
  const text = JSON.stringify(body.result);
  // No header of a Response can have the marker in its name: there it is left out.
  expect(text.match(/x-token-\[secret\]/g)).toHaveLength(1);
  expect(text).toContain('["content-type","application/json"]');
  expect(text.toLowerCase()).not.toContain(SECRET.toLowerCase());
});
