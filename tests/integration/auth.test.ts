import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import type { InjectOptions } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { App } from "#api/http/app-type.ts";
import { requireScope, SCOPES } from "#api/http/auth.ts";
import { buildHttpApp, TEST_KEY } from "./harness/http-app.ts";

function addRoutes(app: App): void {
  app.get("/secret", { onRequest: requireScope("processes:read") }, async (request) => ({
    caller: request.caller?.id,
  }));
  app.post("/secret", { onRequest: requireScope("processes:write") }, async () => ({ done: true }));
  app.get("/late", { preHandler: requireScope("keys:admin") }, async () => ({ done: true }));
}

describe("with a key", () => {
  let app: App;
  beforeAll(async () => {
    app = await buildHttpApp({ environment: { CYRNEL_API_KEY: TEST_KEY }, routes: addRoutes });
  });
  afterAll(() => app.close());
  const get = (headers: InjectOptions["headers"], url = "/secret") =>
    app.inject({ url, headers: headers ?? {} });

  test("the key opens every scope", async () => {
    const answer = await get({ authorization: `Bearer ${TEST_KEY}` });
    expect([answer.statusCode, answer.json()]).toEqual([200, { caller: "bootstrap" }]);
    expect((await get({ authorization: `bearer  ${TEST_KEY} ` }, "/late")).statusCode).toBe(200);
  });

  const MISSING = "the request has no API key";
  const MALFORMED = "the Authorization header is not the word Bearer and one API key";
  const WRONG = "the API key is wrong, was revoked or has expired";
  test.each([
    ["no header", MISSING, undefined],
    ["another key", WRONG, "Bearer another-key-of-the-same-length"],
    ["a prefix of the key", WRONG, `Bearer ${TEST_KEY.slice(0, -1)}`],
    ["the key and more", WRONG, `Bearer ${TEST_KEY}x`],
    ["another scheme", MALFORMED, `Basic ${TEST_KEY}`],
    ["only the key", MALFORMED, TEST_KEY],
    ["two keys", MALFORMED, `Bearer ${TEST_KEY} ${TEST_KEY}`],
    ["an empty key", MALFORMED, "Bearer "],
    ["a very long key", MALFORMED, `Bearer ${"x".repeat(8000)}`],
  ])("%s answers 401, says why, and how to give the key", async (_name, problem, authorization) => {
    const answer = await get(authorization === undefined ? {} : { authorization });
    expect(answer.statusCode).toBe(401);
    expect(answer.json()).toEqual({
      error: `Unauthorized: ${problem}. Send the header Authorization: Bearer <key>.`,
      code: "unauthorized",
      requestId: answer.headers["x-request-id"],
    });
    expect(answer.headers["www-authenticate"]).toBe('Bearer realm="cyrnel"');
  });

  test("an unauthorized request is refused before its body is looked at", async () => {
    const answer = await app.inject({
      method: "POST",
      url: "/secret",
      payload: "{{{",
      headers: { "content-type": "application/json" },
    });
    expect(answer.statusCode).toBe(401);
  });

  test("the key in the query or a cookie is not looked at", async () => {
    expect((await get({ cookie: `key=${TEST_KEY}` }, `/secret?key=${TEST_KEY}`)).statusCode).toBe(401);
  });

  test.each(["/health", "/health/live", "/health/ready", "/openapi.json", "/docs"])(
    "%s needs no key",
    async (url) => {
      expect((await get({}, url)).statusCode).toBeLessThan(400);
    },
  );

  test("HEAD needs the key that GET needs", async () => {
    expect((await app.inject({ method: "HEAD", url: "/secret" })).statusCode).toBe(401);
  });

  test("any host name may be used: the key is what protects", async () => {
    const headers = {
      authorization: `Bearer ${TEST_KEY}`,
      host: "cyrnel.example.com",
      origin: "https://example.com",
    };
    expect((await get(headers)).statusCode).toBe(200);
  });
});

describe("a caller without a scope", () => {
  let app: App;
  beforeAll(async () => {
    app = await buildHttpApp({
      routes: (instance) => {
        instance.addHook("onRequest", async (request) => {
          request.caller = { kind: "key", id: "reader", scopes: new Set(["processes:read"]) };
        });
        addRoutes(instance);
      },
    });
  });
  afterAll(() => app.close());

  test("gets 403 forbidden with the name of the scope, and what its scopes allow", async () => {
    expect((await app.inject("/secret")).statusCode).toBe(200);
    const answer = await app.inject({ method: "POST", url: "/secret" });
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({
      code: "forbidden",
      error: expect.stringContaining("processes:write"),
    });
  });
});

test("a route that declares no scope and is not public stops the server from being built", async () => {
  await expect(buildHttpApp({ routes: (app) => void app.get("/open", async () => ({})) })).rejects.toThrow(
    /GET \/open declares neither a scope/,
  );
  expect(new Set(SCOPES).size).toBe(9);
});

describe("without a key (anonymous, loopback)", () => {
  let app: App;
  beforeAll(async () => {
    app = await buildHttpApp({ routes: addRoutes });
  });
  afterAll(() => app.close());
  const send = (method: "GET" | "POST", headers: Record<string, string>) =>
    app.inject({ method, url: "/secret", headers, ...(method === "POST" ? { payload: {} } : {}) });

  test.each(["localhost", "localhost:9371", "127.0.0.1:9371", "127.1.2.3", "[::1]:9371", "[::1]"])(
    "a program that calls %s is served",
    async (host) => {
      expect((await send("POST", { host })).statusCode).toBe(200);
    },
  );

  test.each([
    "attacker.example",
    "attacker.example:9371",
    "127.0.0.1.attacker.example",
    "169.254.169.254",
    "[::2]",
    "localhost.",
  ])("a name that leads here by DNS rebinding is refused: %j", async (host) => {
    const answer = await send("GET", { host });
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject({
      code: "forbidden",
      error: expect.stringContaining("CYRNEL_API_KEY"),
    });
  });

  test.each([
    ["a page of another site", { origin: "https://attacker.example" }],
    ["a page on another local port", { origin: "http://localhost:3000" }],
    ["a sandboxed page", { origin: "null" }],
    ["a cross-site form", { "sec-fetch-site": "cross-site" }],
    ["a same-site form", { "sec-fetch-site": "same-site" }],
  ])("%s cannot post", async (_name, headers) => {
    expect((await send("POST", { host: "localhost:9371", ...headers })).statusCode).toBe(403);
  });

  test("the documentation page of this server can", async () => {
    const headers = {
      host: "localhost:9371",
      origin: "http://localhost:9371",
      "sec-fetch-site": "same-origin",
    };
    expect((await send("POST", headers)).statusCode).toBe(200);
  });

  test("a health check over HTTP/1.0 needs no Host; a page of another site has one", async () => {
    await app.listen({ port: 0, host: "127.0.0.1" });
    const ask = async (headers: string) => {
      const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
      socket.write(`GET /health HTTP/1.0\r\n${headers}\r\n`);
      return (await text(socket)).split("\r\n")[0];
    };
    expect(await ask("")).toMatch(/ 200 /);
    expect(await ask("Host: attacker.example\r\n")).toMatch(/ 403 /);
    expect(await ask("Origin: https://attacker.example\r\n")).toMatch(/ 403 /);
  });

  test("a link from another site may be followed", async () => {
    expect((await send("GET", { host: "localhost:9371", "sec-fetch-site": "cross-site" })).statusCode).toBe(
      200,
    );
  });

  test("no answer allows other origins to read it", async () => {
    const answer = await send("GET", { host: "localhost:9371", origin: "http://localhost:9371" });
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });
});
