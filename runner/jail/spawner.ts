/**
 * Starts children that are born inside the jail, through a thread that is in it. The server makes the pipes, keeps one end
 * of each and reaps the children, so neither a byte nor an exit passes through that thread. Knows nothing of protocols.
 */
import { closeSync } from "node:fs";
import { access } from "node:fs/promises";
import { Socket } from "node:net";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Program, StartedProcess } from "../start-process.ts";
import { CHILD_ENVIRONMENT } from "../verify-child.ts";
import { CLOSE_RANGE_CLOEXEC, NR_CLOSE_RANGE, NR_PIPE2, O_CLOEXEC } from "./kernel-headers.ts";
import { type ChildDescriptors, type ChildExit, reap } from "./native-spawn.ts";
import type { BirthJail, SpawnerEvent, StartOrder } from "./spawner-thread.ts";
import { allocate, type Kernel, openKernel } from "./syscalls.ts";

/** A started child, the server's ends of its pipes, and at its end what it used. */
export interface JailedProcess extends StartedProcess {
  readonly exited: Promise<ChildExit>;
}

export interface Spawner extends AsyncDisposable {
  /** Kernel thread id, for verification from outside. */
  threadId: number;
  /** The thread is gone and starts nothing any more. */
  readonly hasEnded: boolean;
  /** Starts a child. Rejects when the program cannot be started or the thread has ended. */
  start(program: Program): Promise<JailedProcess>;
  /** Ends the thread and every child it started, and waits until they are reaped. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Beside this file, or beside the bundle this file is in. */
const THREAD_FILE = `./spawner-thread${extname(import.meta.url)}`;
/** SIGCHLD tells that a child has ended; should one be missed, it is found this much later. */
const SLOW_POLL_MS = 500;
/** From the order to the pid. Starting is one system call; only a file system that hangs takes longer. */
const MAX_START_MS = 10_000;

/** Starts the thread, which does nothing before it is told its jail. */
export function startThread(): Worker {
  return new Worker(new URL(THREAD_FILE, import.meta.url), {
    env: {},
    execArgv: ["--no-warnings"],
    resourceLimits: { maxOldGenerationSizeMb: 64 },
  });
}

/** Puts a fresh thread into the jail and waits until it is there. Rejects with the reason when the kernel refuses a part. */
export async function startSpawner(jail: BirthJail, worker: Worker = startThread()): Promise<Spawner> {
  // libuv's thread pool is made by the first thread that uses it: were that the jailed one, the server's own file
  // access would be jailed with it.
  await access("/");
  const kernel = openKernel();
  const waiting = new Map<number, PromiseWithResolvers<number>>();
  const running = new Set<RunningChild>();
  const jailed = Promise.withResolvers<number>();
  const reapEnded = () => {
    for (const child of running) child.reapIfEnded();
  };
  // libuv watches only the children it started itself.
  process.on("SIGCHLD", reapEnded);
  const slowPoll = setInterval(reapEnded, SLOW_POLL_MS).unref();
  const stopWatching = () => {
    process.off("SIGCHLD", reapEnded);
    clearInterval(slowPoll);
  };
  let ended: Error | null = null;
  let lastId = 0;

  function end(reason: Error): void {
    ended ??= reason;
    jailed.reject(ended);
    for (const order of waiting.values()) order.reject(ended);
    waiting.clear();
    // Their parent-death signal has reached those that were locked; the others had not got that far.
    for (const child of running) child.kill();
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
        const order = waiting.get(message.id);
        waiting.delete(message.id);
        if (order) order.resolve(message.pid);
        else watch(message.pid).kill();
        break;
      }
      case "failed":
        waiting.get(message.id)?.reject(new Error(`the child cannot be started: ${message.reason}`));
        waiting.delete(message.id);
        break;
    }
  });
  worker.on("error", end);
  worker.on("exit", () => end(new Error("the spawner has ended")));
  worker.postMessage(jail);

  function watch(pid: number): RunningChild {
    const child = watchChild(kernel, pid, () => {
      running.delete(child);
      if (running.size === 0) slowPoll.unref();
    });
    running.add(child);
    // As a child of libuv's own would, it keeps the event loop going until it has been reaped.
    slowPoll.ref();
    return child;
  }

  /** The pid of what the order starts. */
  function send(order: StartOrder): Promise<number> {
    const started = Promise.withResolvers<number>();
    waiting.set(order.id, started);
    const timer = setTimeout(() => {
      waiting.delete(order.id);
      started.reject(new Error(`the child was not started within ${MAX_START_MS} ms`));
    }, MAX_START_MS);
    // Whatever a library opened without close-on-exec must not reach a child.
    kernel.syscall(NR_CLOSE_RANGE, 3, 0xffff_ffff, CLOSE_RANGE_CLOEXEC);
    worker.postMessage(order);
    return started.promise.finally(() => clearTimeout(timer));
  }

  async function start(program: Program): Promise<JailedProcess> {
    if (ended) throw ended;
    using pipes = makePipes(kernel);
    lastId += 1;
    const pid = await send({
      id: lastId,
      program: { ...program, env: CHILD_ENVIRONMENT },
      descriptors: pipes.childEnds,
    });
    const [stdin, stdout, stderr] = pipes.takeServerEnds();
    const child = {
      stdin: new Socket({ fd: stdin, readable: false, writable: true }),
      stdout: new Socket({ fd: stdout, readable: true, writable: false }),
      stderr: new Socket({ fd: stderr, readable: true, writable: false }),
    };
    const watched = watch(pid);
    if (ended) watched.kill();
    return { ...child, pid, exited: watched.exited, kill: watched.kill };
  }

  const threadId = await jailed.promise.catch(async (error) => {
    stopWatching();
    await worker.terminate();
    throw error;
  });
  return {
    threadId,
    get hasEnded() {
      return ended !== null;
    },
    start,
    async [Symbol.asyncDispose]() {
      await worker.terminate();
      await Promise.all([...running].map((child) => child.exited));
      stopWatching();
    },
  };
}

interface RunningChild {
  exited: Promise<ChildExit>;
  kill(): void;
  reapIfEnded(): void;
}

function watchChild(kernel: Kernel, pid: number, whenReaped: () => void): RunningChild {
  const { promise: exited, resolve } = Promise.withResolvers<ChildExit>();
  let reaped = false;
  return {
    exited,
    kill() {
      if (reaped) return;
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // Reaped by somebody else: the next look says so.
      }
    },
    reapIfEnded() {
      if (reaped) return;
      const exit = reap(kernel, pid);
      if (!exit) return;
      reaped = true;
      whenReaped();
      resolve(exit);
    },
  };
}

interface Pipes extends Disposable {
  childEnds: ChildDescriptors;
  /** Hands the server's ends over; otherwise they are closed with the rest. */
  takeServerEnds(): ChildDescriptors;
}

/** Pipes, not the socket pairs Node makes: a child then holds no socket at all. */
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
        return [stdinWrite, stdoutRead, stderrRead];
      },
      [Symbol.dispose]: closeAll,
    };
  } catch (error) {
    closeAll();
    throw error;
  }
}
