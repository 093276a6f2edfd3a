/**
 * Zygotes of an environment: prepared processes from which children are forked, at a tenth of the cost of a boot. A
 * zygote is replaced after a number of forks or a time, and at once if one of its forks may have escaped. Without a
 * zygote, children boot.
 */
import { z } from "zod";
import type { ZygoteProcess } from "../jail/spawner/spawner.ts";
import type { Program, StartedProcess, StartProcess } from "../process/start-process.ts";
import { type Child, type ChildLaunch, spawnChild } from "./spawn.ts";

/** Forks share their zygote's memory layout. This limits how many do so, and for how long. */
const MAX_FORKS = 10_000;
const MAX_AGE_MS = 3_600_000;
const MAX_FORK_MS = 10_000;
/**
 * Maximum number of zygotes for other memory limits, in addition to the usual one. The least recently used one is
 * ended.
 */
const MAX_OTHERS = 4;
const OTHER_IDLE_MS = 600_000;
/** After a zygote failed to start or to fork, children boot for this long. The time doubles with each failure. */
const FIRST_RETRY_MS = 10_000;
const MAX_RETRY_MS = 3_600_000;

const answerSchema = z.discriminatedUnion("method", [
  z.object({ method: z.literal("forked"), params: z.strictObject({ pid: z.int().positive() }) }),
  z.object({ method: z.literal("failed"), params: z.strictObject({ reason: z.string() }) }),
]);

export interface ZygoteStatus {
  /** Age of the current zygote since it was ready. */
  ageMs: number;
  forks: number;
  /** Number of replacements since the environment was activated. */
  renewals: number;
  /** Number of replacements because a zygote hung, ended or did not fork. */
  failures: number;
}

export interface Zygotes extends AsyncDisposable {
  readonly start: StartProcess;
  /** Starts the zygote, unless it exists or children boot because of a failure. */
  prepare(): void;
  /** Call if a fork may have been taken over, so that no later child shares its memory layout. */
  replaceSuspected(): void;
  /** Returns null while children boot. */
  status(): ZygoteStatus | null;
}

/** One zygote per memory limit, which is fixed when V8 starts. */
export interface ZygoteClasses extends AsyncDisposable, Pick<Zygotes, "replaceSuspected"> {
  /** Starts a child for runs with this limit. The zygote for an unusual limit starts on first use. */
  start(memoryMb: number): StartProcess;
  /** Returns the sums over all zygotes, with the age of the usual one, or null while usual children boot. */
  status(): ZygoteStatus | null;
}

export interface ZygoteOptions {
  launch: ChildLaunch;
  startZygote(program: Program): Promise<ZygoteProcess>;
  boot: StartProcess;
  onError(error: Error): void;
}

interface Zygote {
  child: Child;
  readySince: number;
  forks: number;
  readonly end: string;
  fork(program: Program): Promise<StartedProcess>;
}

export function keepZygotes(options: ZygoteOptions): Zygotes {
  const { launch, startZygote, boot, onError } = options;
  const closing = new AbortController();
  const ending = new Set<Promise<unknown>>();
  /** Null until needed; resolves with null while children boot. */
  let next: Promise<Zygote | null> | null = null;
  let present: Zygote | null = null;
  let renewals = 0;
  let failures = 0;
  let retryMs = FIRST_RETRY_MS;

  async function open(): Promise<Zygote | null> {
    try {
      const zygote = await openZygote(launch, startZygote, closing.signal);
      present = zygote;
      void zygote.child.exited.then(() => fail(zygote, new Error(zygote.end)));
      return zygote;
    } catch (error) {
      bootMeanwhile(error as Error);
      return null;
    }
  }

  function bootMeanwhile(error: Error): void {
    if (closing.signal.aborted) return;
    next = Promise.resolve(null);
    // Opens the next zygote from a timer. The next run would have to wait for it.
    setTimeout(() => {
      next = closing.signal.aborted ? null : open();
    }, retryMs).unref();
    onError(new Error(`Children boot for ${retryMs / 1000} s, as there is no zygote: ${error.message}`));
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
  }

  /** Reports a failure once, however many starts wait. A zygote that was replaced on purpose has not failed. */
  function fail(zygote: Zygote, { message }: Error): void {
    if (present !== zygote) return;
    failures += 1;
    retire(zygote);
    onError(new Error(`The zygote is replaced: ${message}`));
  }

  function retire(zygote: Zygote): void {
    if (present !== zygote) return;
    present = null;
    next = null;
    renewals += 1;
    zygote.child.kill();
    zygote.child.channel.close();
    const ended = zygote.child.exited.finally(() => ending.delete(ended));
    ending.add(ended);
  }

  return {
    async start(program) {
      // A zygote that has ended or does not respond is replaced only once. Otherwise a start might never finish.
      for (let attempt = 1; ; attempt++) {
        if (present !== null && isWornOut(present)) retire(present);
        next ??= open();
        const zygote = await next;
        if (zygote === null) return boot(program);
        try {
          zygote.forks += 1;
          const child = await zygote.fork(program);
          retryMs = FIRST_RETRY_MS;
          return child;
        } catch (error) {
          fail(zygote, error as Error);
          if (attempt > 1) bootMeanwhile(error as Error);
        }
      }
    },
    prepare() {
      next ??= open();
    },
    replaceSuspected() {
      if (present !== null) retire(present);
    },
    status: () =>
      present && { ageMs: performance.now() - present.readySince, forks: present.forks, renewals, failures },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await next;
      if (present !== null) retire(present);
      await Promise.all(ending);
    },
  };
}

/** `onSuspected` must replace waiting children, which may share the layout of a replaced zygote. */
export function keepZygoteClasses(
  usualMb: number,
  launchFor: (memoryMb: number) => ChildLaunch,
  options: Omit<ZygoteOptions, "launch"> & { onSuspected(): void },
): ZygoteClasses {
  const keep = (memoryMb: number) => keepZygotes({ ...options, launch: launchFor(memoryMb) });
  const usual = keep(usualMb);
  /** Zygotes by memory limit, least recently used first. */
  const others = new Map<number, { zygotes: Zygotes; idle: NodeJS.Timeout }>();
  const ending = new Set<Promise<unknown>>();
  const ended = { renewals: 0, failures: 0 };

  function add(memoryMb: number) {
    const [oldest] = others.keys();
    if (oldest !== undefined && others.size >= MAX_OTHERS) end(oldest);
    return { zygotes: keep(memoryMb), idle: setTimeout(end, OTHER_IDLE_MS, memoryMb).unref() };
  }

  function end(memoryMb: number): void {
    const other = others.get(memoryMb);
    if (other === undefined) return;
    others.delete(memoryMb);
    clearTimeout(other.idle);
    const status = other.zygotes.status();
    ended.renewals += status?.renewals ?? 0;
    ended.failures += status?.failures ?? 0;
    const closed = Promise.resolve(other.zygotes[Symbol.asyncDispose]()).finally(() => ending.delete(closed));
    ending.add(closed);
  }

  const list = () => [usual, ...[...others.values()].map(({ zygotes }) => zygotes)];
  return {
    start(memoryMb) {
      if (memoryMb === usualMb) return usual.start;
      const isOneStarting = [...others.values()].some(({ zygotes }) => zygotes.status() === null);
      // Only one starts at a time, so runs that all have different limits cost a boot each and rarely a zygote.
      if (isOneStarting && !others.has(memoryMb)) return options.boot;
      const other = others.get(memoryMb) ?? add(memoryMb);
      others.delete(memoryMb);
      others.set(memoryMb, other);
      other.idle.refresh();
      if (other.zygotes.status() !== null) return other.zygotes.start;
      other.zygotes.prepare();
      return options.boot;
    },
    replaceSuspected() {
      for (const zygotes of list()) zygotes.replaceSuspected();
      // Needed even without a zygote, because waiting children may be forks of an earlier one.
      options.onSuspected();
    },
    status() {
      const present = usual.status();
      if (present === null) return null;
      const all = list().flatMap((zygotes) => zygotes.status() ?? []);
      const sum = (of: "forks" | "renewals" | "failures") => all.reduce((total, one) => total + one[of], 0);
      return {
        ageMs: present.ageMs,
        forks: sum("forks"),
        renewals: sum("renewals") + ended.renewals,
        failures: sum("failures") + ended.failures,
      };
    },
    async [Symbol.asyncDispose]() {
      for (const memoryMb of [...others.keys()]) end(memoryMb);
      await Promise.all([usual[Symbol.asyncDispose](), ...ending]);
    },
  };
}

const ENDED = "the zygote has ended";

function isWornOut({ forks, readySince }: Zygote): boolean {
  return forks >= MAX_FORKS || performance.now() - readySince > MAX_AGE_MS;
}

async function openZygote(
  launch: ChildLaunch,
  startZygote: ZygoteOptions["startZygote"],
  signal: AbortSignal,
): Promise<Zygote> {
  const started = Promise.withResolvers<ZygoteProcess>();
  const child = await spawnChild(launch, signal, async (program) => {
    const zygote = await startZygote(program);
    started.resolve(zygote);
    return zygote;
  });
  const zygote = await started.promise;
  const awaited: PromiseWithResolvers<number>[] = [];
  let end: string | null = null;
  const fail = (message: string) => {
    end ??= message;
    for (const answer of awaited.splice(0)) answer.reject(new Error(message));
    child.kill();
  };
  child.channel.attach({
    message({ value }) {
      const answer = answerSchema.safeParse(value).data;
      // Without a reply, the waiting start stays in the list and fails with the others.
      const waiting = answer && awaited.shift();
      if (answer === undefined || waiting === undefined) fail("the zygote said something unexpected");
      else if (answer.method === "forked") waiting.resolve(answer.params.pid);
      else waiting.reject(new Error(answer.params.reason));
    },
    closed: () => fail(ENDED),
  });

  function readPid(): Promise<number> {
    const answer = Promise.withResolvers<number>();
    awaited.push(answer);
    const timer = setTimeout(() => fail(`the zygote did not answer within ${MAX_FORK_MS} ms`), MAX_FORK_MS);
    return answer.promise.finally(() => clearTimeout(timer));
  }

  return {
    child,
    readySince: performance.now(),
    forks: 0,
    get end() {
      return end ?? ENDED;
    },
    fork: ({ group = null }) => zygote.fork(group, readPid),
  };
}
