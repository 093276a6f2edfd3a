/** Bodies that a script reads while they come: through a rule of the adapter `http`, in both environments. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { type ApprovalsServer, startApprovalsServer } from "./approvals/server.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { until } from "./processes-server.ts";

const MEBIBYTE = 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, "abcdefghijklmno\n");
const LARGE_BYTES = 24 * MEBIBYTE;
const SECRET = "s3cret-token-0123456789";

let requests: string[] = [];
/** Bytes of `/slow` that the server could hand to its socket. */
let written = 0;
let closed = 0;

/** Never ends, and says that it is larger than a rule allows. */
function sendHuge(response: ServerResponse): void {
  response.writeHead(200, { "content-length": String(2 ** 40) });
  const go = () => {
    while (!response.destroyed) if (!response.write(PIECE)) return void response.once("drain", go);
  };
  go();
}

/** Ends after LARGE_BYTES, as fast as it is read, after it has been silent for a moment. */
function sendLarge(response: ServerResponse): void {
  response.write(PIECE);
  written = PIECE.length;
  const go = () => {
    while (written < LARGE_BYTES && !response.destroyed) {
      written += PIECE.length;
      if (!response.write(PIECE)) return void response.once("drain", go);
    }
    response.end();
  };
  setTimeout(go, 600);
}

const upstream = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "", "http://localhost");
  requests.push(pathname);
  response.on("error", () => {});
  response.on("close", () => {
    if (!response.writableFinished) closed += 1;
  });
  if (pathname.endsWith("/sse")) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const timer = setInterval(() => response.write("data: tick\n\n"), 30);
    response.on("close", () => clearInterval(timer));
  } else if (pathname.endsWith("/huge")) sendHuge(response);
  else if (pathname.endsWith("/slow")) sendLarge(response);
  else if (pathname.endsWith("/halves")) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${SECRET.slice(0, 9)}`);
    setTimeout(() => response.end(`${SECRET.slice(9)} end\n\n`), 400);
  } else if (pathname.endsWith("/stall")) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 1\n\n");
  } else if (pathname.endsWith("/parts")) {
    response.writeHead(404, { "content-type": "application/json" });
    response.write('{"a":');
    setTimeout(() => response.end("1}"), 500);
  } else response.end(pathname.endsWith("/written") ? String(written) : "ok");
});

describe.each(["typescript-process", "typescript-ivm"])("%s", (environmentId) => {
  let database: TestDatabase;
  let on: ApprovalsServer;
  let origin: string;

  beforeAll(async () => {
    if (!upstream.listening) await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    database = await createTestDatabase({ maxConnections: 12 });
    on = await start();
    const rule = { origins: [origin], maxResponseBytes: 32 * MEBIBYTE, methods: ["GET"] };
    const rules = [
      { ...rule, name: "read", pathPrefix: "/api" },
      { ...rule, name: "asked", pathPrefix: "/asked" },
    ];
    const secret = {
      name: "other",
      pathPrefix: "/other",
      origins: ["https://other.example"],
      methods: ["GET"],
      auth: { type: "bearer" },
    };
    const content = JSON.stringify({ rules: [...rules, secret] });
    for (const answer of [
      await on.server.post("/services", { id: "web", adapter: "http", content }),
      await on.server.request("PATCH", "/services/web/config", {
        json: [{ op: "add", path: "/timeoutMs", value: 1500 }],
      }),
      await on.server.request("PATCH", "/services/web/secrets", {
        json: [{ op: "add", path: "/other", value: SECRET }],
      }),
      await on.server.post("/services/web/enabled", { enabled: true }),
      await on.server.post("/policies", { servicePattern: "web", toolPattern: "asked", decision: "ask" }),
    ]) {
      expect(answer.status, answer.text).toBeLessThan(300);
    }
  });
  beforeEach(() => {
    requests = [];
    written = 0;
    closed = 0;
  });
  afterAll(async () => {
    await on?.[Symbol.asyncDispose]();
    await database?.drop();
    upstream.closeAllConnections();
    upstream.close();
  });

  async function start(): Promise<ApprovalsServer> {
    const started = await startApprovalsServer({
      database,
      environments: BUILTIN_MODULES.filter(({ type, id }) => type === "environment" || id === "http"),
      environment: { CYRNEL_APPROVAL_HOLD_MS: "0", CYRNEL_EGRESS_ALLOW: "127.0.0.1" },
    });
    await started.server.post(`/modules/${environmentId}/enabled`, { enabled: true });
    return started;
  }

  const run = async (code: string) =>
    (await on.agent.send("POST", "/processes", { block: true, code: code.replaceAll("$ORIGIN", origin) }))
      .body;
  const calls = async (id: number) => (await on.server.get(`/processes/${id}/calls`)).body.calls;

  test("an endless event stream is read until the script breaks off; its connection is closed then", async () => {
    const record = await run(
      `const r = await fetch("$ORIGIN/api/sse");
      let n = 0;
      for await (const chunk of r.body) if (++n > 3) break;
      while ((await fetch("$ORIGIN/api/none")).status !== 200);
      return [n, r.status, r.bodyUsed];`,
    );
    expect([record.error ?? null, record.result]).toEqual([null, [4, 200, true]]);
    expect(record.usage.wallMs).toBeLessThan(5000);
    await expect.poll(() => closed).toBe(1);
    const [call] = await calls(record.id);
    expect(call).toMatchObject({ serviceId: "web", toolId: "read", status: "ok", httpStatus: 200 });
    expect(record.warnings ?? []).toEqual([]);
  });

  test("a slow answer of unknown length resolves at its headers and is read whole by every method", async () => {
    const record = await run(
      `const r = await fetch("$ORIGIN/api/parts");
      const copy = r.clone();
      return [r.status, await r.json(), await copy.text()];`,
    );
    expect([record.error ?? null, record.result]).toEqual([null, [404, { a: 1 }, '{"a":1}']]);
    expect(await calls(record.id)).toMatchObject([{ status: "error", httpStatus: 404 }]);
  });

  test("a large body is held in pieces: its server waits for the script", async () => {
    const record = await run(
      `const r = await fetch("$ORIGIN/api/slow");
      const reader = r.body.getReader();
      let bytes = (await reader.read()).value.length, longest = 0;
      await new Promise((go) => setTimeout(go, 1200));
      const sent = Number(await (await fetch("$ORIGIN/api/written")).text());
      const held = (await reader.read()).value.length;
      bytes += held;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        bytes += value.length;
        longest = Math.max(longest, value.length);
      }
      return [bytes, held < 1_000_000, longest < 1_000_000, sent < bytes];`,
    );
    expect([record.error ?? null, record.result]).toEqual([null, [LARGE_BYTES, true, true, true]]);
    expect(record.artifacts ?? []).toEqual([]);
    expect((await calls(record.id))[0]).toMatchObject({
      status: "ok",
      result: { body: { streamed: LARGE_BYTES } },
    });
  });

  test("of a body that is larger than its rule allows the script reads the beginning; reading on rejects", async () => {
    const record = await run(
      `const r = await fetch("$ORIGIN/api/huge");
      const length = Number(r.headers.get("content-length"));
      let bytes = 0;
      for await (const chunk of r.body) if ((bytes += chunk.length) > 100_000) break;
      const whole = await fetch("$ORIGIN/api/huge").then((r) => r.bytes()).catch(({ code, message }) => [code, message]);
      return [r.status, length, bytes < 2_000_000, whole];`,
    );
    expect([record.error ?? null, record.result]).toEqual([
      null,
      [200, 2 ** 40, true, ["answer_too_large", expect.stringContaining(`more than ${32 * MEBIBYTE} bytes`)]],
    ]);
    expect(await calls(record.id)).toMatchObject([
      { status: "ok", httpStatus: 200 },
      { status: "error", httpStatus: 200 },
    ]);
    await expect.poll(() => closed).toBe(2);
  });

  test("a secret that is split over two chunks is taken out", async () => {
    const record = await run(
      `let text = "";
      const r = await fetch("$ORIGIN/api/halves");
      for await (const chunk of r.body.pipeThrough(new TextDecoderStream())) text += chunk;
      return text;`,
    );
    expect([record.error ?? null, record.result]).toEqual([null, "data: [secret] end\n\n"]);
  });

  test("a body that stalls is an error that says so", async () => {
    const record = await run(
      `const r = await fetch("$ORIGIN/api/stall");
      return await r.text().catch(({ message, code }) => [r.status, message, code]);`,
    );
    expect(record.result).toEqual([
      200,
      expect.stringContaining("stalled: no part of its body arrived for 1500 ms"),
      "timeout",
    ]);
    expect(await calls(record.id)).toMatchObject([{ status: "error", httpStatus: 200 }]);
  });

  test("an unread body does not keep a run; one that is aborted rejects what reads it", async () => {
    const record = await run(
      `const aborter = new AbortController();
      const r = await fetch("$ORIGIN/api/sse", { signal: aborter.signal });
      const read = r.text().catch(({ name }) => name);
      setTimeout(() => aborter.abort(), 100);
      const unread = await fetch("$ORIGIN/api/sse");
      return [await read, unread.ok];`,
    );
    expect([record.error ?? null, record.result]).toEqual([null, ["AbortError", true]]);
    expect(record.usage.wallMs).toBeLessThan(5000);
    await expect.poll(() => closed).toBe(2);
    expect(await calls(record.id)).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  });

  test("more bodies than may be open: the others are received whole", async () => {
    const record = await run(
      `const all = await Promise.all(Array.from({ length: 24 }, () => fetch("$ORIGIN/api/parts")));
      const texts = new Set();
      for (const one of all) texts.add(await one.text());
      return [...texts];`,
    );
    expect([record.error ?? null, record.result]).toEqual([null, ['{"a":1}']]);
  });

  test("a killed run closes what it reads", async () => {
    const id = await on.submit(
      `const r = await fetch("${origin}/api/sse"); for await (const chunk of r.body) console.log("tick");`,
    );
    await until("it streams", async () => requests.length === 1);
    await on.agent.send("POST", `/processes/${id}/signals/kill`);
    await expect.poll(() => closed, { timeout: 10_000 }).toBe(1);
    expect((await on.read(id, "?wait=10000")).exitState).toBe("canceled");
  });

  test("a run that is repeated after a pause has the same chunks again, and asks for none twice", async () => {
    const id = await on.submit(
      `const r = await fetch("${origin}/api/sse");
      const chunks = [];
      for await (const chunk of r.body.pipeThrough(new TextDecoderStream())) if (chunks.push(chunk) > 3) break;
      const asked = await fetch("${origin}/asked/small");
      return [chunks.join(""), asked.status];`,
    );
    const [approval = ""] = await on.paused(id);
    await on[Symbol.asyncDispose]();
    on = await start();
    await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=30000");
    expect([record.error ?? null, record.result]).toEqual([
      null,
      [expect.stringMatching(/^(data: tick\n\n){4,}$/), 200],
    ]);
    expect(requests).toEqual(["/api/sse", "/asked/small"]);
    expect(await calls(id)).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  });

  test("what was not read of a body before the run moved is an error, not an end", async () => {
    const id = await on.submit(
      `const r = await fetch("${origin}/api/sse");
      const reader = r.body.getReader();
      const first = await reader.read();
      const asked = await fetch("${origin}/asked/small");
      const more = await reader.read().catch(({ code }) => code);
      return [first.value.length > 0, asked.status, more];`,
    );
    const [approval = ""] = await on.paused(id);
    await on[Symbol.asyncDispose]();
    on = await start();
    await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=30000");
    expect([record.error ?? null, record.result]).toEqual([null, [true, 200, "body_lost"]]);
    expect(requests).toEqual(["/api/sse", "/asked/small"]);
    expect(await calls(id)).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  });
});
