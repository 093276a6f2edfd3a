/** How the server hands out the console: its policy, what is kept how long, and that it swallows nothing of the API. */
import { readdirSync } from "node:fs";
import path from "node:path";
import Fastify from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { registerConsole } from "#api/console/pages.ts";
import type { App } from "#api/http/app-type.ts";
import { buildHttpApp, TEST_KEY } from "./harness/http-app.ts";

const FILES = path.resolve(import.meta.dirname, "../../dist/console/console");

let app: App;
beforeAll(async () => {
  app = await buildHttpApp({ environment: { CYRNEL_API_KEY: TEST_KEY } });
});
afterAll(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

test("the page needs no key, holds none, and lets only its own files run", async () => {
  const answer = await get("/");
  expect(answer.statusCode).toBe(200);
  expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(answer.headers["cache-control"]).toBe("no-store");
  expect(answer.body).not.toContain(TEST_KEY);
  expect(answer.body).toContain('name="cyrnel-access" content="key"');
  const policy = String(answer.headers["content-security-policy"]);
  expect(policy).toMatch(/default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w-]{20,}';/);
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(answer.body).not.toMatch(/<script(?![^>]*\bsrc="\.\/console\/)|<style|\son\w+=|https?:\/\//);
});

test("the nonce of its styles is another one each time", async () => {
  const nonces = await Promise.all([get("/"), get("/")]);
  const [one, other] = nonces.map(
    ({ headers }) => /nonce-([\w-]+)/.exec(String(headers["content-security-policy"]))?.[1],
  );
  expect(one).toBeDefined();
  expect(one).not.toBe(other);
});

test("without any key the page knows that it needs none", async () => {
  await using open = await buildHttpApp();
  const answer = await open.inject({ url: "/", headers: { host: "127.0.0.1" } });
  expect(answer.body).toContain('name="cyrnel-access" content="open"');
});

test("files are kept for ever, and compressed for who takes that", async () => {
  const script = readdirSync(FILES).find((name) => /^main-.*\.js$/.test(name));
  const plain = await get(`/console/${script}`);
  expect(plain.statusCode).toBe(200);
  expect(plain.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  expect(plain.headers["content-type"]).toMatch(/javascript/);
  const small = await get(`/console/${script}`, { "accept-encoding": "br" });
  expect(small.headers["content-encoding"]).toBe("br");
  expect(small.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
});

test.each([
  "/console/",
  "/console/nothing.js",
  "/console/../index.html",
  "/console/..%2f..%2f..%2fpackage.json",
  "/console/%2e%2e/sources.sha256",
  "/index.html",
  "/run",
])("%s is answered by the API", async (url) => {
  const answer = await get(url, { authorization: `Bearer ${TEST_KEY}` });
  expect(answer.statusCode).toBe(404);
  expect(answer.json()).toMatchObject({ code: "not_found" });
});

test("the API keeps its own policy and its own refusals", async () => {
  const answer = await get("/processes", { accept: "text/html" });
  expect(answer.statusCode).toBe(401);
  expect(answer.headers["content-security-policy"]).toMatch(/^default-src 'none'/);
});

test("a server without the built files says so at / and works otherwise", async () => {
  await using bare = Fastify();
  await registerConsole(bare as unknown as App, { directory: "/nowhere", needsKey: true });
  const answer = await bare.inject({ url: "/" });
  expect(answer.statusCode).toBe(404);
  expect(answer.body).toContain("npm run build");
});
