/**
 * The host's side of a conversation as the environments write it: handlers that answer in every way an adapter can, and
 * listeners that check what reaches them and that nothing does after the end.
 */

import { hash } from "node:crypto";
import type { CallHandlers } from "#runner/host/calls/calls.ts";
import type { SessionEvents } from "#runner/host/session.ts";
import type { CallMethod } from "#runner/wire/protocol.ts";
import { FILE_METHODS } from "#runner/wire/protocol.ts";
import type { OpenStream, SaveTurn } from "#sdk";
import { createHostileBodies, type HostileBodies } from "./bodies.ts";
import type { ExpectedEvent } from "./conversation.ts";
import { findFaultInAttachment, findFaultInCall, findFaultInOutput } from "./legitimate.ts";
import { CALL_METHODS } from "./messages.ts";
import type { Prng } from "./prng.ts";
import { createHostileWorkspace } from "./workspace.ts";

export interface Host {
  calls: CallHandlers;
  events: SessionEvents;
  /** Everything that was handed out, in order. Only kept when asked for: a flood would fill the memory. */
  readonly heard: ExpectedEvent[];
  readonly handled: number;
  readonly bodies: HostileBodies;
  /** From here on nothing may be called any more. Answers every call still open, and judges the files that are left. */
  finish(): Promise<void>;
  readonly faults: string[];
}

const MAX_FAULTS = 5;
/** What the session lets a child's count of its calls run ahead of ours. */
const CALL_SLACK = 8;

export interface HostLimits {
  maxCalls: number;
  maxConcurrentCalls: number;
  maxStdoutBytes: number;
  maxStderrBytes: number;
}

export function createHost(
  prng: Prng,
  handlers: "echo" | "mixed" | "never" | "workspace" | "bodies",
  limits: HostLimits,
  keepsHeard: boolean,
): Host {
  const heard: ExpectedEvent[] = [];
  const faults: string[] = [];
  const open = new Set<() => void>();
  const left = { stdout: limits.maxStdoutBytes + 1, stderr: limits.maxStderrBytes + 1 };
  const bodies = createHostileBodies(prng, report);
  const workspace = handlers === "workspace" ? createHostileWorkspace(prng, report) : null;
  let handled = 0;
  /** Against `maxCalls`: calls about files are counted by themselves. */
  let counted = 0;
  let isOver = false;

  function report(fault: string | null): void {
    if (fault !== null && faults.length < MAX_FAULTS) faults.push(fault);
  }

  function handle(
    method: CallMethod,
    params: unknown,
    signal: AbortSignal,
    attachment: Buffer | null,
    turn: SaveTurn,
    openStream: OpenStream,
  ): Promise<unknown> {
    handled++;
    if (!FILE_METHODS.has(method)) counted++;
    if (isOver) report(`after the end: ${method} was called`);
    if (signal.aborted && signal.reason?.message !== "The script has canceled the call.")
      report(`${method} was called with a signal that had aborted`);
    if (counted > limits.maxCalls) report(`call ${counted} of ${limits.maxCalls} was made`);
    if (open.size >= limits.maxConcurrentCalls + CALL_SLACK) report(`${open.size + 1} calls at once`);
    report(findFaultInCall(method, params) ?? findFaultInAttachment(method, params, attachment));
    if (keepsHeard) {
      heard.push(["call", method, params, attachment === null ? null : hash("sha256", attachment)]);
    }
    const real = workspace?.answer[method as keyof typeof workspace.answer] as
      | CallHandlers[keyof CallHandlers]
      | undefined;
    if (real !== undefined) return real(params as never, signal, handled, attachment, turn, openStream);
    if (handlers === "bodies" && method === "invoke") return bodies.answer(params, signal, openStream);
    if (handlers === "mixed" && method === "readFile" && prng.chance(0.5)) {
      return Promise.resolve(Buffer.alloc(prng.pick([0, 1, 70_000, 262_144]), "{"));
    }
    return answer(params, signal);
  }

  function answer(params: unknown, signal: AbortSignal): Promise<unknown> {
    if (handlers === "never") return hang();
    if (handlers === "echo" || handlers === "workspace" || handlers === "bodies")
      return Promise.resolve(params);
    switch (prng.int(13)) {
      case 0:
        throw new Error("thrown at once");
      case 1:
        return Promise.reject(
          Object.assign(new TypeError("refused"), { code: "refused", status: 403, token: "secret" }),
        );
      case 2:
        throw null;
      case 3:
        return Promise.reject(
          new Proxy(
            {},
            {
              get: () => {
                throw new Error("trap");
              },
            },
          ),
        );
      case 4:
        return Promise.resolve(10n);
      case 5: {
        const cyclic: Record<string, unknown> = {};
        cyclic.self = cyclic;
        return Promise.resolve(cyclic);
      }
      case 6:
        return Promise.resolve({
          toJSON() {
            throw new Error("toJSON");
          },
        });
      case 7:
        return Promise.resolve("x".repeat(200_000));
      case 8:
        return new Promise((resolve) => setImmediate(resolve, params));
      case 9:
        return hang();
      case 10:
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      case 11:
        return Promise.resolve(undefined);
      default:
        return Promise.resolve(params);
    }
  }

  function hang(): Promise<unknown> {
    return new Promise((resolve) => {
      const settle = () => {
        open.delete(settle);
        resolve("late");
      };
      open.add(settle);
    });
  }

  function listen(stream: "stdout" | "stderr") {
    return (data: Buffer) => {
      if (isOver) report(`after the end: ${stream}`);
      left[stream] -= data.length;
      if (left[stream] < 0) report(`${-left[stream]} bytes of ${stream} over its limit`);
      if (keepsHeard) heard.push([stream, data.toString()]);
    };
  }

  const calls = Object.fromEntries(
    CALL_METHODS.map((method) => [
      method,
      (
        params: unknown,
        signal: AbortSignal,
        _seq: number,
        attachment: Buffer | null,
        turn: SaveTurn,
        openStream: OpenStream,
      ) => handle(method, params, signal, attachment, turn, openStream),
    ]),
  ) as unknown as CallHandlers;

  return {
    calls,
    events: {
      stdout: listen("stdout"),
      stderr: listen("stderr"),
      output(value) {
        if (isOver) report("after the end: output");
        report(findFaultInOutput(value));
        // As a copy is made of it: a key that sets a prototype would show.
        const merged = { ...value };
        if (Object.getPrototypeOf(merged) !== Object.prototype) report("an output that sets a prototype");
        if (keepsHeard) heard.push(["output", value]);
      },
    },
    heard,
    faults,
    bodies,
    get handled() {
      return handled;
    },
    async finish() {
      isOver = true;
      bodies.finish();
      for (const settle of open) settle();
      await workspace?.finish();
    },
  };
}
