/**
 * Determines how a run ended. The first reason wins: a host decision made before the environment answered, then a
 * kill, then the environment's answer.
 */

import type { Redactor } from "#api/secrets/redactor.ts";
import {
  type ErrorDetail,
  EXECUTION_EXIT_STATES,
  EXECUTION_REASONS,
  type ExecutionExitState,
  type ExecutionOutcome,
  type ExecutionReason,
  type RunWarning,
  runWarningSchema,
  type Usage,
} from "#sdk";
import type { Ending } from "../model/records.ts";
import { errorDetail, failedWith } from "../model/records.ts";
import type { ProcessErrorDetail } from "../model/schemas.ts";
import type { ProcessState } from "../model/states.ts";

const MAX_NAME_CHARACTERS = 1000;
const MAX_TEXT_CHARACTERS = 100_000;
const MAX_WARNING_CHARACTERS = 2000;

export type EnvironmentAnswer =
  | { kind: "returned"; value: unknown }
  /** `isNotStarted`: the host failed before any of the script ran. */
  | { kind: "threw"; isNotStarted?: boolean }
  | { kind: "unconfirmed" };

/**
 *   running ◄──► paused ──► stopping      killed, or ended by the host's decision
 *      │           │           │
 *      │           └─────────► │ ────────► detached     the database shows the run; a later child may replay it
 *      └─────────────────────► └─► ended ─► stored      the environment has answered; the ending is in the database
 */
export type RunPhase =
  | { is: "running"; isQueued: boolean }
  | { is: "paused" }
  /** `shown` is the state that readers see until the ending is stored. */
  | { is: "stopping"; shown: ProcessState; isKilled: boolean; decided: Ending | null }
  | { is: "ended"; shown: ProcessState; ending: Ending }
  | { is: "detached"; shown: ProcessState }
  | { is: "stored"; shown: "idle"; ending: Ending };

export interface ReportedError extends ProcessErrorDetail {
  reason: ExecutionReason | null;
}

export interface EndingInputs {
  answer: EnvironmentAnswer;
  decided: Ending | null;
  killed: boolean;
  reported: ReportedError | null;
  timeoutMs: number | null;
}

export function concludeRun(inputs: EndingInputs): Ending {
  const { answer, decided, killed, reported } = inputs;
  if (decided) return decided;
  switch (answer.kind) {
    case "unconfirmed":
      return KILLED;
    case "threw":
      return killed ? KILLED : crashed("The environment failed while it was running the script.");
    case "returned":
      if (!isExitState(answer.value)) {
        return killed ? KILLED : crashed("The environment ended the run without saying how.");
      }
      if (killed && answer.value === "failed") return KILLED;
      return concludeAnswered(answer.value, reported, inputs.timeoutMs);
  }
}

function concludeAnswered(
  exitState: ExecutionExitState,
  reported: ReportedError | null,
  timeoutMs: number | null,
): Ending {
  const reason = reasonOf(exitState, reported?.reason ?? null);
  const error = reported && withoutReason(reported);
  switch (exitState) {
    case "success":
      return { exitState, reason, error: null };
    case "failed":
      return {
        exitState,
        reason,
        error: error ?? errorDetail("Error", "The script failed; the environment did not say why."),
      };
    case "timeout":
      return { exitState, reason, error: error ?? errorDetail("TimeoutError", timeoutMessage(timeoutMs)) };
    case "canceled":
      return { exitState, reason, error: reason === "killed" ? null : error };
  }
}

export const KILLED: Ending = { exitState: "canceled", reason: "killed", error: null };

export function overdue(timeoutMs: number | null): Ending {
  const message = `${timeoutMessage(timeoutMs)} The environment did not end it, so the server did.`;
  return { exitState: "timeout", reason: "timeout", error: errorDetail("TimeoutError", message) };
}

function crashed(message: string): Ending {
  return failedWith("crashed", "EnvironmentError", message);
}

function timeoutMessage(timeoutMs: number | null): string {
  return timeoutMs === null
    ? "The environment ended the run for taking too long."
    : `The run took longer than its timeout of ${timeoutMs} ms.`;
}

interface OutcomeParts {
  setUsage(usage: Partial<Usage>): void;
  setError(error: string | ErrorDetail): void;
  setResult(value: unknown): void;
  results: { setWarnings(warnings: readonly RunWarning[], dropped: number): void };
}

/**
 * Splits up the complete outcome that older modules return instead of reporting its parts. Returns the remaining exit
 * state.
 */
export function takeOutcome(live: OutcomeParts, answer: EnvironmentAnswer): EnvironmentAnswer {
  if (answer.kind !== "returned" || !isOutcome(answer.value)) return answer;
  const { exitState, error, result, usage, warnings, droppedWarnings } = answer.value;
  try {
    if (usage !== undefined) live.setUsage(usage);
    if (warnings !== undefined) live.results.setWarnings(warnings, droppedWarnings ?? 0);
    if (error !== undefined) live.setError(error);
    if (result !== undefined) live.setResult(result);
    return { kind: "returned", value: exitState };
  } catch {
    // The error is neither a text nor a detail, so the complete outcome is unreliable.
    return { kind: "returned", value: null };
  }
}

function isOutcome(value: unknown): value is ExecutionOutcome {
  return typeof value === "object" && value !== null && "exitState" in value;
}

function isExitState(value: unknown): value is ExecutionExitState {
  return (EXECUTION_EXIT_STATES as readonly unknown[]).includes(value);
}

/** Replaces a reason that does not belong to the exit state by the first one that does. */
function reasonOf(exitState: ExecutionExitState, reported: ExecutionReason | null): ExecutionReason {
  const reasons: readonly ExecutionReason[] = EXECUTION_REASONS[exitState];
  return reported !== null && reasons.includes(reported) ? reported : (reasons[0] as ExecutionReason);
}

function withoutReason({ reason: _, ...detail }: ReportedError): ProcessErrorDetail {
  return detail;
}

/**
 * Redacts a reported error and cuts it to its storage limit. Throws TypeError for anything but a text or a detail.
 */
export function parseReportedError(
  error: string | ErrorDetail,
  redactor: Pick<Redactor, "text">,
): ReportedError {
  const detail = typeof error === "string" ? { name: "Error", message: error } : error;
  if (typeof detail !== "object" || detail === null || typeof detail.message !== "string") {
    throw new TypeError(
      "setError takes a message or { name, message, stack?, line?, column?, file?, reason? }.",
    );
  }
  // Redacts before cutting, because half a secret would not be recognized.
  const clean = (text: string, maxCharacters: number) => cut(redactor.text(text), maxCharacters);
  return {
    name: clean(typeof detail.name === "string" ? detail.name : "Error", MAX_NAME_CHARACTERS),
    message: clean(detail.message, MAX_TEXT_CHARACTERS),
    stack: typeof detail.stack === "string" ? clean(detail.stack, MAX_TEXT_CHARACTERS) : null,
    line: positiveOrNull(detail.line),
    column: positiveOrNull(detail.column),
    ...(typeof detail.file === "string" && { file: clean(detail.file, MAX_NAME_CHARACTERS) }),
    reason: detail.reason ?? null,
  };
}

/**
 * Redacts before cutting, because half a secret would not be recognized. Throws ZodError for anything but a warning.
 */
export function parseWarning(warning: RunWarning, redactor: Pick<Redactor, "text">): RunWarning {
  const { message, path } = warning;
  return runWarningSchema.parse({
    ...warning,
    message: cut(redactor.text(message), MAX_WARNING_CHARACTERS),
    ...(path !== undefined && { path: cut(redactor.text(path), MAX_NAME_CHARACTERS) }),
  });
}

function cut(text: string, maxCharacters: number): string {
  return withoutNul(text.slice(0, maxCharacters)).toWellFormed();
}

function positiveOrNull(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** Removes NUL, which Postgres text cannot contain. */
export function withoutNul(text: string): string {
  return text.replaceAll("\0", "\ufffd");
}
