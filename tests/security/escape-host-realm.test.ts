/**
 * A script that has left its realm: the host's realm of a real child behind the real wall, with layer 0 taken out (host-realm).
 * Layers 1 to 4 alone must hold; in a Node without any layer the same attacks work.
 */
import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createProcessEnvironment } from "#modules/typescript-process/environment.ts";
import { type Bench, openBench } from "../contract/bench.ts";
import { buildHostRealmChild } from "./host-realm/build.ts";
import { findZygote, listProcesses, listZygotes, readFirstAddress } from "./host-realm/forks.ts";
import { HOST_PROBES, type HostProbe, type Targets, toControl, toScript } from "./host-realm/probes.ts";

const MIN_PROBES = 60;
const probes = Object.entries(HOST_PROBES);
const open = new AsyncDisposableStack();
/** By the way the process of a run is made. */
const benches: Partial<Record<string, Bench>> = {};
let targets: Omit<Targets, "zygotePid" | "siblingPid" | "zygoteAddress" | "siblingAddress">;
/** The process of a run that goes on meanwhile. */
let siblingPid: number;
/** Connections and packets that reached what listens beside the server. */
let reached = 0;

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), "cyrnel-host-probes-"));
  open.defer(() => rm(directory, { recursive: true, force: true }));
  const folder = join(directory, "folder");
  await mkdir(folder);
  targets = {
    file: join(directory, "secret"),
    folder,
    database: join(directory, "database"),
    tcpPort: await listen(0),
    udpPort: 0,
    unixPath: join(directory, "socket"),
  };
  await listen(targets.unixPath);
  const udp = createSocket("udp4", () => {
    reached += 1;
  });
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  open.defer(() => void udp.close());
  targets.udpPort = udp.address().port;
  await writeFile(targets.file, "secret");
  const database = new DatabaseSync(targets.database);
  database.exec("create table t (a); insert into t values ('secret')");
  database.close();
  const child = open.use(await buildHostRealmChild());
  const instantiate = () => createProcessEnvironment(child.folder);
  for (const [made, zygote] of [
    ["forked", true],
    ["booted", false],
  ] as const) {
    benches[made] = open.use(
      await openBench({ instantiate, config: { warmPool: { min: 2, max: 3 } }, zygote }),
    );
  }
  siblingPid = await startSibling(benches.forked as Bench);
});
afterAll(() => open.disposeAsync());

async function listen(where: number | string): Promise<number> {
  const server = createServer((socket) => {
    reached += 1;
    socket.destroy();
  });
  if (typeof where === "number") server.listen(where, "127.0.0.1");
  else server.listen(where);
  await once(server, "listening");
  open.defer(() => void server.close());
  const address = server.address();
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

/** The process of a run that takes a name, and then waits for its end. */
async function startSibling(bench: Bench): Promise<number> {
  const code = `host.process.title = "sibling"; for (;;) host.builtin("fs").readSync(0, host.Buffer.alloc(1));`;
  bench.start(code, { timeoutMs: 600_000 });
  for (;;) {
    const found = listProcesses().find(({ parent, name }) => parent === process.pid && name === "sibling");
    if (found !== undefined) return found.pid;
    await sleep(20);
  }
}

/** What there is now: zygotes are replaced after an attack, and later where a busy machine could not start one in time. */
async function aim(): Promise<Targets> {
  await expect.poll(() => listZygotes().length, { timeout: 60_000 }).toBe(1);
  const zygotePid = findZygote();
  return {
    ...targets,
    zygotePid,
    siblingPid,
    zygoteAddress: readFirstAddress(zygotePid),
    siblingAddress: readFirstAddress(siblingPid),
  };
}

function hasLoot(answer: { loot?: unknown } | undefined): boolean {
  const loot = answer?.loot;
  return loot !== undefined && loot !== null && loot !== "" && loot !== false;
}

describe.runIf(process.platform === "linux").each(["forked", "booted"])(
  "a script in the host's realm of a process that was %s",
  (made) => {
    const bench = new Proxy({} as Bench, { get: (_, name) => benches[made]?.[name as keyof Bench] });
    test("is in such a process", () => {
      const forks = bench.module.status?.().zygote?.forks;
      expect(forks === undefined ? "booted" : "forked").toBe(made);
    });

    test.each(probes)("%s", async (_, probe) => {
      const run = await bench.run(toScript(probe, await aim()));
      const seen = { reason: run.error?.reason ?? run.state, loot: hasLoot(run.result), answer: run.result };
      // Refused, or ended for trying.
      expect(["success", "sandbox_violation", "crashed", "timeout"]).toContain(seen.reason);
      expect(seen).toMatchObject({ loot: false });
      expect(reached).toBe(0);
      expect(await readdir(targets.folder)).toEqual([]);
      expect(listProcesses().map(({ pid }) => pid)).toContain(siblingPid);
    });

    test("has whatever Node gives it: the probes reach their mark", async () => {
      const run = await bench.run(
        "return [typeof host.process.kill, typeof host.builtin('fs').readFileSync]",
      );
      expect(run.result).toEqual(["function", "function"]);
    });

    test("cannot put off its limits", async () => {
      const deaf =
        "for (const name of ['SIGTERM', 'SIGXCPU', 'SIGINT', 'SIGHUP']) try { host.process.on(name, () => {}); } catch {}";
      const [cpu, time, memory] = await Promise.all([
        bench.run(`${deaf}; for (;;);`, { cpuMs: 300, timeoutMs: 90_000 }),
        bench.run(`${deaf}; for (;;);`, { timeoutMs: 300 }),
        bench.run(
          `${deaf}; host.builtin("v8").setFlagsFromString("--max-old-space-size=4000"); const held = []; for (;;) held.push(host.Buffer.alloc(4 << 20, 1));`,
          {
            memoryMb: 48,
            timeoutMs: 90_000,
          },
        ),
      ]);
      // A fork has no pipe for signals, so it ends when it asks for one.
      const expected = made === "forked" ? ["crashed", "crashed"] : ["cpu_limit", "timeout"];
      expect([cpu.error?.reason, time.error?.reason]).toEqual(expected);
      // What the kernel refuses is an error in the script, which this one may put into words of its own.
      // It has a limit of its own, so its process is booted either way.
      expect(["memory_limit", "script_error"]).toContain(memory.error?.reason);
      expect(memory.usage.peakMemoryBytes).toBeLessThan(300 * 1024 * 1024);
    }, 120_000);

    test("has limits that nothing it does puts off", async () => {
      const [cpu, time, memory] = await Promise.all([
        bench.run("for (;;);", { cpuMs: 300, timeoutMs: 90_000 }),
        bench.run("for (;;);", { timeoutMs: 300 }),
        bench.run(
          `host.builtin("v8").setFlagsFromString("--max-old-space-size=4000"); const held = []; for (;;) held.push(host.Buffer.alloc(4 << 20, 1));`,
          { timeoutMs: 90_000 },
        ),
      ]);
      expect([cpu.error?.reason, time.error?.reason]).toEqual(["cpu_limit", "timeout"]);
      expect(cpu.usage.cpuMs).toBeLessThan(2_500);
      expect(["memory_limit", "script_error"]).toContain(memory.error?.reason);
      expect(memory.usage.peakMemoryBytes).toBeLessThan(400 * 1024 * 1024);
    }, 120_000);

    test("can write frames of its own, and gets no further with them than the protocol allows", async () => {
      const write = (text: string) =>
        `const text = host.Buffer.from(${JSON.stringify(text)}); const head = host.Buffer.alloc(4); head.writeUInt32BE(text.length); host.builtin("fs").writeSync(1, host.Buffer.concat([head, text])); for (;;);`;
      /** Also waits until there is a zygote again, which a breach can end. */
      async function countRenewals(): Promise<number> {
        const read = () => bench.module.status?.().zygote?.renewals;
        if (made === "forked") await expect.poll(read, { timeout: 60_000 }).toBeDefined();
        return read() ?? 0;
      }
      const counts = [await countRenewals()];
      const forged = await bench.run(
        write(JSON.stringify({ jsonrpc: "2.0", method: "stdout", params: { text: "x", eid: 1 } })),
      );
      expect([forged.state, forged.error?.reason]).toEqual(["failed", "sandbox_violation"]);
      counts.push(await countRenewals());
      const garbage = await bench.run(write("\u0000garbage"));
      expect([garbage.state, garbage.error?.reason]).toEqual(["failed", "sandbox_violation"]);
      counts.push(await countRenewals());
      const endless = await bench.run(
        `host.builtin("fs").writeSync(1, host.Buffer.from([0x7f, 0xff, 0xff, 0xff])); for (;;);`,
      );
      expect([endless.state, endless.error?.reason]).toEqual(["failed", "output_limit"]);
      counts.push(await countRenewals());
      // Each breach of the protocol is a sign of a taken-over fork. What is forked next is of another zygote.
      const [first = 0] = counts;
      expect(counts).toEqual(made === "forked" ? [first, first + 1, first + 2, first + 3] : [0, 0, 0, 0]);
      const ended = await bench.run(
        write(JSON.stringify({ jsonrpc: "2.0", method: "end", params: { ok: true, result: "its own" } })),
      );
      expect([ended.state, ended.result]).toEqual(["success", "its own"]);
    });

    test("can forge calls of files, and names nothing but its own workspace with them", async () => {
      const forge = (calls: [method: string, params: object, attached?: number][]) => `
        const frames = ${JSON.stringify(calls)}.map(([method, params, attached = 0], index) => {
          const text = host.Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: index + 1, method, params }));
          const head = host.Buffer.alloc(attached > 0 ? 8 : 4);
          head.writeUInt32BE(text.length + (attached > 0 ? 2 ** 31 : 0));
          if (attached > 0) head.writeUInt32BE(attached, 4);
          return host.Buffer.concat([head, text, host.Buffer.alloc(attached, "x")]);
        });
        const all = host.Buffer.concat(frames), { writeSync } = host.builtin("fs");
        for (let at = 0; at < all.length; ) { try { at += writeSync(1, all, at); } catch (error) { if (error.code !== "EAGAIN") throw error; } }
        for (;;);`;
      const write = (name: string, more = {}) => ({ name, write: 1, mode: "replace", ...more });
      const outside = [
        targets.file,
        `../../../../../../../..${targets.file}`,
        `/proc/self/root${targets.file}`,
        `${targets.folder}/written`,
        "a\u0000b",
        "__proto__/..",
      ];
      const named = await bench.run(
        forge([
          ...outside.map((name) => ["readFile", { name, offset: 0, length: 1000 }] as [string, object]),
          ...outside.map((name) => ["writeFile", write(name, { text: "x" })] as [string, object]),
          ...outside.map((name) => ["removeFile", { name }] as [string, object]),
          ["writeFile", write("mine", { write: 7, more: true }), 10],
          ["writeFile", write("other", { write: 7 }), 10],
          ["writeFile", write("mine", { write: 8 }), 10],
        ]),
        { timeoutMs: 3_000 },
      );
      expect([named.state, Object.keys(named.artifacts)]).toEqual(["timeout", ["mine"]]);
      expect(String(named.artifacts.mine)).toBe("x".repeat(10));
      expect(await readdir(targets.folder)).toEqual([]);
      expect(await readFile(targets.file, "utf8")).toBe("secret");

      const broken: [string, object, number?][][] = [
        [["readFile", { name: "a", offset: -1, length: 10 }]],
        [["readFile", { name: "a", offset: 0, length: 262_145 }]],
        [["readFile", { name: "a", offset: 0, length: 10, eid: 1 }]],
        [["readFile", { name: "a", offset: 0, length: 10 }, 10]],
        [["writeFile", write("a", { text: "x" }), 10]],
        [["writeFile", write("a", { write: 0 }), 10]],
        [["writeFile", write("a", { mode: "wx" }), 10]],
        [["writeFile", write("a"), 262_145]],
        [["writeFile", write("n".repeat(1001)), 1]],
      ];
      for (const calls of broken) {
        const run = await bench.run(forge(calls));
        expect([run.state, run.artifacts, calls[0]?.[1]]).toEqual(["failed", {}, calls[0]?.[1]]);
        expect(["sandbox_violation", "output_limit"]).toContain(run.error?.reason);
      }
    }, 120_000);

    test("that writes into the pipes of its own event loop harms itself at most", async () => {
      const run = await bench.run(
        `const { fstatSync, writeSync } = host.builtin("fs"); for (let fd = 3; fd < 64; fd++) { try { if (fstatSync(fd).isFIFO()) writeSync(fd, host.Buffer.alloc(16, 0x41)); } catch {} } await new Promise((resolve) => host.setTimeout(resolve, 50)); return 1;`,
        { timeoutMs: 5_000 },
      );
      expect(["success", "failed", "timeout"]).toContain(run.state);
      expect((await bench.run("return 1")).result).toBe(1);
    });
  },
);

describe("in a Node without any layer", () => {
  const controlled = probes.filter(([, { hasNoControl }]) => hasNoControl !== true);

  test(`there are at least ${MIN_PROBES} probes, most of them with a control`, () => {
    console.log(`${probes.length} probes in the host's realm, ${controlled.length} with a control`);
    expect(probes.length).toBeGreaterThanOrEqual(MIN_PROBES);
    expect(controlled.length).toBeGreaterThanOrEqual(MIN_PROBES - 5);
  });

  test.each(controlled)("%s gets its loot", async (_, probe: HostProbe) => {
    const folder = await mkdtemp(join(targets.folder, "../control-"));
    try {
      const program = toControl(probe, { ...(await aim()), folder });
      const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", "-e", program]);
      expect({ answer: stdout, loot: hasLoot(JSON.parse(stdout)) }).toMatchObject({ loot: true });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
