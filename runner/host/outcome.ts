/**
 * Every cause that ends a run, with its exit state, reason and message, and the validation of child messages. Pure:
 * the supervisor runs the race between the causes.
 */
import type { z } from "zod";
import {
  type ErrorDetail,
  type ExecutionExitState,
  type ExecutionReason,
  MAX_WARNINGS,
  type ModuleLogger,
  type RunWarning,
} from "#sdk";
import type { ProcessExit } from "../process/start-process.ts";
import type { Frame } from "../wire/frames.ts";
import {
  type ChildMessage,
  childMessageSchema,
  ENVELOPE_DEPTH,
  type EndParams,
  PROTOCOL_LIMITS,
  type SessionLimits,
} from "../wire/protocol.ts";

/** A violation of the protocol or a size limit. `message` goes into the log and the run's error. */
export interface Violation {
  kind: "violation";
  reason: "sandbox_violation" | "output_limit";
  message: string;
  /** Set if a plain script can cause it. Any other violation shows that the child was taken over. */
  mayBeHonest?: true;
}

export type EndCause =
  | { kind: "end"; end: EndParams; memoryMb: number }
  | { kind: "timeout"; limitMs: number; waitsFor?: string | null }
  | { kind: "killed" }
  | { kind: "cpu_limit"; limitMs: number | null }
  | { kind: "memory_limit"; limitMb: number }
  | { kind: "diverged"; what: string }
  | Violation
  | {
      kind: "exit";
      exit: ProcessExit;
      engineText: string;
      ranOutOfMemory: boolean;
      memoryMb: number;
      cpuMs: number | null;
    }
  | { kind: "host_error"; error: unknown };

export interface Verdict {
  state: ExecutionExitState;
  reason: ExecutionReason;
  error?: ErrorDetail;
  result?: { value: unknown };
  /** Set if the child did something that no script can do. */
  wasTakenOver?: true;
}

export function judge(cause: EndCause): Verdict {
  switch (cause.kind) {
    case "end":
      return cause.end.ok
        ? {
            state: "success",
            reason: "ok",
            ...("result" in cause.end && { result: { value: cause.end.result } }),
          }
        : judgeFailure(cause.end, cause.memoryMb);
    case "timeout":
      return fail(
        "timeout",
        "timeout",
        "TimeoutError",
        cause.waitsFor == null
          ? `The script ran longer than its limit of ${cause.limitMs} ms.`
          : `The script ran longer than its limit of ${cause.limitMs} ms: it timed out while waiting for ${cause.waitsFor}.`,
      );
    case "killed":
      return fail("canceled", "killed", "KilledError", "The run was killed.");
    case "cpu_limit":
      return failCpu(cause.limitMs);
    case "memory_limit":
      return failMemory(cause.limitMb);
    case "diverged":
      return fail(
        "failed",
        "replay_divergence",
        "ReplayDivergenceError",
        `The run was replayed after its approval, but the script ${cause.what}. A script that waits for approvals must do the same each time it runs.`,
      );
    case "violation":
      return judgeViolation(cause);
    case "exit":
      return judgeExit(cause);
    case "host_error":
      return fail("failed", "crashed", "HostError", "The server failed to take in what the script sent.");
  }
}

const BUFFER_REFUSED = "Array buffer allocation failed";

function judgeFailure(end: Extract<EndParams, { ok: false }>, memoryMb: number): Verdict {
  const { line, column, ...error } = end.error;
  if (error.name === "RangeError" && error.message.endsWith(BUFFER_REFUSED)) {
    const { message } = failMemory(memoryMb).error ?? error;
    const place = { ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
    const reason = "memory_limit";
    return {
      state: "failed",
      reason,
      error: { name: "MemoryLimitError", message, stack: error.stack, ...place, reason },
    };
  }
  return {
    state: "failed",
    reason: end.reason,
    error: {
      ...error,
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      reason: end.reason,
    },
  };
}

function judgeViolation({ reason, message, mayBeHonest }: Omit<Violation, "kind">): Verdict {
  const verdict =
    reason === "output_limit"
      ? fail("failed", reason, "OutputLimitError", `The script sent more than it may: ${message}.`)
      : fail("failed", reason, "SandboxViolationError", `The sandbox was left or broken: ${message}.`);
  return mayBeHonest ? verdict : { ...verdict, wasTakenOver: true };
}

const HEAP_FULL =
  /heap out of memory|Ineffective mark-compacts|Fatal process out of memory|Reached heap limit|std::bad_alloc/;

function judgeExit(cause: Extract<EndCause, { kind: "exit" }>): Verdict {
  const { exit, engineText, ranOutOfMemory, memoryMb, cpuMs } = cause;
  switch (exit.signal) {
    case "SIGSYS":
      return judgeViolation({
        reason: "sandbox_violation",
        message: "a system call that is not allowed was made",
      });
    case "SIGSEGV":
    case "SIGILL":
    case "SIGBUS":
      return failCrash(`with signal ${exit.signal}`);
  }
  // Checked after the signs of an attack, because an attacker may have written to descriptor 2.
  if (ranOutOfMemory || HEAP_FULL.test(engineText)) return failMemory(memoryMb);
  switch (exit.signal) {
    case "SIGXCPU":
      return failCpu(cpuMs);
    case null:
      return failCrash(`with exit code ${exit.code}`);
    default:
      return failCrash(`with signal ${exit.signal}`);
  }
}

function failCpu(limitMs: number | null): Verdict {
  const limit = limitMs === null ? "its limit" : `its limit of ${limitMs} ms`;
  return fail("failed", "cpu_limit", "CpuLimitError", `The script used more CPU time than ${limit}.`);
}

function failMemory(limitMb: number): Verdict {
  return fail(
    "failed",
    "memory_limit",
    "MemoryLimitError",
    `The script used more memory than its limit of ${limitMb} MB.`,
  );
}

function failCrash(how: string): Verdict {
  return fail("failed", "crashed", "CrashError", `The process of the run ended unexpectedly, ${how}.`);
}

function fail(state: ExecutionExitState, reason: ExecutionReason, name: string, message: string): Verdict {
  return { state, reason, error: { name, message, reason } };
}

/** Blames the host for a script that did not start. @throws always */
export function blameHost(cause: unknown): never {
  const { message } = cause as Error;
  throw Object.assign(new Error(`The run could not be started: ${message}`, { cause }), {
    code: "not_started",
  });
}

interface Watchers {
  logger: ModuleLogger;
  onSuspectedEscape?: (() => void) | undefined;
}

/**
 * Logs a run that ended like an attack, so that operators can find and count such runs. A breach is a
 * `securityEvent`.
 */
export function reportSuspectedEscape(
  { logger, onSuspectedEscape }: Watchers,
  about: { eid: number } | { package: string },
  outcome: Verdict & { hostError?: unknown },
): void {
  const { reason, error, wasTakenOver, hostError } = outcome;
  if (!wasTakenOver && reason !== "crashed") return;
  const securityEvent = wasTakenOver ? { securityEvent: true } : {};
  logger.warn({ ...about, reason, ...securityEvent, err: hostError }, error?.message);
  onSuspectedEscape?.();
}

/** Returns the first MAX_WARNINGS and an entry that counts the others. */
export function boundWarnings(warnings: readonly RunWarning[], dropped: number): readonly RunWarning[] {
  const more = Math.max(0, warnings.length - MAX_WARNINGS) + dropped;
  if (more === 0) return warnings;
  const message = `${more} more ${more === 1 ? "warning was" : "warnings were"} not kept.`;
  return [...warnings.slice(0, MAX_WARNINGS), { code: "more_warnings", message }];
}

export function violation(message: string, reason: Violation["reason"] = "sandbox_violation"): Violation {
  return { kind: "violation", reason, message };
}

/** Returns a violation for limits that the realm does not enforce, so that a plain script can exceed them. */
export function exceeding(message: string): Violation {
  return { ...violation(message, "output_limit"), mayBeHonest: true };
}

/** Returns the frame's message, or the rule that it violates. `totalBytes` counts all frames of the run so far. */
export function checkMessage(
  frame: Frame,
  totalBytes: number,
  limits: SessionLimits,
): { message: ChildMessage } | Violation {
  if (totalBytes > limits.maxTotalBytes) {
    return exceeding(`the run sent more than ${limits.maxTotalBytes} bytes`);
  }
  const parsed = childMessageSchema.safeParse(frame.value);
  if (!parsed.success) {
    return violation(`a message does not fit the protocol: ${describeIssue(parsed.error)}`);
  }
  const message = parsed.data;
  if (frame.attachment !== null && (message.method !== "writeFile" || message.params.text !== undefined)) {
    return violation(`${message.method}: only writeFile without text takes an attachment`);
  }
  const mayBeLarge = ["end", "output", "paused", "writeFile", "codeCache"].includes(message.method);
  const maxBytes = mayBeLarge ? limits.maxEndBytes : limits.maxMessageBytes;
  if (frame.bytes > maxBytes) {
    return violation(
      `a ${message.method} message of ${frame.bytes} bytes; at most ${maxBytes} are allowed`,
      "output_limit",
    );
  }
  const maxDepth = message.method === "end" ? PROTOCOL_LIMITS.maxResultDepth : PROTOCOL_LIMITS.maxDepth;
  if (frame.depth > maxDepth + ENVELOPE_DEPTH) {
    return violation(`a ${message.method} message is nested deeper than ${maxDepth} levels`);
  }
  return { message };
}

function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "unknown";
  return `${issue.path.map(String).join(".") || "message"}: ${issue.message}`.slice(0, 300);
}
