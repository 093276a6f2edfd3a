/**
 * Observes what the kernel refuses: once per activation, children in the same jail attack the server. Their reports
 * count only where the server can verify them, or where a lie would make the jail look worse.
 */
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { CHILD_FLAGS } from "../child/flags.ts";
import type { Jail } from "../jail/jail.ts";
import { isDataLimited } from "../jail/rlimits.ts";
import { DIST } from "../paths.ts";
import { createMonitor } from "../process/monitor.ts";
import type { ProcessExit } from "../process/start-process.ts";
import { createTail } from "../process/tail.ts";
import { openCanary } from "../process/temporary.ts";
import { isMemoryLimited, isRefusal, type NamedAttack, planAttacks, TEST_MEMORY_BYTES } from "./attacks.ts";
import type { SelfTestAnswers, SelfTestOrders } from "./self-test-orders.ts";

export interface Finding {
  /** True if everything tried was refused. */
  holds: boolean;
  /** Refused and permitted attempts, as part of a sentence. */
  observed: string;
}

export interface SelfTest {
  birth: Finding;
  locked: Finding;
  limited: LimitFinding;
}

/**
 * `memoryBy` says what enforces the memory limit. Level strict requires the kernel; standard also accepts the
 * monitor.
 */
export interface LimitFinding extends Finding {
  memoryBy: "kernel" | "monitor";
}

export interface SelfTestOptions {
  jail: Jail;
  nodePath: string;
  cwd: string;
}

/** Command for operators, relative to the server's folder, also in the image. */
export const DOCTOR = "node dist/server/isolation-doctor.js";

export const SELF_TEST = join(DIST, "self-test.js");

const MAX_TEST_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;
/**
 * Far above what the attacks use: this only shows that the kernel accepts a limit. Another child reaches its limit.
 */
const TEST_CPU_MS = 60_000;
/** Phases before a child waits for its limits. */
const PHASES_BEFORE_LIMITS = 2;

/** Takes as long as starting a child. Rejects with a sentence if a child does not finish. */
export async function runSelfTest(options: SelfTestOptions): Promise<SelfTest> {
  const { jail } = options;
  await using undo = new AsyncDisposableStack();
  const { path: file } = undo.use(await openCanary());
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
  const { trace, ...attacks } = planAttacks(architecture, { file, port });
  const plan = { lock: jail.lock, ...attacks, first: null, spin: false, hoardBytes: 0 };
  // A child can try only one attack that kills it.
  const [tracer, attacker, spinner] = await Promise.all([
    runChild(options, { ...plan, first: trace }, () => {}),
    runChild(options, plan, (pid) => jail.limit(pid, { cpuMs: TEST_CPU_MS, memoryBytes: TEST_MEMORY_BYTES })),
    runChild(options, { ...plan, birth: [], locked: [], spin: true }, (pid) =>
      jail.limitCpu(pid, Number.NEGATIVE_INFINITY, "for good"),
    ),
  ]);
  const [birth, locked, limited, last] = attacker.phases;
  if (birth === undefined || locked === undefined || limited === undefined) throw notThrough(attacker);
  if (spinner.phases.length < PHASES_BEFORE_LIMITS) throw notThrough(spinner);
  const isUnreached = reached === 0;
  return {
    birth: judge(
      attacks.birth,
      birth,
      isUnreached,
      judgeKill("trace a process", tracer.exit, tracer.phases[0]),
    ),
    locked: judge(attacks.locked, locked, isUnreached, judgeKill("start a program", attacker.exit, last)),
    limited: judgeLimits(
      limited,
      spinner.exit,
      isMemoryLimited(limited) || (await isHoarderSeen(options, plan)),
    ),
  };
}

/**
 * For kernels that accept a memory limit without enforcing it (gVisor). Returns whether the monitor detects a child
 * that exceeds it.
 */
async function isHoarderSeen(options: SelfTestOptions, plan: SelfTestOrders): Promise<boolean> {
  using monitor = createMonitor();
  let isLimited = false;
  let isSeen = false;
  const orders = { ...plan, birth: [], locked: [], hoardBytes: TEST_MEMORY_BYTES * 4 };
  await runChild(options, orders, (pid, kill) => {
    options.jail.limit(pid, { cpuMs: TEST_CPU_MS, memoryBytes: TEST_MEMORY_BYTES });
    isLimited = isDataLimited(pid);
    monitor.watch(pid, { cpuMs: null, memoryBytes: TEST_MEMORY_BYTES }, (exceeded) => {
      isSeen = exceeded === "memory";
      kill();
    });
  });
  return isLimited && isSeen;
}

interface Played {
  phases: SelfTestAnswers[];
  exit: ProcessExit;
  engineText: string;
}

/** Runs one child from start to end; calls `limit` when it waits for its limits. */
async function runChild(
  { jail, nodePath, cwd }: SelfTestOptions,
  orders: SelfTestOrders,
  limit: (pid: number, kill: () => void) => void,
): Promise<Played> {
  await using undo = new AsyncDisposableStack();
  const child = await jail.start({
    path: nodePath,
    args: [...CHILD_FLAGS, ...jail.nodeFlags, "--max-old-space-size=32", SELF_TEST, JSON.stringify(orders)],
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
      if (phases.length !== PHASES_BEFORE_LIMITS) continue;
      limit(child.pid, child.kill);
      child.stdin.write("\n");
    }
  }
  return { phases, exit: await child.exited, engineText: (await engineText.read(250)).trim() };
}

function notThrough({ engineText, exit }: Played): Error {
  return new Error(`the self-test did not get through: ${engineText || `it ended ${describeExit(exit)}`}`);
}

function describeExit({ code, signal }: ProcessExit): string {
  return signal === null ? `with exit code ${code}` : `by ${signal}`;
}

/** `more` is an additional finding. */
export function judge(
  attacks: readonly NamedAttack[],
  answers: SelfTestAnswers,
  isServerUnreached: boolean,
  more?: Finding,
): Finding {
  const refused: string[] = [];
  const allowed: string[] = [];
  attacks.forEach(({ name }, index) => {
    (isRefusal(answers[index]) ? refused : allowed).push(name);
  });
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

/** Judges an attack that must kill the child: a survivor would have replied. */
function judgeKill(attack: string, exit: ProcessExit, answer: SelfTestAnswers | undefined): Finding {
  const holds = exit.signal === "SIGSYS" && answer === undefined;
  return {
    holds,
    observed: holds
      ? `ended with SIGSYS when it tried to ${attack}`
      : `not ended with SIGSYS when it tried to ${attack} (it ended ${describeExit(exit)})`,
  };
}

const BEYOND_LIMIT = {
  kernel: "a child was refused memory beyond its limit by the kernel",
  monitor:
    "the kernel takes a limit of memory (RLIMIT_DATA) and does not keep to it; a child that went beyond was seen by the monitor, which ends it",
};

function judgeLimits(answers: SelfTestAnswers, spinnerExit: ProcessExit, hasMemory: boolean): LimitFinding {
  const memoryBy = isMemoryLimited(answers) ? "kernel" : "monitor";
  const hasCpu = spinnerExit.signal === "SIGXCPU";
  return {
    memoryBy,
    holds: hasMemory && hasCpu,
    observed: [
      hasMemory
        ? BEYOND_LIMIT[memoryBy]
        : `a child could allocate beyond its limit, or not below it (${JSON.stringify(answers)})`,
      hasCpu
        ? "another, past its limit of CPU time, was ended by SIGXCPU"
        : `another went on computing past its limit of CPU time (it ended ${describeExit(spinnerExit)})`,
      "limits of files, core dumps and descriptors were accepted by it",
    ].join("; "),
  };
}
