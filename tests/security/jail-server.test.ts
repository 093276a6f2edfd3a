/** The wall through the real server: what clients see of it, what it costs the server when it is hit, and what outlives it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createTestDatabase } from "../integration/harness/database.ts";
import { startMain } from "../integration/harness/main-process.ts";
import { startServer } from "../integration/harness/server.ts";

const GONE_WITHIN_MS = 1000;
/** Of the machine's own slowness, on top. */
const GRACE_MS = 2000;

interface ProcessEntry {
  pid: number;
  /** CPU time in ticks of 10 ms. */
  ticks: number;
}

/** Processes of ours below `parent` that are not dead. */
function listChildrenOf(parent: number): ProcessEntry[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
        const [state, ppid, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const isOurs = /dist\/runner\/(zygote\/)?(child|slot)\.js\0/.test(
          readFileSync(`/proc/${pid}/cmdline`, "latin1"),
        );
        if (Number(ppid) !== parent || state === "Z" || !isOurs) return [];
        return [{ pid: Number(pid), ticks: Number(fields[9]) + Number(fields[10]) }];
      } catch {
        return [];
      }
    });
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return false;
  }
}

describe.runIf(process.platform === "linux")("the wall through the server", () => {
  it("is reported, and a run that fills memory outside the heap leaves the server unharmed", async () => {
    await using server = await startServer();
    const { body } = await server.get("/environment");
    expect(body.isolation.level).toBe("strict");
    expect(body.isolation.layers.map(({ layer }: { layer: number }) => layer)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7,
    ]);
    const bomb = "const held = []; for (;;) held.push(new Uint8Array(16 * 1024 * 1024).fill(1));";
    const ended = await Promise.all(
      Array.from({ length: 4 }, () => server.post("/processes", { code: bomb, block: true })),
    );
    for (const { body } of ended) {
      expect(body).toMatchObject({ exitState: "failed", reason: "memory_limit" });
      expect(JSON.stringify(body.error)).toContain("128 MB");
    }
    expect((await server.get("/health")).status).toBe(200);
    const after = await server.post("/processes", { code: "return 1", block: true });
    expect(after.body).toMatchObject({ exitState: "success", result: 1 });
  });

  it("that cannot stand keeps the environment from starting, and the server says so", async () => {
    const database = await createTestDatabase();
    const main = startMain({
      environment: { DATABASE_URL: database.url, CYRNEL_ISOLATION: "standard" },
      nodeFlags: ["--no-experimental-ffi"],
    });
    try {
      const url = await main.listening();
      const answer = await fetch(`${url}/modules?type=environment`);
      const { modules } = (await answer.json()) as { modules: { id: string; error: string }[] };
      const row = modules.find(({ id }) => id === "typescript-process");
      expect(row).toMatchObject({ enabled: true, state: "inactive" });
      expect(row?.error).toMatch(/layer 4.*node:ffi is missing.*CYRNEL_ISOLATION=development/);
      const refused = await fetch(`${url}/processes`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code: "return 1" }),
      });
      expect(refused.status).toBe(503);
      expect(await refused.json()).toMatchObject({
        code: "no_environment",
        error: expect.stringContaining("GET /modules"),
      });
      expect((await fetch(`${url}/health`)).status).toBe(200);
      expect((await fetch(`${url}/health/ready`)).status).toBe(503);
    } finally {
      main.child.kill("SIGTERM");
      await main.ended();
      await database.drop();
    }
  });

  it.each([
    ["Landlock", "landlock_create_ruleset", [], /layers 2 and 3 \(Landlock\)/],
    ["seccomp", "seccomp", [], /layers 2 and 3 \(seccomp\)/],
    ["both", "seccomp landlock_create_ruleset", [], /\(seccomp\).*To have it.*\(Landlock\)/],
    ["what puts Landlock on", "landlock_restrict_self", [], /layer 2 \(birth jail\)/],
    ["limits from outside", "prlimit64", [], /layer 4 \(limits from outside\).*must allow prlimit/],
    ["FFI", "", ["--no-experimental-ffi"], /layer 4 .*node:ffi is missing/],
  ])("without %s, a pod that is not ready says so, and what to do there", async (_, calls, flags, layer) => {
    const database = await createTestDatabase();
    const key = "planted-0123456789-abcdefghij-key";
    const main = startMain({
      environment: {
        DATABASE_URL: database.url,
        HOST: "0.0.0.0",
        CYRNEL_API_KEY: key,
        CRIPPLED: calls,
      },
      nodeFlags: ["--import", join(import.meta.dirname, "jail/cripple.ts"), ...flags],
    });
    try {
      const { port } = new URL(await main.listening());
      const ask = async (path: string) =>
        fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${key}` } });
      const ready = await ask("/health/ready");
      expect(ready.status).toBe(503);
      const { failing } = (await ready.json()) as { failing: { check: string; message: string }[] };
      const environment = await ask("/environment");
      expect(environment.status).toBe(503);
      const { error, code } = (await environment.json()) as { error: string; code: string };
      expect(code).toBe("no_environment");
      for (const text of [failing.find(({ check }) => check === "environment")?.message, error]) {
        expect(text).toMatch(/typescript-process: Isolation level strict needs /);
        expect(text).toMatch(layer);
        expect(text).toContain("To have it: ");
        expect(text).not.toMatch(/npm|development/);
      }
    } finally {
      main.child.kill("SIGTERM");
      await main.ended();
      await database.drop();
    }
  });

  it.each(["typescript-process", "typescript-ivm"])(
    "leaves no spinning script of %s behind when the server is killed",
    async (id) => {
      const database = await createTestDatabase();
      const main = startMain({ environment: { DATABASE_URL: database.url } });
      try {
        const url = await main.listening();
        const post = (path: string, body: object) =>
          fetch(url + path, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(body),
          });
        expect((await post(`/modules/${id}/enabled`, { enabled: true })).ok).toBe(true);
        expect((await post("/processes", { code: "for (;;);", options: { timeout: null } })).status).toBe(
          201,
        );
        const pid = main.child.pid as number;
        await expect
          .poll(() => listChildrenOf(pid).some(({ ticks }) => ticks > 40), { timeout: 20_000 })
          .toBe(true);
        const children = listChildrenOf(pid);
        const killedAt = performance.now();
        main.child.kill("SIGKILL");
        await main.ended();
        while (
          children.some(({ pid: child }) => isAlive(child)) &&
          performance.now() - killedAt < GONE_WITHIN_MS + GRACE_MS
        )
          await delay(5);
        const goneAfterMs = Math.round(performance.now() - killedAt);
        console.log(`${id}: ${children.length} children gone ${goneAfterMs} ms after the server was killed`);
        expect(children.filter(({ pid: child }) => isAlive(child))).toEqual([]);
      } finally {
        main.child.kill("SIGKILL");
        await main.ended();
        await database.drop();
      }
    },
  );
});
