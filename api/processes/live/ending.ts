/**
 * How a run ended, decided from everything that had a say. The first reason wins: what the host decided before the
 * environment answered, then a kill, then the environment's own word.
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
} from "#sdk";
import type { Ending } from "../model/records.ts";
import { type ApprovalEvent, errorDetail, failedWith } from "../model/records.ts";
import type { ProcessErrorDetail } from "../model/schemas.ts";
import type { ApprovalState } from "../model/states.ts";
import { withoutNul } from "./output.ts";

const MAX_NAME_CHARACTERS = 1000;
const MAX_TEXT_CHARACTERS = 100_000;
const MAX_WARNING_CHARACTERS = 2000;

/** What came back from the environment. */
export type EnvironmentAnswer =
  | { kind: "returned"; value: unknown }
  /** `isNotStarted`: the host is at fault, and nothing of the script has run. */
  | { kind: "threw"; isNotStarted?: boolean }
  /** It was asked to end the run and did not, in the time it had. */
  | { kind: "unconfirmed" };

export interface ReportedError extends ProcessErrorDetail {
  reason: ExecutionReason | null;
}

export interface EndingInputs {
  answer: EnvironmentAnswer;
  /** What the host decided while the run was going on. */
  decided: Ending | null;
  /** A kill was asked before the environment had reported an error. */
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
      return takeWord(answer.value, reported, inputs.timeoutMs);
  }
}

function takeWord(
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
      return { exitState, reason, error: error ?? errorDetail("TimeoutError", timeoutSentence(timeoutMs)) };
    case "canceled":
      return { exitState, reason, error: reason === "killed" ? null : error };
  }
}

export const KILLED: Ending = { exitState: "canceled", reason: "killed", error: null };

/** Of a run whose environment did not keep its time limit. */
export function overdue(timeoutMs: number | null): Ending {
  const message = `${timeoutSentence(timeoutMs)} The environment did not end it, so the server did.`;
  return { exitState: "timeout", reason: "timeout", error: errorDetail("TimeoutError", message) };
}

function crashed(message: string): Ending {
  return failedWith("crashed", "EnvironmentError", message);
}

function timeoutSentence(timeoutMs: number | null): string {
  return timeoutMs === null
    ? "The environment ended the run for taking too long."
    : `The run took longer than its timeout of ${timeoutMs} ms.`;
}

/** Whether an environment answered with a whole outcome, of which nothing else is known yet. */
export function isOutcome(value: unknown): value is ExecutionOutcome {
  return typeof value === "object" && value !== null && "exitState" in value;
}

function isExitState(value: unknown): value is ExecutionExitState {
  return (EXECUTION_EXIT_STATES as readonly unknown[]).includes(value);
}

/** A reason that does not belong to the exit state is replaced by the first that does. */
function reasonOf(exitState: ExecutionExitState, reported: ExecutionReason | null): ExecutionReason {
  const reasons: readonly ExecutionReason[] = EXECUTION_REASONS[exitState];
  return reported !== null && reasons.includes(reported) ? reported : (reasons[0] as ExecutionReason);
}

function withoutReason({ reason: _, ...detail }: ReportedError): ProcessErrorDetail {
  return detail;
}

/** What an environment reported, without secrets and cut to what is stored. Throws TypeError for what is neither text nor a detail. */
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
  // Before it is cut: half a secret would not be recognised.
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

/** @throws ZodError for what is no warning. Secrets go before the cut: half of one would not be recognised. */
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

export class RunApprovals {
  readonly #events: ApprovalEvent[] = [];
  readonly #states = new Map<string, ApprovalState>();

  get events(): readonly ApprovalEvent[] {
    return this.#events;
  }

  /** Ids of those that wait for a person. */
  get pending(): string[] {
    return [...this.#states].filter(([, state]) => state === "pending").map(([id]) => id);
  }

  note(id: string, state: ApprovalState): void {
    if (this.#states.get(id) === state) return;
    this.#states.set(id, state);
    this.#events.push({ id, state });
  }

  /** The run is over: what it asked is not needed any more. */
  close(): void {
    for (const id of this.pending) this.note(id, "expired");
  }

  /**
   * A script that does not catch a denial ends by it. The sentence that the script got names the approval by an id that
   * cannot be guessed, so it is told from any other error.
   */
  explain(ending: Ending): Ending {
    const isOfScript = ending.reason === "script_error" || ending.reason === "unhandled_rejection";
    if (!isOfScript || ending.error === null) return ending;
    for (const [id, state] of this.#states) {
      if ((state !== "denied" && state !== "expired") || !ending.error.message.includes(id)) continue;
      return { ...ending, reason: state === "denied" ? "approval_denied" : "approval_expired" };
    }
    return ending;
  }
}
