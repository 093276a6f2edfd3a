/**
 * Performs every attack under no jail, Landlock alone, the birth jail and the full jail, and prints the outcomes as JSON.
 * A process of its own, so that it can be another user: `node driver.ts <attacker bundle> <work directory>`.
 */

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openKernel } from "#runner/jail/kernel/syscalls.ts";
import { landlockAbi } from "#runner/jail/landlock.ts";
import { inspectNode, listRuntimeFiles } from "#runner/jail/runtime-files.ts";
import { compilePolicy } from "#runner/jail/seccomp/compile.ts";
import { birthPolicy, selfLockPolicy } from "#runner/jail/seccomp/policies.ts";
import { type Spawner, startSpawner } from "#runner/jail/spawner/spawner.ts";
import type { Targets } from "./attack.ts";
import { ATTACKS, LANDLOCK_ALONE } from "./attacks.ts";

export type Mode = "control" | "landlock" | "birth" | "locked";
/** The kernel's answer, or how the attacker ended before it could answer. */
export type Outcome = number | string;
export interface Report {
  uid: number;
  outcomes: Record<string, Record<Mode, Outcome>>;
  /** Of the attackers, by field of /proc/<pid>/status, as seen from outside. */
  capabilities: Record<Mode, Record<string, string>>;
  /** What reached the listeners while only jailed attackers ran. */
  reachedWhileJailed: number;
}

const PR_SET_NO_NEW_PRIVS = 38;
const [bundle = "", directory = ""] = process.argv.slice(2);
const kernel = openKernel();
kernel.prctl(PR_SET_NO_NEW_PRIVS, 1);
const own = join(directory, `as-${process.getuid?.()}`);
mkdirSync(own);
const canary = join(own, "canary");
writeFileSync(canary, "secret");

let reached = 0;
async function listen(server: Server, where: number | string): Promise<Server> {
  server.on("connection", (socket) => {
    reached += 1;
    socket.destroy();
  });
  if (typeof where === "number") server.listen(where, "127.0.0.1");
  else server.listen(where);
  await once(server, "listening");
  return server;
}
const tcp = await listen(createServer(), 0);
const unixPath = join(own, "socket");
const abstractName = `cyrnel-canary-${process.pid}`;
const servers = [
  tcp,
  await listen(createServer(), unixPath),
  await listen(createServer(), `\0${abstractName}`),
];
const udp = createSocket("udp4", () => {
  reached += 1;
});
udp.bind(0, "127.0.0.1");
await once(udp, "listening");

const architecture = process.arch === "arm64" ? "aarch64" : "x86_64";
const abi = landlockAbi(kernel);
const lock = compilePolicy(selfLockPolicy({ paranoid: false }), architecture);
const lockWord = JSON.stringify({
  parentPid: process.pid,
  landlockAbi: abi,
  filter: Buffer.from(lock.bytes).toString("base64"),
  pidOffsets: lock.pidOffsets,
});
const files = await listRuntimeFiles(await inspectNode(process.execPath), [bundle]);
await using open = await startSpawner({
  ...files,
  landlockAbi: 0,
  filter: null,
  keepsCapabilities: true,
});
await using landlocked = await startSpawner({ ...files, landlockAbi: abi, filter: null });
await using jailed = await startSpawner({
  ...files,
  landlockAbi: abi,
  filter: compilePolicy(birthPolicy(process.pid), architecture),
});
const FLAGS = ["--no-warnings", "--v8-pool-size=0", "--max-old-space-size=64", "--openssl-config=/dev/null"];

async function readCapabilities(spawner: Spawner, word: string): Promise<Record<string, string>> {
  const { child } = await startAttacker(spawner, word, null);
  const status = readFileSync(`/proc/${child.pid}/status`, "latin1");
  child.kill();
  return Object.fromEntries(
    [...status.matchAll(/^(Cap\w+):\s*(\w+)$/gm)].map(([, name = "", set = ""]) => [name, set]),
  );
}

async function startAttacker(spawner: Spawner, word: string, targets: Targets | null) {
  const child = await spawner.start({
    path: process.execPath,
    args: [...FLAGS, bundle, word, JSON.stringify(targets)],
    cwd: own,
  });
  child.stderr.resume();
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ready = await lines.next();
  if (ready.value !== "ready")
    throw new Error(`the attacker did not start: ${JSON.stringify(await child.exited)}`);
  return { child, lines };
}

/** One attacker performs attack after attack; where one ends it, another takes its place. */
async function attack(
  spawner: Spawner,
  word: string,
  names: readonly string[] = Object.keys(ATTACKS),
): Promise<Record<string, Outcome>> {
  const outcomes: Record<string, Outcome> = {};
  const sibling = await spawner.start({
    path: process.execPath,
    args: [...FLAGS, bundle],

    cwd: own,
  });
  sibling.stderr.resume();
  const address = tcp.address();
  const targets: Targets = {
    canary,
    directory: own,
    tcpPort: typeof address === "object" && address ? address.port : 0,
    udpPort: udp.address().port,
    unixPath,
    abstractName,
    parentPid: process.pid,
    spawnerThread: spawner.threadId,
    siblingPid: sibling.pid,
    program: "/bin/true",
  };
  let attacker: Awaited<ReturnType<typeof startAttacker>> | null = null;
  for (const name of names) {
    const only = ATTACKS[name]?.only;
    if (only !== undefined && only !== architecture) continue;
    attacker ??= await startAttacker(spawner, word, targets);
    attacker.child.stdin.write(`${name}\n`);
    const { value, done } = await attacker.lines.next();
    if (!done) {
      outcomes[name] = Number(value);
      // What a control is allowed to do to itself must not help or hinder the next one.
      if (spawner !== open) continue;
      attacker.child.kill();
      await attacker.child.exited;
    } else {
      const { code, signal } = await attacker.child.exited;
      outcomes[name] = signal ?? `exit ${code}`;
    }
    attacker = null;
  }
  attacker?.child.kill();
  sibling.kill();
  return outcomes;
}

const landlock = await attack(landlocked, "", Object.keys(LANDLOCK_ALONE));
reached = 0;
const birth = await attack(jailed, "");
const locked = await attack(jailed, lockWord);
const reachedWhileJailed = reached;
const control = await attack(open, "");
const report: Report = {
  uid: process.getuid?.() ?? -1,
  capabilities: {
    control: await readCapabilities(open, ""),
    landlock: await readCapabilities(landlocked, ""),
    birth: await readCapabilities(jailed, ""),
    locked: await readCapabilities(jailed, lockWord),
  },
  outcomes: Object.fromEntries(
    Object.keys(control).map((name) => [
      name,
      {
        control: control[name] ?? "",
        landlock: landlock[name] ?? "",
        birth: birth[name] ?? "",
        locked: locked[name] ?? "",
      },
    ]),
  ),
  reachedWhileJailed,
};
process.stdout.write(JSON.stringify(report));
for (const server of servers) server.close();
udp.close();
