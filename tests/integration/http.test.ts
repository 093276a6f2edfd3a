import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { createLogger } from "#api/http/logging.ts";
import { buildHttpApp, TEST_KEY } from "./harness/http-app.ts";

describe("every answer", () => {
  let app: App;
  beforeAll(async () => {
    app = await buildHttpApp();
  });
  afterAll(() => app.close());

  test("carries a request id: the client's own if it is harmless, else a new one", async () => {
    const idFor = async (given?: string) =>
      (await app.inject({ url: "/health", headers: given === undefined ? {} : { "x-request-id": given } }))
        .headers["x-request-id"];
    expect(await idFor("order-42.a_b")).toBe("order-42.a_b");
    for (const bad of ["", "with space", "x".repeat(129), "a\tb", '"quoted"', "{json}"]) {
      expect(await idFor(bad)).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(await idFor()).not.toBe(await idFor());
  });

  test("may not be run, framed, guessed at or kept", async () => {
    for (const url of ["/health", "/nothing", "/openapi.json"]) {
      const { headers } = await app.inject(url);
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["x-frame-options"]).toBe("SAMEORIGIN");
      expect(headers["content-security-policy"]).toBe("default-src 'none';frame-ancestors 'none'");
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers["x-powered-by"]).toBeUndefined();
    }
  });
});

describe("the rate limit", () => {
  test("is off unless configured", async () => {
    const app = await buildHttpApp();
    const { headers } = await app.inject("/openapi.json");
    expect(Object.keys(headers).filter((name) => name.startsWith("ratelimit"))).toEqual([]);
    await app.close();
  });

  test("counts per client, tells what is left, and answers 429 with Retry-After; also for wrong keys", async () => {
    const app = await buildHttpApp({
      environment: {
        CYRNEL_API_KEY: TEST_KEY,
        CYRNEL_RATE_LIMIT_MAX: "3",
        CYRNEL_RATE_LIMIT_WINDOW_MS: "60000",
      },
      routes: (instance) => {
        instance.get("/read", { onRequest: requireScope("processes:read") }, async () => ({}));
      },
    });
    const read = (authorization: string, remoteAddress = "10.0.0.1") =>
      app.inject({ url: "/read", headers: { authorization }, remoteAddress });
    const good = `Bearer ${TEST_KEY}`;
    for (const remaining of ["2", "1", "0"]) {
      const answer = await read(good);
      expect(answer.statusCode).toBe(200);
      expect(answer.headers).toMatchObject({ "ratelimit-limit": "3", "ratelimit-remaining": remaining });
      expect(Number(answer.headers["ratelimit-reset"])).toBeGreaterThan(0);
    }
    const refused = await read(good);
    expect(refused.statusCode).toBe(429);
    expect(refused.json()).toMatchObject({ code: "rate_limited" });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);

    expect((await read(good, "10.0.0.2")).statusCode).toBe(200);
    const guesses = [];
    for (let guess = 0; guess < 4; guess++) guesses.push((await read(`Bearer wrong-${guess}`)).statusCode);
    expect(guesses).toEqual([401, 401, 401, 429]);
    expect((await app.inject({ url: "/health", remoteAddress: "10.0.0.1" })).statusCode).toBe(200);
    await app.close();
  });
});

describe("the log", () => {
  test("holds no key, no password and no authorization header, however they got there", async () => {
    const databaseUrl = "postgres://cyrnel:p%40ssw0rd-x@db:5432/cyrnel";
    const lines: string[] = [];
    const stream = new PassThrough().setEncoding("utf8").on("data", (text) => lines.push(text));
    const logger = createLogger({ logLevel: "info", apiKey: TEST_KEY, databaseUrl }, { stream });
    logger.info(
      { headers: { authorization: "Bearer abc" }, secrets: { token: "t0ken" }, apiKey: "k" },
      "fields",
    );
    logger.error(new Error(`cannot reach ${databaseUrl}`), "error");
    logger.warn(`the key is ${TEST_KEY} and the password p@ssw0rd-x`);
    const text = lines.join("");
    expect(text).not.toMatch(/Bearer abc|t0ken|p%40ssw0rd|p@ssw0rd/);
    expect(text).not.toContain(TEST_KEY);
    for (const line of text.trim().split("\n")) {
      expect(JSON.parse(line)).toMatchObject({
        level: expect.any(String),
        time: expect.stringMatching(/Z$/),
      });
    }
  });

  test("has one line per request with its id, and none of its content", async () => {
    const lines: string[] = [];
    const stream = new PassThrough().setEncoding("utf8").on("data", (text) => lines.push(text));
    const app = await buildHttpApp({
      deps: { logger: createLogger({ logLevel: "info", apiKey: null, databaseUrl: null }, { stream }) },
      routes: (instance) => {
        instance.post("/jobs/:id", { onRequest: requireScope("processes:write") }, async () => ({}));
      },
    });
    await app.inject({
      method: "POST",
      url: "/jobs/7?token=in-the-query",
      headers: { "x-request-id": "trace-me", authorization: "Bearer in-the-header" },
      payload: { code: "in the body" },
    });
    await app.inject("/health");
    await app.close();
    expect(lines.join("")).not.toMatch(/in-the-query|in-the-header|in the body/);
    const requests = lines
      .join("")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(requests).toEqual([
      expect.objectContaining({
        requestId: "trace-me",
        type: "request",
        method: "POST",
        route: "/jobs/:id",
        status: 200,
        caller: "anonymous",
        durationMs: expect.any(Number),
      }),
    ]);
  });
});
