import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { gzipSync } from "node:zlib";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { AppError, ERROR_CATALOGUE } from "#api/errors.ts";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { measureDepth } from "#kernel/json-depth.ts";
import { buildHttpApp } from "./harness/http-app.ts";

const onRequest = requireScope("processes:write");
const bodySchema = z.strictObject({
  code: z.string(),
  options: z.strictObject({ timeout: z.int().positive() }),
});

function addRoutes(app: App): void {
  app.post("/echo", { onRequest, schema: { body: bodySchema } }, async (request) => request.body);
  app.post(
    "/optional",
    { onRequest, schema: { body: z.strictObject({ force: z.boolean().default(false) }) } },
    async (request) => request.body,
  );
  app.get(
    "/page",
    { onRequest, schema: { querystring: z.strictObject({ limit: z.literal("5") }) } },
    async () => ({}),
  );
  app.get(
    "/things/:id",
    { onRequest, schema: { params: z.object({ id: z.string().regex(/^\d+$/) }) } },
    async (request) => request.params,
  );
  app.get("/broken", { onRequest }, async () => {
    throw new Error("password=hunter2 at /srv/secret.ts");
  });
  app.get("/refused", { onRequest }, async () => {
    throw new AppError("too_many_processes", "Too many.", { retryAfterSeconds: 7 });
  });
  app.get("/down", { onRequest }, async () => {
    throw Object.assign(new Error("connect ECONNREFUSED 10.1.2.3:5432"), { code: "ECONNREFUSED" });
  });
  app.get(
    "/lies",
    { onRequest, schema: { response: { 200: z.object({ id: z.int() }) } } },
    async () => ({ id: "x" }) as never,
  );
}

let app: App;
let logged = "";
beforeAll(async () => {
  const log = new PassThrough();
  log.on("data", (chunk) => {
    logged += chunk;
  });
  app = await buildHttpApp({ routes: addRoutes, deps: { logger: pino({ level: "info" }, log) } });
});
afterAll(() => app.close());

async function post(
  body: string | Buffer,
  headers: Record<string, string> = { "content-type": "application/json" },
) {
  const answer = await app.inject({ method: "POST", url: "/echo", payload: body, headers });
  return { status: answer.statusCode, ...answer.json() };
}

describe("bodies", () => {
  test.each([
    ["cut off", '{"code":"x"'],
    ["not JSON", "hello"],
    ["two values", "{} {}"],
    ["a prototype key", '{"__proto__":{"admin":true},"code":"x"}'],
    ["broken UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22])],
    ["half a surrogate in bytes", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["nested 500 000 deep", "[".repeat(500_000)],
    ["nested just too deep", "[".repeat(101) + "]".repeat(101)],
  ])("%s answers 400 invalid_json", async (_name, body) => {
    expect(await post(body)).toMatchObject({
      status: 400,
      code: "invalid_json",
      error: expect.stringMatching(/\.$/),
    });
  });

  test("a key that no object may have is named", async () => {
    for (const body of ['{"__proto__":{"a":1},"code":"x"}', '{"code":{"constructor":{"prototype":{}}}}'])
      expect((await post(body)).error).toContain("a key that is not allowed (__proto__ or constructor)");
  });

  test("a mistake is located without quoting the body", async () => {
    const answer = await post('{"code": "my secret script" oops}');
    expect(answer.error).toContain("position");
    expect(answer.error).not.toContain("secret");
  });

  test("what does not match the schema answers 400 invalid_request with every issue by path", async () => {
    const answer = await post(JSON.stringify({ code: 5, options: { timeout: -1 }, extra: true }));
    expect(answer).toMatchObject({ status: 400, code: "invalid_request" });
    expect(answer.issues.map((issue: { path: string }) => issue.path)).toEqual(
      expect.arrayContaining(["body.code", "body.options.timeout", "body"]),
    );
    expect(answer.error).toContain("and 2 more");
  });

  test("no body at all names what is missing, or is fine where all is optional", async () => {
    const missing = await app.inject({ method: "POST", url: "/echo" });
    expect(missing.json()).toMatchObject({ code: "invalid_request" });
    expect(missing.json().issues.map((issue: { path: string }) => issue.path)).toContain("body.code");
    for (const headers of [{}, { "content-type": "application/json" }]) {
      const optional = await app.inject({ method: "POST", url: "/optional", headers });
      expect(optional.json()).toEqual({ force: false });
    }
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
  ])("%s answers 415", async (type) => {
    expect(await post("a=1", { "content-type": type })).toMatchObject({
      status: 415,
      code: "unsupported_media_type",
    });
  });

  test("a compressed body answers 415 that says so, whatever it holds", async () => {
    const body = gzipSync(JSON.stringify({ code: "x", options: { timeout: 1 } }));
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    expect(await post(body, headers)).toMatchObject({
      status: 415,
      code: "unsupported_media_type",
      error: expect.stringContaining("Content-Encoding is not supported"),
    });
    expect(await post("{}", { ...headers, "content-encoding": "identity" })).toMatchObject({ status: 400 });
  });

  test("JSON with a charset, and JSON Patch, are JSON", async () => {
    const body = JSON.stringify({ code: "ü", options: { timeout: 1 } });
    expect(await post(body, { "content-type": "application/json; charset=utf-8" })).toMatchObject({
      status: 200,
      code: "ü",
    });
    expect(await post(body, { "content-type": "application/json-patch+json" })).toMatchObject({
      status: 200,
    });
  });

  test("1 MiB is accepted, one byte more answers 413", async () => {
    const around = '{"code":"","options":{"timeout":1}}'.length;
    const make = (size: number) => `{"code":"${"x".repeat(size - around)}","options":{"timeout":1}}`;
    expect(await post(make(1024 * 1024))).toMatchObject({ status: 200 });
    expect(await post(make(1024 * 1024 + 1))).toMatchObject({ status: 413, code: "body_too_large" });
  });

  test("brackets inside of strings do not count as nesting", () => {
    const depth = (json: string) => measureDepth(Buffer.from(json), 2);
    expect(depth(JSON.stringify({ code: '[{"\\'.repeat(1000) }))).toBe(1);
    expect(depth("[[[]]]")).toBe(3);
    expect(depth("[[],[],[]]")).toBe(2);
  });
});

describe("paths and queries", () => {
  test("an unknown route, and a known one with another method, answer 404 not_found", async () => {
    for (const request of [
      { method: "GET", url: "/nothing" },
      { method: "DELETE", url: "/echo" },
    ] as const) {
      const answer = await app.inject(request);
      expect(answer.statusCode).toBe(404);
      expect(answer.json()).toMatchObject({ code: "not_found", requestId: answer.headers["x-request-id"] });
    }
  });

  test("wrong parameters are named by place", async () => {
    expect(
      (await app.inject("/page?limit=6&x=1")).json().issues.map((issue: { path: string }) => issue.path),
    ).toEqual(expect.arrayContaining(["query.limit", "query"]));
    expect((await app.inject("/things/12abc")).json()).toMatchObject({
      code: "invalid_request",
      issues: [{ path: "params.id" }],
    });
  });

  test("a broken percent encoding is a request error", async () => {
    const answer = await app.inject("/things/%E0%A4%A");
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code: "invalid_request", requestId: expect.any(String) });
  });

  test("an endless path segment is refused without an exception", async () => {
    const answer = await app.inject(`/things/${"1".repeat(5000)}`);
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ code: "not_found" });
  });
});

describe("failures of the server", () => {
  test("an unexpected error says nothing; the log has the cause under the request id", async () => {
    const answer = await app.inject({ url: "/broken", headers: { "x-request-id": "find-me-1" } });
    expect(answer.statusCode).toBe(500);
    expect(answer.json()).toEqual({
      error: expect.stringContaining("went wrong"),
      code: "internal_error",
      requestId: "find-me-1",
    });
    expect(answer.body).not.toMatch(/hunter2|secret\.ts/);
    const line = logged.split("\n").find((entry) => entry.includes("find-me-1") && entry.includes("hunter2"));
    expect(line).toBeDefined();
  });

  test("an answer that breaks its own schema is a fault of ours, not data for the client", async () => {
    const answer = await app.inject("/lies");
    expect(answer.statusCode).toBe(500);
    expect(answer.json()).toMatchObject({ code: "internal_error" });
  });

  test("a database that cannot be reached answers 503 with Retry-After and without its address", async () => {
    const answer = await app.inject("/down");
    expect(answer.statusCode).toBe(503);
    expect(answer.headers["retry-after"]).toMatch(/^\d+$/);
    expect(answer.json()).toMatchObject({ code: "database_unavailable" });
    expect(answer.body).not.toContain("10.1.2.3");
  });

  test("Retry-After comes from the error", async () => {
    const answer = await app.inject("/refused");
    expect([answer.statusCode, answer.headers["retry-after"]]).toEqual([429, "7"]);
  });
});

/** Larger than what sockets hold. */
const LARGE_BODY = JSON.stringify("x".repeat(20 * 1024 * 1024));

describe("on the wire", () => {
  async function sendRaw(text: string): Promise<string> {
    const { port } = app.server.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1");
    socket.write(text);
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    return answer;
  }
  beforeAll(async () => {
    await app.listen({ port: 0, host: "127.0.0.1" });
  });

  test("bytes that are not HTTP get an answer in the shape of all errors", async () => {
    const answer = await sendRaw("NONSENSE\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(answer.split("\r\n\r\n")[1] ?? "")).toMatchObject({ code: "invalid_request" });
  });

  test("headers of 20 kB are refused", async () => {
    const answer = await sendRaw(
      `GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"x".repeat(20_000)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(answer).toContain("invalid_request");
  });

  test("a body that says it is larger than it may be is refused before it is sent", async () => {
    const answer = await sendRaw(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  test.each([
    ["with its length", `Content-Length: ${LARGE_BODY.length}`, LARGE_BODY],
    [
      "in chunks",
      "Transfer-Encoding: chunked",
      `${LARGE_BODY.length.toString(16)}\r\n${LARGE_BODY}\r\n0\r\n\r\n`,
    ],
  ])("a client that sends a body that is too large to its end reads why, %s", async (_how, framing, body) => {
    for (const connection of ["", "Connection: close\r\n"]) {
      const { port } = app.server.address() as AddressInfo;
      const socket = connect(port, "127.0.0.1");
      const head = `POST /echo HTTP/1.1\r\nHost: localhost\r\n${connection}Content-Type: application/json\r\n${framing}\r\n\r\n`;
      await new Promise<void>((sent) => socket.write(head + body, () => sent()));
      // The connection can be used again, unless the client wants none.
      if (connection === "")
        socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      let answer = "";
      for await (const chunk of socket) answer += chunk;
      const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
      expect(statuses[0]).toBe("413");
      expect(statuses).toHaveLength(connection === "" ? 2 : 1);
      expect(answer).toContain('"code":"body_too_large"');
    }
  });
});

test("every code of the catalogue is documented with its status, and no other", async () => {
  const page = await readFile(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const documented = [...page.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \|/gm)].map((match) => [
    match[1],
    Number(match[2]),
  ]);
  const catalogue = Object.entries(ERROR_CATALOGUE).map(([code, { status }]) => [code, status]);
  expect(documented.sort()).toEqual(catalogue.sort());
});
