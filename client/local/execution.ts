/** One run of a local runtime: what it has shown so far, and who waits for how it goes on. */
import type { ErrorDetail, ExecutionOutcome, Usage } from "#sdk";
import type { PendingElicitation } from "../kernel/elicitation.ts";
import type { LocalExecuteOptions } from "../kernel/local-model.ts";
import { createLogLines } from "../kernel/log-lines.ts";
import type { ExecutionResult, ToolCallMade } from "../kernel/model.ts";
import type { Pauses } from "./pauses.ts";

/** Calls kept of one run; the environment's own limit is lower. */
const MAX_CALLS = 100_000;
export const DEFAULT_MAX_STREAM_BYTES = 1024 * 1024;

const NO_USAGE: Usage = { queuedMs: 0, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 };

export interface LocalExecution {
  readonly id: number;
  readonly options: LocalExecuteOptions;
  /** Set right after it is made: the two know each other. */
  pauses: Pauses | null;
  /** The next time it pauses, or its end. Never rejects without somebody who waits. */
  next(): Promise<ExecutionResult>;
  noteCall(call: ToolCallMade): void;
  write(stream: "stdout" | "stderr", data: Buffer): void;
  pausedAt(pending: PendingElicitation): void;
  /** `usualReason`: where no error says another one. */
  end(outcome: ExecutionOutcome, usualReason: string): void;
  /** It could not be run at all. */
  fail(error: unknown): void;
}

export function createExecution(id: number, options: LocalExecuteOptions): LocalExecution {
  const calls: ToolCallMade[] = [];
  const logs = createLogLines();
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const maxBytes = {
    stdout: options.maxStdoutBytes ?? DEFAULT_MAX_STREAM_BYTES,
    stderr: options.maxStderrBytes ?? DEFAULT_MAX_STREAM_BYTES,
  };
  const left = { ...maxBytes };
  let awaited = makeAwaited();

  function snapshot(): Pick<ExecutionResult, "calls" | "logs" | "processId"> {
    return { calls: [...calls], logs: logs.lines(), processId: id };
  }

  /** A script that does not catch a refusal ends by it. */
  function explainRefusal(error: ErrorDetail | undefined): string | null {
    return error?.reason === "script_error" ? (execution.pauses?.explain(error.message) ?? null) : null;
  }

  const execution: LocalExecution = {
    id,
    options,
    pauses: null,
    next: () => awaited.promise,
    noteCall: (call) => {
      if (calls.length < MAX_CALLS) calls.push(call);
    },
    write(stream, data) {
      const room = left[stream];
      if (room < 0) return;
      left[stream] = room - data.length;
      const isCut = data.length > room;
      // The environment stops after the first byte that is too much; a person is told that there was more.
      const kept = decoders[stream].decode(isCut ? data.subarray(0, room) : data, { stream: !isCut });
      const text = isCut ? `${kept}\n[${stream} was cut off after ${maxBytes[stream]} bytes]\n` : kept;
      logs.add(stream === "stdout" ? "info" : "error", text);
      if (stream === "stdout") options.onStdout?.(text);
      else options.onStderr?.(text);
    },
    pausedAt({ executionId, toolPath, message, args }) {
      const paused = { executionId, toolPath, message, ...(args !== undefined && { args }) };
      const { resolve } = awaited;
      awaited = makeAwaited();
      resolve({ success: false, ...snapshot(), paused, exitState: null, reason: null, usage: null });
    },
    end({ exitState, error: given, usage, ...returned }, usualReason) {
      const error = typeof given === "string" ? { name: "Error", message: given } : given;
      awaited.resolve({
        success: exitState === "success",
        ...(exitState === "success" && "result" in returned && { value: returned.result }),
        ...describeError(error),
        ...snapshot(),
        exitState,
        reason: explainRefusal(error) ?? error?.reason ?? usualReason,
        usage: { ...NO_USAGE, ...usage },
      });
    },
    fail: (cause) => awaited.reject(cause),
  };
  return execution;
}

function makeAwaited(): PromiseWithResolvers<ExecutionResult> {
  const awaited = Promise.withResolvers<ExecutionResult>();
  awaited.promise.catch(() => {});
  return awaited;
}

function describeError(error: ErrorDetail | undefined): Partial<ExecutionResult> {
  if (error === undefined) return {};
  const { name, message, stack, line, column } = error;
  return {
    error: message,
    errorDetail: {
      name,
      message,
      ...(stack !== undefined && { stack }),
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
    },
  };
}
