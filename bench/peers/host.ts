/**
 * The program that embeds one peer, one process each, so that what a script does to its host is done to this one.
 * argv: the peer. The environment has its settings. Takes commands over the channel of `fork` and answers each.
 */
import { measureRate } from "../bare-spawn.ts";
import type { Limits, OpenRunner, RunnerSettings } from "./runner.ts";
import { open as openBareNode } from "./runners/bare-node.ts";
import { openIsolates, openProcesses } from "./runners/cyrnel.ts";
import { open as openDeno } from "./runners/deno.ts";
import { open as openSandboxRuntime } from "./runners/sandbox-runtime.ts";
import { open as openSecureExec } from "./runners/secure-exec.ts";
import { open as openWorker } from "./runners/worker-vm.ts";

export type PeerName =
  | "bare-node"
  | "node-vm-worker"
  | "isolated-vm"
  | "secure-exec"
  | "sandbox-runtime"
  | "deno"
  | "cyrnel-process"
  | "cyrnel-ivm";

export type Command =
  | { kind: "run"; body: string; limits: Limits }
  /** Milliseconds of each of `count` runs, one after the other, `pauseMs` between. */
  | { kind: "latency"; body: string; limits: Limits; count: number; pauseMs: number }
  /** Runs per second of `parallel` loops. */
  | { kind: "rate"; body: string; limits: Limits; parallel: number; durationMs: number }
  | { kind: "close" };

const OPENERS: Record<PeerName, () => Promise<OpenRunner>> = {
  "bare-node": async () => openBareNode,
  "node-vm-worker": async () => openWorker,
  // Loaded only where Node was started as it needs it.
  "isolated-vm": async () => (await import("./runners/isolated-vm.ts")).open,
  "secure-exec": async () => openSecureExec,
  "sandbox-runtime": async () => openSandboxRuntime,
  deno: async () => openDeno,
  "cyrnel-process": async () => openProcesses,
  "cyrnel-ivm": async () => openIsolates,
};

const settings: RunnerSettings = {
  packages: process.env.PEER_PACKAGES ?? "",
  hidden: process.env.PEER_HIDDEN ?? "",
  secret: process.env.SECRET ?? "",
  path: process.env.PATH ?? "",
  libraries: process.env.LD_LIBRARY_PATH ?? "",
};
const send = (message: object) => void process.send?.(message);
// What a script throws into its host must not be what ends the host, unless it can do so regardless.
process.on("unhandledRejection", () => {});
process.on("uncaughtException", () => {});
process.on("disconnect", () => process.exit(1));

async function execute(command: Exclude<Command, { kind: "close" }>): Promise<unknown> {
  const { body, limits } = command;
  if (command.kind === "run") return runner.run(body, limits);
  if (command.kind === "rate")
    return measureRate(() => runner.run(body, limits), command.parallel, command.durationMs);
  const samples: number[] = [];
  for (let index = 0; index < command.count; index++) {
    await new Promise((resolve) => setTimeout(resolve, command.pauseMs));
    const before = performance.now();
    await runner.run(body, limits);
    samples.push(performance.now() - before);
  }
  return samples;
}

const runner = await (await OPENERS[process.argv[2] as PeerName]())(settings);
process.on("message", async ({ id, command }: { id: number; command: Command }) => {
  if (command.kind === "close") {
    await runner[Symbol.asyncDispose]();
    process.exit(0);
  }
  try {
    send({ id, value: await execute(command) });
  } catch (error) {
    send({ id, error: error instanceof Error ? error.message : String(error) });
  }
});
send({ id: 0 });
