/** A running host of one peer, seen from the benchmark: takes commands, replies, and may end at any time. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { killAll, listTree } from "../tree.ts";
import type { Command } from "./host.ts";
import type { Peer } from "./runners.ts";

const PROGRAM = new URL("./host.ts", import.meta.url).pathname;
const OPEN_MS = 60_000;
const CLOSE_MS = 15_000;

export interface Embedder extends AsyncDisposable {
  readonly pid: number;
  readonly isAlive: boolean;
  /** Rejects with the peer's error, or with HostEnded if the host ended or did not reply in time. */
  ask(command: Command, maxWaitMs: number): Promise<unknown>;
  /** Kills the host and everything it started. */
  kill(): void;
}

export class HostEnded extends Error {}

export async function openEmbedder(peer: Peer, env: Record<string, string>): Promise<Embedder> {
  const child: ChildProcess = fork(PROGRAM, [peer.name], {
    execArgv: [...(peer.flags ?? [])],
    env,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const pid = child.pid as number;
  const closed = once(child, "exit");
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let isAlive = true;
  let lastId = 0;
  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-2000);
  });
  child.on("message", ({ id, value, error }: { id: number; value?: unknown; error?: string }) => {
    if (error === undefined) waiting.get(id)?.resolve(value);
    else waiting.get(id)?.reject(new Error(error));
  });
  child.once("exit", (code, signal) => {
    isAlive = false;
    const error = new HostEnded(`the host ended (${signal ?? code}): ${complaint.trim().slice(-300)}`);
    for (const { reject } of waiting.values()) reject(error);
  });

  async function wait(id: number, maxWaitMs: number): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, answer);
    const late = () => answer.reject(new HostEnded(`no answer within ${maxWaitMs} ms`));
    const timer = setTimeout(late, maxWaitMs);
    try {
      return await answer.promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(id);
    }
  }

  function kill() {
    if (isAlive) killAll(listTree(pid).keys());
  }

  try {
    await wait(0, OPEN_MS);
  } catch (error) {
    kill();
    throw error;
  }
  return {
    pid,
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
      const tree = [...listTree(pid).keys()];
      child.send({ id: -1, command: { kind: "close" } });
      const timer = setTimeout(() => killAll(tree), CLOSE_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}
