/**
 * Starts children inside the jail through a jailed thread. The server creates the pipes, keeps one end of each and
 * reaps the children, so no output and no exit status passes through that thread. Knows no protocol.
 */
import { closeSync } from "node:fs";
import { access } from "node:fs/promises";
import { Socket } from "node:net";
import { Worker } from "node:worker_threads";
import {
  type BirthGroup,
  endFirstWithoutMemory,
  type Program,
  type StartedProcess,
} from "../../process/start-process.ts";
import { CHILD_ENVIRONMENT } from "../../process/verify-child.ts";
import { CLOSE_RANGE_CLOEXEC, NR_CLOSE_RANGE, NR_PIPE2, O_CLOEXEC } from "../kernel/kernel-headers.ts";
import { openSocketPair, sendDescriptors } from "../kernel/passing.ts";
import { allocate, type Kernel, openKernel } from "../kernel/syscalls.ts";
import type { BirthJail } from "./birth-jail.ts";
import type { ChildDescriptors, ChildExit } from "./native-spawn.ts";
import { watchChildren } from "./reaping.ts";
import type { SpawnerEvent, StartOrder } from "./spawner-thread.ts";

export interface JailedProcess extends StartedProcess {
  readonly exited: Promise<ChildExit>;
}

export interface ZygoteProcess extends JailedProcess {
  /**
   * Orders one fork, born in `group`, with its own pipes. Its parent is the server, so it survives the zygote.
   * `readPid` returns the zygote's report. Rejects if the zygote does not accept the order, or if `readPid` rejects.
   */
  fork(group: BirthGroup | null, readPid: () => Promise<number>): Promise<JailedProcess>;
}

export interface Spawner extends AsyncDisposable {
  /** Kernel thread id, for verification from outside. */
  readonly threadId: number;
  readonly hasEnded: boolean;
  /** Rejects if the program cannot be started or the spawner has ended. */
  start(program: Program): Promise<JailedProcess>;
  /** Starts a process that forks children on order: see jail/fork.ts. */
  startZygote(program: Program): Promise<ZygoteProcess>;
  /** Ends the thread and every child it started, and waits until they are reaped. */
  [Symbol.asyncDispose](): Promise<void>;
}

interface Waiting {
  pid: PromiseWithResolvers<number>;
  over: PromiseWithResolvers<void>;
  isLate: boolean;
}

/** Maximum time from order to pid. Starting is one system call; only a hanging file system takes longer. */
const MAX_START_MS = 10_000;

interface BootedThread {
  worker: Worker;
  ended: Promise<Error>;
}

let bootedAhead: BootedThread | null = null;

/** Starts the next spawner's thread while the rest of a program loads; it does not keep the program alive. */
export function bootSpawnerAhead(): void {
  if (bootedAhead !== null) return;
  bootedAhead = bootThread();
  bootedAhead.worker.unref();
}

function bootThread(): BootedThread {
  const worker = new Worker(new URL("./spawner-thread.ts", import.meta.url), {
    env: {},
    execArgv: ["--no-warnings"],
    resourceLimits: { maxOldGenerationSizeMb: 64 },
  });
  const ended = new Promise<Error>((resolve) => {
    worker.on("error", resolve);
    worker.on("exit", () => resolve(new Error("the spawner has ended")));
  });
  return { worker, ended };
}

/** Jails a fresh thread and waits for it. Rejects with the reason if the kernel refuses a part. */
export async function startSpawner(jail: BirthJail): Promise<Spawner> {
  const { worker, ended: threadEnded } = bootedAhead ?? bootThread();
  bootedAhead = null;
  worker.ref();
  // The first thread to use libuv's thread pool creates the pool: if that were the jailed one, it would jail the
  // server's own file access.
  await access("/");
  const kernel = openKernel();
  const waiting = new Map<number, Waiting>();
  const running = watchChildren(kernel);
  const jailed = Promise.withResolvers<number>();
  let ended: Error | null = null;
  let lastId = 0;

  function settle(id: number): Waiting | null {
    const order = waiting.get(id) ?? null;
    waiting.delete(id);
    order?.over.resolve();
    return order;
  }

  function end(reason: Error): void {
    ended ??= reason;
    jailed.reject(ended);
    for (const id of waiting.keys()) settle(id)?.pid.reject(ended);
    // Locked children already received their parent-death signal; this kills those that were not locked yet.
    running.killAll();
  }

  worker.on("message", (message: SpawnerEvent) => {
    switch (message.event) {
      case "jailed":
        jailed.resolve(message.threadId);
        break;
      case "refused":
        jailed.reject(new Error(`the spawner cannot be jailed: ${message.reason}`));
        break;
      case "started": {
        const order = settle(message.id);
        if (order !== null && !order.isLate) order.pid.resolve(message.pid);
        else running.watch(message.pid).kill();
        break;
      }
      case "failed":
        settle(message.id)?.pid.reject(new Error(`the child cannot be started: ${message.reason}`));
        break;
    }
  });
  void threadEnded.then(end);
  worker.postMessage(jail);

  /**
   * Returns the started program's pid. `over` resolves when the thread is done with the order, which may be long
   * after the caller gave up on the pid.
   */
  function send(order: StartOrder): { pid: Promise<number>; over: Promise<void> } {
    const awaited: Waiting = {
      pid: Promise.withResolvers(),
      over: Promise.withResolvers(),
      isLate: false,
    };
    waiting.set(order.id, awaited);
    const timer = setTimeout(() => {
      awaited.isLate = true;
      awaited.pid.reject(new Error(`the child was not started within ${MAX_START_MS} ms`));
    }, MAX_START_MS);
    // Descriptors that a library opened without close-on-exec must not reach a child.
    kernel.syscall(NR_CLOSE_RANGE, 3, 0xffff_ffff, CLOSE_RANGE_CLOEXEC);
    worker.postMessage(order);
    return { pid: awaited.pid.promise.finally(() => clearTimeout(timer)), over: awaited.over.promise };
  }

  async function start(program: Program): Promise<JailedProcess> {
    if (ended) throw ended;
    const pipes = makePipes(kernel);
    lastId += 1;
    const order = send({
      id: lastId,
      program: { ...program, env: CHILD_ENVIRONMENT },
      descriptors:
        program.stdin === undefined
          ? pipes.childEnds
          : [program.stdin, pipes.childEnds[1], pipes.childEnds[2]],
    });
    const pid = await order.pid.catch((error) => {
      // Closed only when the thread is done with them: after closing, their numbers may belong to other files.
      void order.over.then(() => pipes[Symbol.dispose]());
      throw error;
    });
    // The program is running by now and shares no memory with the server; its forks inherit the score.
    endFirstWithoutMemory(pid);
    using _ = pipes;
    return watch(pid, pipes);
  }

  function watch(pid: number, pipes: Pipes): JailedProcess {
    const streams = pipes.takeServerEnds();
    const watched = running.watch(pid);
    if (ended) watched.kill();
    return { ...streams, pid, exited: watched.exited, kill: watched.kill };
  }

  const threadId = await jailed.promise.catch(async (error) => {
    running.stop();
    await worker.terminate();
    throw error;
  });
  return {
    threadId,
    get hasEnded() {
      return ended !== null;
    },
    start,
    async startZygote(program) {
      const [orders, theirs] = openSocketPair(kernel);
      const zygote = await start({ ...program, stdin: theirs })
        .finally(() => closeSync(theirs))
        .catch((error) => {
          closeSync(orders);
          throw error;
        });
      let hasEnded = false;
      void zygote.exited.then(() => {
        hasEnded = true;
        closeSync(orders);
        running.reapOrphans(zygote.pid);
      });
      return {
        ...zygote,
        async fork(group, readPid) {
          if (hasEnded) throw new Error("the zygote has ended");
          using pipes = makePipes(kernel);
          const { enter = [], leave = [] } = group ?? {};
          const failure = sendDescriptors(
            kernel,
            orders,
            [enter.length],
            [...pipes.childEnds, ...enter, ...leave],
          );
          if (failure !== 0) throw new Error(`sendmsg failed with errno ${-failure}`);
          return watch(await readPid(), pipes);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
      await running.allReaped();
      running.stop();
    },
  };
}

interface Pipes extends Disposable {
  childEnds: ChildDescriptors;
  /** Returns the server's ends as streams; otherwise they are closed with the rest. */
  takeServerEnds(): { stdin: Socket; stdout: Socket; stderr: Socket };
}

/**
 * Creates a child's three pipes, close-on-exec. Node would create socket pairs, but a child must have no socket.
 * Throws when the system has no descriptors left.
 */
function makePipes(kernel: Kernel): Pipes {
  const open: number[] = [];
  function pipe(): [number, number] {
    const ends = allocate(8);
    const result = kernel.syscall(NR_PIPE2, ends, O_CLOEXEC);
    if (result < 0) throw new Error(`pipe2 failed with errno ${-result}`);
    const view = new DataView(ends.buffer);
    const pair: [number, number] = [view.getInt32(0, true), view.getInt32(4, true)];
    open.push(...pair);
    return pair;
  }
  function closeAll(): void {
    for (const fd of open.splice(0)) closeSync(fd);
  }
  try {
    const [stdinRead, stdinWrite] = pipe();
    const [stdoutRead, stdoutWrite] = pipe();
    const [stderrRead, stderrWrite] = pipe();
    return {
      childEnds: [stdinRead, stdoutWrite, stderrWrite],
      takeServerEnds() {
        open.splice(0, open.length, stdinRead, stdoutWrite, stderrWrite);
        return {
          stdin: new Socket({ fd: stdinWrite, readable: false, writable: true }),
          stdout: new Socket({ fd: stdoutRead, readable: true, writable: false }),
          stderr: new Socket({ fd: stderrRead, readable: true, writable: false }),
        };
      },
      [Symbol.dispose]: closeAll,
    };
  } catch (error) {
    closeAll();
    throw error;
  }
}
