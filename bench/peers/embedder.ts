/** A running host of one peer, seen from the benchmark: commands go in, answers come out, its end is noticed. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Peer } from "./catalogue.ts";
import type { Command } from "./host.ts";
import { killTree, listTree } from "./tree.ts";

const PROGRAM = new URL("./host.ts", import.meta.url).pathname;
const OPEN_MS = 60_000;
const CLOSE_MS = 15_000;

export interface Embedder extends AsyncDisposable {
  readonly pid: number;
  readonly isAlive: boolean;
  /** Rejects with what the peer said, or because the host ended or did not answer in time. */
  ask(command: Command, maxWaitMs: number): Promise<unknown>;
  /** Ends the host and all it started, at once. */
  kill(): void;
}

export class HostEnded extends Error {}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** `environment`: of the host, with the settings of the peer in it. */
export async function openEmbedder(peer: Peer, environment: Record<string, string>): Promise<Embedder> {
  const child: ChildProcess = fork(PROGRAM, [peer.name], {
    execArgv: [...(peer.flags ?? [])],
    env: environment,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const closed = once(child, "exit");
  const waiting = new Map<number, Waiting>();
  let isAlive = true;
  let lastId = 0;
  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-2000);
  });
  child.on("message", ({ id, value, error }: { id: number; value?: unknown; error?: string }) => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) one?.resolve(value);
    else one?.reject(new Error(error));
  });
  child.once("exit", (code, signal) => {
    isAlive = false;
    for (const { reject } of waiting.values())
      reject(new HostEnded(`the host ended (${signal ?? code}): ${complaint.trim().slice(-300)}`));
    waiting.clear();
  });

  function wait(id: number, maxWaitMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(id);
        reject(new HostEnded(`no answer within ${maxWaitMs} ms`));
      }, maxWaitMs);
      const settle =
        <T>(done: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          done(value);
        };
      waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
    });
  }

  function kill() {
    if (child.pid !== undefined && isAlive) killTree(listTree(child.pid));
  }

  try {
    await wait(0, OPEN_MS);
  } catch (error) {
    kill();
    throw error;
  }
  return {
    pid: child.pid as number,
    get isAlive() {
      return isAlive;
    },
    ask(command, maxWaitMs) {
      if (!isAlive) return Promise.reject(new HostEnded("the host has ended"));
      const id = ++lastId;
      const answer = wait(id, maxWaitMs);
      child.send({ id, command });
      return answer;
    },
    kill,
    async [Symbol.asyncDispose]() {
      if (!isAlive) return;
      const tree = listTree(child.pid as number);
      child.send({ id: -1, command: { kind: "close" } });
      const timer = setTimeout(() => killTree(tree), CLOSE_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}
