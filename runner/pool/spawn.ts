/** Starts one child process and waits for its `ready`. Owns the process until its exit. Knows no run. */

import type { Placement } from "../jail/cgroups/run-groups.ts";
import { type ProcessExit, type StartProcess, startProcess } from "../process/start-process.ts";
import { createTail } from "../process/tail.ts";
import { type OutsideCheck, verifyFromOutside } from "../process/verify-child.ts";
import { type Channel, createChannel } from "../wire/channel.ts";
import type { Frame } from "../wire/frames.ts";
import {
  type BootedParams,
  type ChildMessage,
  childMessageSchema,
  PROTOCOL_VERSION,
  type ReadyParams,
} from "../wire/protocol.ts";

/** Last bytes of descriptor 2 to keep: V8's fatal error, read when the child has died. */
const MAX_ENGINE_TEXT_BYTES = 16 * 1024;
const MAX_ENGINE_BYTES = 1024 * 1024;
/** Time after the exit for the last bytes of descriptor 2 to arrive. */
const MAX_ENGINE_WAIT_MS = 250;

export interface ChildLaunch {
  nodePath: string;
  /** Version that the binary must report, with a leading `v`. */
  nodeVersion: string;
  args: string[];
  cwd: string;
  bootTimeoutMs: number;
  /** Layers that the child must report: the realm (0), its dropped permissions (1), its lock (3). */
  ownLayers: readonly number[];
  /** Checks a child that sent `booted`. Returns the problem as half a sentence, or null. */
  inspect?(pid: number, booted: BootedParams): string | null;
  /**
   * Returns a control group for the child, or null if there are none. The child is not ready until it has joined the
   * group.
   */
  place?(): Promise<Placement> | null;
}

export interface Child {
  readonly pid: number;
  readonly channel: Channel;
  readonly ready: ReadyParams;
  /** Result of the check from outside, made after `booted`. */
  readonly check: OutsideCheck;
  readonly bootMs: number;
  readonly exit: ProcessExit | null;
  /** Resolves when the process has ended and was reaped. Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Returns V8's fatal error on descriptor 2, once the child has exited. */
  engineText(): Promise<string>;
  readonly groupName: string | null;
  /**
   * Returns whether the kernel killed the child because its control group was out of memory. Call it after the exit.
   */
  ranOutOfMemory(): Promise<boolean>;
  kill(): void;
}

/** A child did not become ready. The message is for an operator. */
export class ChildStartError extends Error {
  override readonly name = "ChildStartError";
}

/**
 * Starts a child and waits until it is ready and verified from outside. Aborting `signal` kills it.
 * @throws ChildStartError with the expected and the actual state; by then the process is gone
 */
export async function spawnChild(
  launch: ChildLaunch,
  signal?: AbortSignal,
  start: StartProcess = startProcess,
): Promise<Child> {
  if (signal?.aborted) throw new ChildStartError(CLOSING);
  const startedAt = performance.now();
  const placement = await reservePlace(launch);
  if (signal?.aborted) {
    await placement?.release();
    throw new ChildStartError(CLOSING);
  }
  const { nodePath: path, args, cwd } = launch;
  const started = await start({ path, args, cwd, group: placement?.birth ?? null }).catch(async (error) => {
    await placement?.release();
    throw new ChildStartError(`The child could not be started: ${error.message}.`);
  });
  let exit: ProcessExit | null = null;
  let isKilled = false;
  const exited = started.exited.then((value) => {
    exit = value;
    return value;
  });
  const admitted = placement?.admit(started.pid);
  // A failed placement is reported once the child is ready. If the child ended earlier, that has another reason.
  admitted?.catch(() => {});
  const outOfMemory =
    placement === null
      ? NOT_OUT_OF_MEMORY
      : exited.then(() => leaveGroup(placement, () => !isKilled && exit?.signal === "SIGKILL"));
  const tail = createTail(started.stderr, MAX_ENGINE_TEXT_BYTES, MAX_ENGINE_BYTES);
  const channel = createChannel(started.stdout, started.stdin);
  try {
    let check: OutsideCheck = { kind: "unknown", why: "it was not checked" };
    const look = (booted: BootedParams) => {
      check = lookFromOutside(started.pid, launch, booted);
    };
    const ready = await receiveReady(channel, launch, look, signal);
    const missing = launch.ownLayers.filter((layer) => !ready.layers.includes(layer));
    if (missing.length > 0) {
      throw new ChildStartError(
        `The child did not confirm layer ${missing.join(", ")} of its isolation; ${launch.ownLayers.join(", ")} were expected. Build it, or the image, anew; Node ${launch.nodeVersion} must have process.permission.drop.`,
      );
    }
    await admitted?.catch((error: Error) => {
      throw new ChildStartError(`The child could not be put into its control group: ${error.message}.`);
    });
    return {
      pid: started.pid,
      channel,
      ready,
      check,
      bootMs: performance.now() - startedAt,
      get exit() {
        return exit;
      },
      exited,
      engineText: () => tail.read(MAX_ENGINE_WAIT_MS),
      groupName: placement?.groupName ?? null,
      ranOutOfMemory: () => outOfMemory,
      kill() {
        isKilled ||= exit === null;
        started.kill();
      },
    };
  } catch (error) {
    started.kill();
    channel.close();
    throw new ChildStartError(
      `${(error as Error).message}${describeEarlyExit(await exited, await tail.read(MAX_ENGINE_WAIT_MS))}`,
    );
  }
}

async function reservePlace(launch: ChildLaunch): Promise<Placement | null> {
  try {
    return (await launch.place?.()) ?? null;
  } catch (error) {
    throw new ChildStartError(`No control group could be made for the child: ${(error as Error).message}.`);
  }
}

const CLOSING = "The child was not started: the runner is closing.";
const NOT_OUT_OF_MEMORY = Promise.resolve(false);

/** Leaves the group of a reaped child. `mayBeMemory` returns whether the kernel may have killed it. Never rejects. */
async function leaveGroup(placement: Placement, mayBeMemory: () => boolean): Promise<boolean> {
  const ranOut = mayBeMemory() && (await placement.ranOutOfMemory().catch(() => false));
  await placement.release();
  return ranOut;
}

function describeEarlyExit({ code, signal }: ProcessExit, engineText: string): string {
  if (signal === "SIGKILL") return "";
  const text = engineText.trim().slice(-1000);
  return ` It ended with ${signal ?? `exit code ${code}`}${text === "" ? "." : `: ${text}`}`;
}

/** @throws ChildStartError if the process is not the one that was started, or lacks a layer */
function lookFromOutside(pid: number, launch: ChildLaunch, booted: BootedParams): OutsideCheck {
  if (booted.protocol !== PROTOCOL_VERSION) {
    throw new ChildStartError(
      `The child speaks protocol ${booted.protocol}; the server speaks ${PROTOCOL_VERSION}. Build both anew.`,
    );
  }
  if (booted.node !== launch.nodeVersion) {
    throw new ChildStartError(`The child runs on Node ${booted.node}; ${launch.nodeVersion} was expected.`);
  }
  const check = verifyFromOutside(pid);
  if (check.kind === "refused") throw new ChildStartError(`The child is not what was started: ${check.why}.`);
  const fault = launch.inspect?.(pid, booted) ?? null;
  if (fault !== null) throw new ChildStartError(`The child is not what it must be: ${fault}.`);
  return check;
}

/** Waits for `booted`, which starts the check of the child while it continues, and for `ready`. */
function receiveReady(
  channel: Channel,
  launch: ChildLaunch,
  look: (booted: BootedParams) => void,
  signal?: AbortSignal,
): Promise<ReadyParams> {
  return new Promise((resolve, reject) => {
    let hasBooted = false;
    let detach = () => {};
    const settle = (failure: Error | null, ready?: ReadyParams) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      detach();
      if (ready !== undefined) resolve(ready);
      else reject(failure);
    };
    const fail = (message: string) => settle(new ChildStartError(message));
    const onAbort = () => fail("The child was stopped while it started: the runner is closing.");
    const timer = setTimeout(() => {
      fail(`The child was not ready within ${launch.bootTimeoutMs} ms.`);
    }, launch.bootTimeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) {
      onAbort();
      return;
    }
    detach = channel.attach({
      message(frame) {
        const message = readMessage(frame);
        if (hasBooted && message?.method === "ready") {
          settle(null, message.params);
        } else if (!hasBooted && message?.method === "booted") {
          hasBooted = true;
          try {
            look(message.params);
          } catch (error) {
            settle(error as Error);
          }
        } else {
          const expected = hasBooted ? "second message was not `ready`" : "first message was not `booted`";
          fail(`The child's ${expected} as this server knows it. Build both anew.`);
        }
      },
      closed: () => fail("The child ended before it was ready."),
    });
  });
}

function readMessage({ value, attachment }: Frame): ChildMessage | undefined {
  return attachment === null ? childMessageSchema.safeParse(value).data : undefined;
}
