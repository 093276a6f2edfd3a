/** Responses: bodies of every kind, redirects, retries; servers that are slow, endless, huge, broken or gone. */
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { answerJson, documentOf, type Respond, startServer, startService } from "./service.ts";

async function start(
  respond: Respond,
  config: Record<string, unknown> = {},
  method = "get",
  operation: object = {},
) {
  const server = await startServer(respond);
  const service = await startService(documentOf("/x", { ...operation }, {}, method), { server, config });
  return {
    server,
    call: service.call,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("headers of the connection are no part of an answer", async () => {
  await using api = await start((_request, response) => {
    response.writeHead(200, {
      connection: "keep-alive, X-Hop",
      "keep-alive": "timeout=5",
      "x-hop": "1",
      "proxy-authenticate": "Basic",
      trailer: "x-late",
      "transfer-encoding": "chunked",
      "x-kept": "1",
    });
    response.end("text");
  });
  const { headers } = (await api.call("call")) as { headers: Record<string, string> };
  expect(Object.keys(headers).sort()).toEqual(["date", "x-kept"]);
});

test.each([
  ["application/json; charset=utf-8", '{"a":[1]}', { a: [1] }],
  ["application/problem+json", '{"title":"x"}', { title: "x" }],
  ["text/plain", "grüß", "grüß"],
  ["text/plain; charset=latin1", Buffer.from("grüß", "latin1"), "grüß"],
  ["application/xml", "<a/>", "<a/>"],
  ["image/png", Buffer.from([1, 2]), { contentType: "image/png", base64: "AQI=" }],
  ["application/json", "", null],
])("a body of %s", async (contentType, content, body) => {
  await using api = await start((_request, response) => {
    response.writeHead(200, { "content-type": contentType, "x-test": "1", "set-cookie": ["a=1", "b=2"] });
    response.end(content);
  });
  expect(await api.call("call")).toMatchObject({
    status: 200,
    headers: { "x-test": "1", "set-cookie": "a=1, b=2" },
    body,
  });
});

test("a body without a type is bytes; no body is null", async () => {
  await using bytes = await start((_request, response) => response.end("x"));
  expect((await bytes.call("call")).body).toEqual({
    contentType: "application/octet-stream",
    base64: "eA==",
  });
  await using none = await start((_request, response) => response.writeHead(204).end());
  expect(await none.call("call")).toMatchObject({ status: 204, body: null });
  await using head = await start(
    (_request, response) => response.writeHead(200, { "content-length": "99999999999" }).end(),
    {},
    "head",
  );
  expect(await head.call("call")).toMatchObject({ status: 200, body: null });
});

test("error statuses are thrown with the answer, whatever its body is", async () => {
  await using api = await start((_request, response) => answerJson(response, { message: "no" }, 404));
  await expect(api.call("call")).rejects.toMatchObject({
    code: "http_error",
    status: 404,
    message: expect.stringMatching(/^GET \S+ answered 404\.$/),
    answer: { status: 404, body: { message: "no" } },
  });
  await using broken = await start((_request, response) => {
    response.writeHead(502, { "content-type": "application/json" });
    response.end("<html>");
  });
  await expect(broken.call("call")).rejects.toMatchObject({ answer: { status: 502, body: "<html>" } });
});

test.each([
  ["broken", "{"],
  ["endlessly nested", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
])("JSON that is %s fails with a message", async (_name, text) => {
  await using api = await start((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(text);
  });
  await expect(api.call("call")).rejects.toMatchObject({ code: "malformed_answer", status: 200 });
});

test.each([
  ["gzip", gzipSync(Buffer.alloc(64 * 1024 * 1024))],
  ["br", brotliCompressSync(Buffer.alloc(64 * 1024 * 1024), { params: { 1: 1 } })],
])("a bomb of %s is cut off at maxResponseBytes", async (encoding, content) => {
  await using api = await start((_request, response) => {
    response.writeHead(200, { "content-type": "text/plain", "content-encoding": encoding });
    response.end(content);
  });
  const before = process.memoryUsage().arrayBuffers;
  await expect(api.call("call")).rejects.toMatchObject({
    code: "answer_too_large",
    message: expect.stringContaining("8388608 bytes"),
  });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(48 * 1024 * 1024);
});

test("an answer of exactly maxResponseBytes passes, one more byte does not", async () => {
  await using api = await start(
    (_request, response) => {
      response.setHeader("content-type", "text/plain");
      response.end("x".repeat(api.server.received.length === 1 ? 1000 : 1001));
    },
    { maxResponseBytes: 1000 },
  );
  expect((await api.call("call")).body).toHaveLength(1000);
  await expect(api.call("call")).rejects.toMatchObject({ code: "answer_too_large" });
});

test("an endless answer ends at maxResponseBytes and its connection is closed", async () => {
  await using api = await start(
    (_request, response) => {
      response.setHeader("content-type", "text/plain");
      const writing = setInterval(() => response.write("x".repeat(10_000)), 1);
      response.on("close", () => clearInterval(writing));
    },
    { maxResponseBytes: 100_000 },
  );
  await expect(api.call("call")).rejects.toMatchObject({ code: "answer_too_large" });
  await expect.poll(() => api.server.abandoned).toBe(1);
});

test.each([
  ["never answers", (() => undefined) as Respond],
  [
    "never ends its body",
    ((_request, response) =>
      void response.writeHead(200, { "content-type": "text/plain" }).write("x")) as Respond,
  ],
])("a server that %s is left at timeoutMs", async (_name, respond) => {
  await using api = await start(respond, { timeoutMs: 300 });
  await expect(api.call("call")).rejects.toMatchObject({
    code: "timeout",
    message: expect.stringMatching(/^GET http:\/\/127.*\/x did not end within 300 ms/),
  });
  await expect.poll(() => api.server.abandoned).toBe(1);
});

test("a stopped call closes its connection at once", async () => {
  await using api = await start(() => undefined);
  const stop = new AbortController();
  const call = api.call("call", {}, stop.signal);
  await expect.poll(() => api.server.received.length).toBe(1);
  stop.abort();
  await expect(call).rejects.toMatchObject({ code: "aborted" });
  await expect.poll(() => api.server.abandoned).toBe(1);
  await expect(api.call("call", {}, stop.signal)).rejects.toThrow();
  expect(api.server.received).toHaveLength(1);
});

test("a server that is not there fails with the reason", async () => {
  const server = await startServer();
  await using service = await startService(documentOf("/x", {}), { server });
  await server[Symbol.asyncDispose]();
  await expect(service.call("call")).rejects.toMatchObject({
    code: "unreachable",
    message: expect.stringMatching(/^GET http:.*\/x: no response \(ECONNREFUSED\)/),
  });
});

test("an address that the host refuses is refused with the host's words", async () => {
  await using server = await startServer();
  await using service = await startService(documentOf("/x", {}), { server });
  const refusal = Object.assign(new Error("127.0.0.1 is refused by the rule loopback."), {
    code: "egress_refused",
  });
  const fetch = () => Promise.reject(new TypeError("fetch failed", { cause: refusal }));
  const ignore = () => undefined;
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  await service.adapter.setup({ config: {}, secrets: {}, logger, fetch });
  await expect(service.call("call")).rejects.toMatchObject({
    code: "egress_refused",
    message: refusal.message,
  });
});

test("redirects within the origin are followed, with credentials", async () => {
  const secrets = { headers: { Authorization: "Bearer t" } };
  await using server = await startServer(({ url }, response) => {
    if (url === "/x") response.writeHead(302, { location: "/y?z=1" }).end();
    else answerJson(response, { url });
  });
  await using service = await startService(documentOf("/x", {}), { server, secrets });
  expect(await service.call("call")).toMatchObject({ status: 200, body: { url: "/y?z=1" } });
  expect(server.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer t", "Bearer t"]);
});

test("a redirect to another origin is not followed: it is the answer", async () => {
  await using other = await startServer();
  await using api = await start((_request, response) =>
    response.writeHead(302, { location: `${other.url}/steal` }).end(),
  );
  expect(await api.call("call")).toMatchObject({
    status: 302,
    headers: { location: `${other.url}/steal` },
  });
  expect(other.received).toEqual([]);
});

test.each([
  [303, "GET", ""],
  [307, "POST", '{"a":1}'],
  [301, "GET", ""],
])("a %i after a POST is followed by %s", async (status, method, content) => {
  const operation = { requestBody: { content: { "application/json": { schema: {} } } } };
  await using api = await start(
    ({ url }, response) =>
      url === "/x" ? response.writeHead(status, { location: "/y" }).end() : answerJson(response, {}),
    {},
    "post",
    operation,
  );
  await api.call("call", { body: { a: 1 } });
  expect(api.server.received[1]).toMatchObject({ method, url: "/y" });
  expect(api.server.received[1]?.body.toString()).toBe(content);
});

test("redirects without end are given up", async () => {
  await using api = await start((_request, response) => response.writeHead(302, { location: "/x" }).end());
  await expect(api.call("call")).rejects.toMatchObject({ code: "too_many_redirects" });
  expect(api.server.received).toHaveLength(6);
});

test("a GET is tried again after a reset connection, with credentials; a POST is not", async () => {
  const resetFirst: Respond = (_request, response, incoming) => {
    if (count++ === 0) incoming.socket.resetAndDestroy();
    else answerJson(response, {});
  };
  let count = 0;
  await using server = await startServer(resetFirst);
  await using service = await startService(documentOf("/x", {}), {
    server,
    secrets: { headers: { Authorization: "t" } },
  });
  expect(await service.call("call")).toMatchObject({ status: 200 });
  expect(server.received.map(({ headers }) => headers.authorization)).toEqual(["t", "t"]);
  count = 0;
  await using post = await start(resetFirst, {}, "post");
  await expect(post.call("call")).rejects.toMatchObject({ code: "unreachable" });
  expect(post.server.received).toHaveLength(1);
});

test("a GET waits for Retry-After of a 503, within its time; any other 503 is thrown", async () => {
  let count = 0;
  await using api = await start((_request, response) => {
    count += 1;
    if (count === 1) response.writeHead(503, { "retry-after": "1" }).end();
    else if (count === 2) answerJson(response, { count });
    else if (count === 3) response.writeHead(503, { "retry-after": "3600" }).end();
    else response.writeHead(503).end();
  });
  const startedAt = performance.now();
  expect(await api.call("call")).toMatchObject({ status: 200, body: { count: 2 } });
  expect(performance.now() - startedAt).toBeGreaterThan(900);
  await expect(api.call("call")).rejects.toMatchObject({ status: 503 });
  await expect(api.call("call")).rejects.toMatchObject({ status: 503 });
  expect(count).toBe(4);
});

test("a 503 for ever is tried three times; a stopped wait ends at once", async () => {
  await using always = await start((_request, response) =>
    response.writeHead(503, { "retry-after": "0" }).end(),
  );
  await expect(always.call("call")).rejects.toMatchObject({ status: 503 });
  expect(always.server.received).toHaveLength(3);
  await using waiting = await start((_request, response) =>
    response.writeHead(503, { "retry-after": "20" }).end(),
  );
  const stop = new AbortController();
  const call = waiting.call("call", {}, stop.signal);
  await expect.poll(() => waiting.server.received.length).toBe(1);
  await sleep(20);
  stop.abort();
  await expect(call).rejects.toMatchObject({ code: "aborted" });
});
