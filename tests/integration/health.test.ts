import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { createLifecycle, type Lifecycle } from "#api/http/guards.ts";
import { buildHttpApp } from "./harness/http-app.ts";
import { startServer, type TestServer } from "./harness/server.ts";

describe("health of a server", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({
      builtins: [],
      environment: { CYRNEL_API_KEY: "test-key-0123456789-abcdefghij" },
    });
  });
  afterAll(() => server.close());

  test("GET /health and /health/live answer {status: ok} and nothing else, without a key", async () => {
    for (const path of ["/health", "/health/live"]) {
      const answer = await fetch(server.url + path);
      expect([answer.status, await answer.json()]).toEqual([200, { status: "ok" }]);
    }
  });

  test("GET /health/ready names what is missing", async () => {
    const answer = await server.get("/health/ready");
    expect(answer.status).toBe(503);
    expect(answer.body).toEqual({
      status: "unavailable",
      failing: [{ check: "environment", message: expect.stringContaining("/modules/:id/enabled") }],
    });
  });

  test("ready turns 503, and requests are refused at once, while the database does not answer", async () => {
    server.setReachable(false);
    try {
      expect((await server.get("/health/ready")).body.failing).toContainEqual({
        check: "database",
        message: "the database does not answer",
      });
      const answer = await server.get("/processes");
      expect([answer.status, answer.body.code]).toEqual([503, "database_unavailable"]);
      expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
      expect((await server.get("/health")).status).toBe(200);
      expect((await server.get("/nothing")).status).toBe(404);
    } finally {
      server.setReachable(true);
    }
    expect((await server.get("/processes")).status).toBe(200);
  });

  test("ready turns 503 when the schema is not the one of this program", async () => {
    await server.pool`insert into schema_migrations (name, run_on) values ('9999_from_the_future', now())`;
    expect((await server.get("/health/ready")).body.failing).toContainEqual({
      check: "migrations",
      message: expect.stringContaining("9999_from_the_future"),
    });
    await server.pool`delete from schema_migrations where name = '9999_from_the_future'`;
    expect((await server.get("/health/ready")).body.failing).toHaveLength(1);
  });

  test("without an environment nothing can run, and the answer says so", async () => {
    const answer = await server.post("/processes", { code: "1" });
    expect([answer.status, answer.body.code]).toEqual([503, "no_environment"]);
  });
});

describe("readiness checks", () => {
  test("all must hold; one that throws or never answers is failing, not fatal", async () => {
    const app = await buildHttpApp({
      deps: {
        readiness: [
          { name: "good", check: () => null },
          { name: "bad", check: async () => "disk full" },
          {
            name: "broken",
            check: () => {
              throw new Error("password=hunter2");
            },
          },
          { name: "hangs", check: () => new Promise(() => {}) },
        ],
      },
    });
    const answer = await app.inject("/health/ready");
    expect(answer.statusCode).toBe(503);
    expect(answer.json().failing.map((entry: { check: string }) => entry.check)).toEqual([
      "bad",
      "broken",
      "hangs",
    ]);
    expect(answer.body).not.toContain("hunter2");
    await app.close();
  });

  test("ready when every check holds", async () => {
    const app = await buildHttpApp({ deps: { readiness: [{ name: "good", check: () => null }] } });
    const answer = await app.inject("/health/ready");
    expect([answer.statusCode, answer.json()]).toEqual([200, { status: "ok" }]);
    await app.close();
  });
});

describe("while shutting down", () => {
  let app: App;
  let lifecycle: Lifecycle;
  beforeAll(async () => {
    lifecycle = createLifecycle();
    const onRequest = requireScope("processes:write");
    app = await buildHttpApp({
      deps: { lifecycle },
      routes: (instance) => {
        instance.get("/read", { onRequest }, async () => ({ read: true }));
        instance.post("/work", { onRequest }, async () => ({ done: true }));
        instance.post("/kill", { onRequest, config: { whileDraining: true } }, async () => ({
          killed: true,
        }));
      },
    });
  });
  afterAll(() => app.close());

  test("new work answers 503 shutting_down with Retry-After; reading and killing go on", async () => {
    expect((await app.inject({ method: "POST", url: "/work" })).statusCode).toBe(200);
    lifecycle.startDraining();
    const answer = await app.inject({ method: "POST", url: "/work" });
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ code: "shutting_down" });
    expect(answer.headers["retry-after"]).toMatch(/^\d+$/);
    expect(answer.headers.connection).toBe("close");
    expect((await app.inject("/read")).statusCode).toBe(200);
    expect((await app.inject({ method: "POST", url: "/kill" })).statusCode).toBe(200);
  });
});
