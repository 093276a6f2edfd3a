/**
 * One run of a local runtime: its output and calls so far, its pending approvals, and the promise of its next pause
 * or end.
 */
import { boundWarnings } from "#runner/host/outcome.ts";
import type { Workspace } from "#runner/workspace/workspace.ts";
import {
  type ErrorDetail,
  type ExecutionOutcome,
  MAX_WARNINGS,
  type PrintLevel,
  type RunWarning,
  type Usage,
} from "#sdk";
import type { PendingElicitation } from "../kernel/elicitation.ts";
import type { LocalExecuteOptions } from "../kernel/local-model.ts";
import type { ExecutionResult, ToolCallMade } from "../kernel/model.ts";
import { createLogLines, describeError } from "../kernel/result-parts.ts";
import { createPauses, type Pauses, type PausesOptions } from "./pauses.ts";

/** Maximum number of calls kept per run; the environment's own limit is lower. */
const MAX_CALLS = 100_000;
export const DEFAULT_MAX_STREAM_BYTES = 1024 * 1024;

const NO_USAGE: Usage = { queuedMs: 0, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 };

export interface LocalRun {
  readonly id: number;
  readonly options: LocalExecuteOptions;
  readonly workspace: Workspace;
  /** Null if the runtime has no elicitation engine. */
  readonly pauses: Pauses | null;
  /** Resolves at the next pause or the end. A rejection that nobody awaits is not reported as unhandled. */
  next(): Promise<ExecutionResult>;
  recordCall(call: ToolCallMade): void;
  warn(warning: RunWarning): void;
  write(stream: "stdout" | "stderr", data: Buffer, level?: PrintLevel): void;
  end(outcome: ExecutionOutcome): void;
  /** Call it if the script could not be run at all. */
  fail(error: unknown): void;
}

export function createRun(
  id: number,
  options: LocalExecuteOptions,
  workspace: Workspace,
  pausing: Omit<PausesOptions, "eid" | "onPaused"> | null,
): LocalRun {
  const calls: ToolCallMade[] = [];
  /** Warnings from the run's tools. */
  const warned: RunWarning[] = [];
  let unkept = 0;
  const logs = createLogLines();
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const maxBytes = {
    stdout: options.maxStdoutBytes ?? DEFAULT_MAX_STREAM_BYTES,
    stderr: options.maxStderrBytes ?? DEFAULT_MAX_STREAM_BYTES,
  };
  const left = { ...maxBytes };
  const pauses = pausing && createPauses({ ...pausing, eid: id, onPaused });
  let awaited = makeAwaited();

  function snapshot(): Pick<ExecutionResult, "calls" | "logs" | "processId"> {
    return { calls: [...calls], logs: logs.lines(), processId: id };
  }

  function onPaused({ executionId, toolPath, message, args }: PendingElicitation): void {
    const paused = { executionId, toolPath, message, ...(args !== undefined && { args }) };
    const { resolve } = awaited;
    awaited = makeAwaited();
    resolve({
      success: false,
      ...snapshot(),
      warnings: [],
      paused,
      exitState: null,
      reason: null,
      usage: null,
    });
  }

  return {
    id,
    options,
    workspace,
    pauses,
    next: () => awaited.promise,
    recordCall: (call) => {
      if (calls.length < MAX_CALLS) calls.push(call);
    },
    warn(warning) {
      if (warned.length < MAX_WARNINGS) warned.push(warning);
      else unkept += 1;
    },
    write(stream, data, level) {
      const room = left[stream];
      if (room < 0) return;
      left[stream] = room - data.length;
      const isCut = data.length > room;
      // The environment stops after the first byte beyond the limit; the last line says that output was cut.
      const kept = decoders[stream].decode(isCut ? data.subarray(0, room) : data, { stream: !isCut });
      const text = isCut ? `${kept}\n[${stream} was cut off after ${maxBytes[stream]} bytes]\n` : kept;
      logs.add(level ?? (stream === "stdout" ? "info" : "error"), text);
      if (stream === "stdout") options.onStdout?.(text);
      else options.onStderr?.(text);
    },
    end({ exitState, error: given, usage, warnings = [], droppedWarnings = 0, ...returned }) {
      const error: ErrorDetail | undefined =
        typeof given === "string" ? { name: "Error", message: given } : given;
      // An uncaught refusal ends the script.
      const isOfScript = error?.reason === "script_error" || error?.reason === "unhandled_rejection";
      const refusal = isOfScript ? (pauses?.findRefusal(error.message) ?? null) : null;
      awaited.resolve({
        success: exitState === "success",
        ...(exitState === "success" && "result" in returned && { value: returned.result }),
        ...describeError(error?.message, error),
        ...snapshot(),
        warnings: [...boundWarnings([...warnings, ...warned], droppedWarnings + unkept)],
        exitState,
        reason: refusal ?? error?.reason ?? (exitState === "success" ? "ok" : null),
        usage: { ...NO_USAGE, ...usage },
      });
    },
    fail: (cause) => awaited.reject(cause),
  };
}

function makeAwaited(): PromiseWithResolvers<ExecutionResult> {
  const awaited = Promise.withResolvers<ExecutionResult>();
  awaited.promise.catch(() => {});
  return awaited;
}
