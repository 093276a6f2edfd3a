/**
 * What the jail of the kernel refuses, observed: a child of the same jail attacks the server, once per activation. What it
 * reports counts only where the server can see it as well, or where a lie would only speak against the jail.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHILD_FLAGS } from "../child/flags.ts";
import { DIST } from "../dist-folder.ts";
import type { Jail } from "../jail/jail.ts";
import { createTail } from "../tail.ts";
import { isLimited, isRefusal, planAttacks, TEST_MEMORY_BYTES } from "./attacks.ts";
import type { SelfTestAnswers } from "./self-test-child.ts";

/** What was seen of one phase. */
export interface Finding {
  /** Everything that was tried was refused. */
  holds: boolean;
  /** What was refused, and what was not, as part of a sentence. */
  observed: string;
}

export interface SelfTest {
  birth: Finding;
  locked: Finding;
  limited: Finding;
}

export interface SelfTestOptions {
  jail: Jail;
  nodePath: string;
  /** An empty directory. */
  cwd: string;
}

const MAX_TEST_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;
/** Far more than the test uses: that CPU time is limited is read back, not waited for. */
const TEST_CPU_MS = 60_000;

/** Runs the test; takes as long as a child's start. Rejects with a sentence when the child does not get through it. */
export async function runSelfTest({ jail, nodePath, cwd }: SelfTestOptions): Promise<SelfTest> {
  await using undo = new AsyncDisposableStack();
  const file = join(tmpdir(), `cyrnel-canary-${randomUUID()}`);
  await writeFile(file, "canary", { flag: "wx" });
  undo.defer(() => rm(file, { force: true }));
  await chmod(file, 0o500);
  let reached = 0;
  const server = createServer((socket) => {
    reached += 1;
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  undo.defer(() => void server.close());
  const { port } = server.address() as { port: number };

  const { architecture } = jail.probe;
  if (architecture === null) throw new Error(`there are no system call numbers for ${process.arch}`);
  const orders = { lock: jail.lock, ...planAttacks(architecture, { file, port }) };
  const child = await jail.start({
    path: nodePath,
    args: [
      ...CHILD_FLAGS,
      ...jail.nodeFlags,
      "--max-old-space-size=32",
      join(DIST, "self-test.js"),
      JSON.stringify(orders),
    ],
    cwd,
  });
  undo.defer(async () => {
    child.kill();
    await child.exited;
  });
  const engineText = createTail(child.stderr, 1000, MAX_ANSWER_BYTES);
  child.stdin.on("error", () => {});
  const timer = setTimeout(() => child.kill(), MAX_TEST_MS);
  undo.defer(() => clearTimeout(timer));

  const phases: SelfTestAnswers[] = [];
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.length > MAX_ANSWER_BYTES) break;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      phases.push(JSON.parse(text.slice(0, end)) as SelfTestAnswers);
      text = text.slice(end + 1);
      if (phases.length !== 2) continue;
      jail.limit(child.pid, { cpuMs: TEST_CPU_MS, memoryBytes: TEST_MEMORY_BYTES });
      child.stdin.write("\n");
    }
  }
  const [birth, locked, limited, last] = phases;
  const exit = await child.exited;
  if (birth === undefined || locked === undefined || limited === undefined) {
    const reason =
      (await engineText.read(250)).trim() || `it ended with ${exit.signal ?? `exit code ${exit.code}`}`;
    throw new Error(`the self-test did not get through: ${reason}`);
  }
  const isKilled = exit.signal === "SIGSYS" && last === undefined;
  const unseen = reached === 0;
  return {
    birth: judge(birth, unseen),
    locked: judge(locked, unseen, {
      holds: isKilled,
      observed: isKilled
        ? "ended with SIGSYS when it tried to start a program"
        : `not ended with SIGSYS when it tried to start a program (${exit.signal ?? `exit code ${exit.code}`})`,
    }),
    limited: {
      holds: isLimited(limited),
      observed: isLimited(limited)
        ? "a child was refused memory beyond its limit by the kernel; limits of CPU time, files, core dumps and descriptors were accepted by it"
        : `a child could allocate beyond its limit, or not below it (${JSON.stringify(limited)})`,
    },
  };
}

function judge(answers: SelfTestAnswers, isServerUnreached: boolean, more?: Finding): Finding {
  const names = Object.keys(answers);
  const refused = names.filter((name) => isRefusal(answers[name]));
  const allowed = names.filter((name) => !refused.includes(name));
  const observed = [
    refused.length > 0 ? `a child was not allowed to ${refused.join(", ")}` : "a child was refused nothing",
    ...(allowed.length > 0 ? [`it was allowed to ${allowed.join(", ")}`] : []),
    ...(isServerUnreached ? [] : ["it reached the server's machine"]),
    ...(more === undefined ? [] : [`it was ${more.observed}`]),
  ];
  return {
    holds: allowed.length === 0 && isServerUnreached && more?.holds !== false,
    observed: observed.join("; "),
  };
}
