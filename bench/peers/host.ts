/**
 * The program that embeds one peer, each in its own process, so that a script can harm only this host. argv: the name
 * of the peer. Takes commands over the channel of `fork` and replies to each.
 */
import { measureRate } from "../bare-spawn.ts";
import { type Limits, PEERS } from "./runners.ts";

export type Command =
  | { kind: "run"; body: string; limits: Limits }
  /** Returns milliseconds of each of `count` consecutive runs, `pauseMs` apart. */
  | { kind: "latency"; body: string; limits: Limits; count: number; pauseMs: number }
  /** Returns runs per second of `parallel` loops. */
  | { kind: "rate"; body: string; limits: Limits; parallel: number; durationMs: number }
  | { kind: "close" };

// A script's rejection must not end the host, unless the script can end it anyway.
process.on("unhandledRejection", () => {});
process.on("uncaughtException", () => {});
process.on("disconnect", () => process.exit(1));

const peer = PEERS.find(({ name }) => name === process.argv[2]);
if (peer === undefined) throw new Error(`There is no peer ${process.argv[2]}.`);
const runner = await peer.open({
  packages: process.env.PEER_PACKAGES ?? "",
  hidden: process.env.PEER_HIDDEN ?? "",
  secret: process.env.SECRET ?? "",
  path: process.env.PATH ?? "",
});

async function execute(command: Exclude<Command, { kind: "close" }>): Promise<unknown> {
  const run = () => runner.run(command.body, command.limits);
  if (command.kind === "run") return run();
  if (command.kind === "rate") return measureRate(run, command.parallel, command.durationMs);
  const samples: number[] = [];
  for (let index = 0; index < command.count; index++) {
    await new Promise((resolve) => setTimeout(resolve, command.pauseMs));
    const before = performance.now();
    await run();
    samples.push(performance.now() - before);
  }
  return samples;
}

const send = (message: object) => void process.send?.(message);
process.on("message", async ({ id, command }: { id: number; command: Command }) => {
  if (command.kind === "close") {
    await runner.close?.();
    process.exit(0);
  }
  try {
    send({ id, value: await execute(command) });
  } catch (error) {
    send({ id, error: error instanceof Error ? error.message : String(error) });
  }
});
send({ id: 0 });
