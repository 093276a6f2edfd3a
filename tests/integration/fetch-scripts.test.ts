/** The `fetch` of a script through a rule of the adapter `http`: bodies of all sizes, people, repetitions, ends; in both environments. */
import { createHash } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { type ApprovalsServer, startApprovalsServer } from "./approvals/server.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { until } from "./processes-server.ts";

const MEBIBYTE = 1024 * 1024;
const content = (bytes: number) =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, index) => (index * 7 + (index >> 10)) % 251));
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

interface Received {
  line: string;
  type: string | undefined;
  size: number;
  digest: string;
}
const received: Received[] = [];
const hanging: ServerResponse[] = [];
let abandoned = 0;

const upstream = createServer(async (request, response) => {
  const body = await buffer(request);
  const { method, url = "", headers } = request;
  received.push({
    line: `${method} ${url}`,
    type: headers["content-type"],
    size: body.length,
    digest: sha256(body),
  });
  if (url.endsWith("/hang")) {
    hanging.push(response);
    response.on("close", () => {
      abandoned += 1;
    });
  } else if (url.endsWith("/large")) response.end(content(3 * MEBIBYTE));
  else {
    const size = url.endsWith("/seen") ? hanging.length : url.endsWith("/closed") ? abandoned : body.length;
    response.setHeader("content-type", "application/json").end(JSON.stringify({ size }));
  }
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
    const rule = { origins: [origin], maxRequestBytes: 8 * MEBIBYTE };
    const rules = [
      { ...rule, name: "read", pathPrefix: "/api", methods: ["GET"] },
      { ...rule, name: "write", pathPrefix: "/api", methods: ["POST"] },
      { ...rule, name: "asked", pathPrefix: "/asked", methods: ["GET", "POST"] },
    ];
    for (const answer of [
      await on.server.post("/services", { id: "web", adapter: "http", content: JSON.stringify({ rules }) }),
      await on.server.post("/services/web/enabled", { enabled: true }),
      await on.server.post("/policies", { servicePattern: "web", toolPattern: "asked", decision: "ask" }),
    ]) {
      expect(answer.status, answer.text).toBeLessThan(300);
    }
  });
  beforeEach(() => {
    received.length = 0;
    hanging.length = 0;
    abandoned = 0;
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

  test("small and large bodies go both ways; the trail names the rule; nothing is left in the workspace", async () => {
    const record = await run(
      `const small = await (await fetch("$ORIGIN/api/small")).json();
      const bytes = new Uint8Array(await (await fetch("$ORIGIN/api/large")).arrayBuffer());
      const sent = await (await fetch("$ORIGIN/api/up", { method: "POST", body: bytes })).json();
      const form = new FormData();
      form.append("note", "n");
      const posted = await fetch("$ORIGIN/api/form", { method: "post", body: form });
      const names = (await cyrnel.files.list()).map(({ name }) => name);
      return [small, bytes.length, sent, posted.status, names];`,
    );
    expect(record.error ?? null).toBeNull();
    expect(record.result).toEqual([{ size: 0 }, 3 * MEBIBYTE, { size: 3 * MEBIBYTE }, 200, []]);
    expect(received.map(({ line }) => line)).toEqual([
      "GET /api/small",
      "GET /api/large",
      "POST /api/up",
      "POST /api/form",
    ]);
    expect(received[2]?.digest).toBe(sha256(content(3 * MEBIBYTE)));
    expect(received[3]?.type).toMatch(/^multipart\/form-data; boundary=/);
    const { calls } = (await on.server.get(`/processes/${record.id}/calls`)).body;
    expect(
      calls.map(({ serviceId, toolId }: { serviceId: string; toolId: string }) => `${serviceId}.${toolId}`),
    ).toEqual(["web.read", "web.read", "web.write", "web.write"]);
    expect(record.artifacts ?? []).toEqual([]);
  });

  test("what no rule allows is a TypeError that names the near rule", async () => {
    const record = await run(
      `const tell = (...given) => fetch(...given).then(({ status }) => status, (error) => [error.name, error.message, error.cause?.code]);
      return [await tell("$ORIGIN/api", { method: "PUT" }), await tell("https://other.example/"), await tell("$ORIGIN/api/..;/x")];`,
    );
    expect(record.result).toEqual([
      ["TypeError", expect.stringContaining("the method PUT is not allowed by the rule web.read"), "no_rule"],
      ["TypeError", expect.stringContaining("no rule allows https://other.example"), "no_rule"],
      ["TypeError", expect.stringContaining("a segment of dots"), "invalid_parameters"],
    ]);
    expect(received).toEqual([]);
    // The first of them: the records of what a script does are written in batches.
    const recorded = async () =>
      (await on.server.get(`/audit?action=tool.call&processId=${record.id}`)).body.records.map(
        ({ object }: { object: { id: string } }) => object.id,
      );
    await expect.poll(recorded).toContain("fetch");
    expect(await recorded()).not.toContain("fetch.");
  });

  test("a request that a person approves on the next server is sent once, as it was; others are not sent again", async () => {
    const id = await on.submit(
      `const before = new Uint8Array(await (await fetch("${origin}/api/large")).arrayBuffer());
      const answer = await fetch("${origin}/asked/up?x=1", { method: "POST", body: before.slice(0, 2_000_000) });
      const again = await fetch("${origin}/asked/small");
      return [before.length, await answer.json(), await again.json()];`,
    );
    const [first = ""] = await on.paused(id);
    const { body: asked } = await on.boss.send("GET", `/approvals/${first}`);
    const digest = sha256(content(3 * MEBIBYTE).subarray(0, 2_000_000));
    expect(asked).toMatchObject({
      serviceId: "web",
      toolId: "asked",
      message: `The script wants to call web.asked: POST ${origin}/asked/up with a body of 2000000 bytes.`,
      files: [{ size: 2_000_000, sha256: digest }],
    });
    await on[Symbol.asyncDispose]();
    on = await start();
    await on.decide(first, "approve");
    const [second = ""] = await until("the second is asked", async () => {
      const { state, approvals } = await on.read(id);
      return state === "paused" && approvals[0] !== first && approvals;
    });
    await on[Symbol.asyncDispose]();
    on = await start();
    await on.decide(second, "approve");
    const record = await on.read(id, "?wait=30000");
    expect([record.error ?? null, record.result]).toEqual([
      null,
      [3 * MEBIBYTE, { size: 2_000_000 }, { size: 0 }],
    ]);
    expect(received.map(({ line }) => line)).toEqual([
      "GET /api/large",
      "POST /asked/up?x=1",
      "GET /asked/small",
    ]);
    expect(received[1]?.digest).toBe(digest);
  });

  const COUNTING = `const count = async (what) => (await (await fetch("$ORIGIN/api/" + what)).json()).size;
    const wait = async (what, size) => { while ((await count(what)) < size) await new Promise((go) => setTimeout(go, 20)); };`;
  const statuses = async (id: number) => {
    const { calls } = (await on.server.get(`/processes/${id}/calls?limit=500`)).body;
    return calls.map(({ status, toolId }: { status: string; toolId: string }) => `${toolId} ${status}`);
  };

  test("an aborted request is canceled while the script goes on: its connection closes, its slot is free, the trail says so", async () => {
    const record = await run(
      `${COUNTING}
      const aborter = new AbortController();
      const hanging = fetch("$ORIGIN/api/hang", { signal: aborter.signal }).catch(({ name }) => name);
      await wait("seen", 1);
      aborter.abort();
      await wait("closed", 1);
      const late = await fetch("$ORIGIN/api/hang", { signal: AbortSignal.timeout(50) }).catch(({ name }) => name);
      await wait("closed", 2);
      const reason = await fetch("$ORIGIN/api/hang", { signal: AbortSignal.abort("before") }).catch((why) => why);
      return [await hanging, late, reason];`,
    );
    expect([record.error ?? null, record.result]).toEqual([null, ["AbortError", "TimeoutError", "before"]]);
    expect(received.filter(({ line }) => line === "GET /api/hang")).toHaveLength(2);
    const trail = await statuses(record.id);
    expect(trail.filter((one: string) => one === "read unknown")).toHaveLength(2);
    expect(trail.filter((one: string) => !/ (?:ok|unknown)$/.test(one))).toEqual([]);
    const { records } = (
      await on.server.get(`/audit?action=tool.call&outcome=unknown&processId=${record.id}`)
    ).body;
    const unknown = { object: { kind: "tool", id: "web.read" }, code: "call_unknown" };
    expect(records).toMatchObject([unknown, unknown]);
  });

  test("more requests than run at once: those that wait are dropped unsent, those under way are closed", async () => {
    const record = await run(
      `${COUNTING}
      const aborter = new AbortController();
      const all = Array.from({ length: 200 }, () => fetch("$ORIGIN/api/hang", { signal: aborter.signal }).catch(({ name }) => name));
      setTimeout(() => aborter.abort(), 500);
      const names = new Set(await Promise.all(all));
      await wait("closed", await count("seen"));
      return [...names];`,
    );
    expect([record.error ?? null, record.result]).toEqual([null, ["AbortError"]]);
    expect(hanging.length).toBeGreaterThan(0);
    expect(hanging.length).toBeLessThan(200);
    expect(abandoned).toBe(hanging.length);
    expect((await statuses(record.id)).filter((one: string) => one === "read unknown")).toHaveLength(
      hanging.length,
    );
  });

  test("a repetition cancels nothing a second time, and sends nothing again", async () => {
    const id = await on.submit(
      `${COUNTING}
      const aborter = new AbortController();
      const hanging = fetch("$ORIGIN/api/hang", { signal: aborter.signal }).catch(({ name }) => name);
      await wait("seen", 1);
      aborter.abort();
      const name = await hanging;
      await wait("closed", 1);
      const asked = await fetch("$ORIGIN/asked/small");
      return [name, asked.status];`.replaceAll("$ORIGIN", origin),
    );
    const [approval = ""] = await on.paused(id);
    const before = await statuses(id);
    await on[Symbol.asyncDispose]();
    on = await start();
    await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=30000");
    expect([record.error ?? null, record.result]).toEqual([null, ["AbortError", 200]]);
    expect(received.filter(({ line }) => line === "GET /api/hang")).toHaveLength(1);
    expect(received.filter(({ line }) => line === "GET /asked/small")).toHaveLength(1);
    expect((await statuses(id)).slice(0, before.length - 1)).toEqual(before.slice(0, -1));
  });

  test.each([
    ["is killed", 'await fetch("$ORIGIN/api/hang")'],
    [
      "gives it up and returns",
      'const given = new AbortController(); fetch("$ORIGIN/api/hang", { signal: given.signal }).catch(() => {}); while ((await (await fetch("$ORIGIN/api/seen")).json()).size === 0); given.abort();',
    ],
    [
      "throws",
      'fetch("$ORIGIN/api/hang").catch(() => {}); while ((await (await fetch("$ORIGIN/api/seen")).json()).size === 0); throw new Error("x")',
    ],
  ])("a run that %s leaves no request behind", async (how, code) => {
    const id = await on.submit(code.replaceAll("$ORIGIN", origin));
    await until("it hangs", async () => hanging.length === 1);
    if (how === "is killed") await on.agent.send("POST", `/processes/${id}/signals/kill`);
    await expect.poll(() => abandoned, { timeout: 10_000 }).toBe(1);
    await on.read(id, "?wait=10000");
    expect(await statuses(id)).toContain("read unknown");
  });
});
