/** Call failures: one error type for host errors and adapter errors, made safe to show to a script. */
import { describeMismatch } from "#kernel/parameter-check.ts";
import type { Cut } from "../bounds/failure-text.ts";
import { isDatabaseUnavailable } from "../db/pool.ts";
import { AppError, type ErrorIssue } from "../errors.ts";
import type { CallOutcome, ToolPath } from "./contract.ts";
import type { CheckOutcome } from "./validation/validator.ts";

/** Error codes of the host, with their HTTP status. */
export const CALL_FAILURES = {
  invalid_parameters: { status: 400, outcome: "error" },
  policy_blocked: { status: 403, outcome: "denied" },
  approval_unavailable: { status: 403, outcome: "denied" },
  approval_denied: { status: 403, outcome: "denied" },
  approval_expired: { status: 409, outcome: "denied" },
  too_many_approvals: { status: 429, outcome: "denied" },
  not_found: { status: 404, outcome: "error" },
  service_disabled: { status: 409, outcome: "error" },
  service_stale: { status: 409, outcome: "error" },
  adapter_inactive: { status: 409, outcome: "error" },
  tool_disabled: { status: 409, outcome: "error" },
  too_many_calls: { status: 429, outcome: "error" },
  call_canceled: { status: 503, outcome: "canceled" },
  tool_schema_invalid: { status: 502, outcome: "error" },
  service_failed: { status: 502, outcome: "error" },
  tool_failed: { status: 502, outcome: "error" },
  result_invalid: { status: 502, outcome: "error" },
  result_too_large: { status: 502, outcome: "error" },
  call_timeout: { status: 504, outcome: "error" },
  call_unavailable: { status: 503, outcome: "error" },
} as const satisfies Record<string, { status: number; outcome: Exclude<CallOutcome, "ok"> }>;

export type CallFailureCode = keyof typeof CALL_FAILURES;

interface CallErrorFields {
  name: string;
  code?: string | undefined;
  status?: number | undefined;
  outcome: Exclude<CallOutcome, "ok">;
  failure: CallFailureCode;
  issues?: ErrorIssue[] | undefined;
  answer?: Record<string, unknown> | undefined;
  cause?: unknown;
}

/**
 * The error every failed call rejects with. A script sees only `name`, `message`, `code`, `status` and the members of
 * `answer`.
 */
export class CallError extends Error {
  override readonly name: string;
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly outcome: Exclude<CallOutcome, "ok">;
  /** The host's code: `tool_failed` for everything an adapter threw. */
  readonly failure: CallFailureCode;
  readonly issues: ErrorIssue[] | undefined;
  /** Redacted answer of the service. For HTTP: `{status, headers, body}`. */
  answer: Record<string, unknown> | undefined;

  constructor(message: string, fields: CallErrorFields) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = fields.name;
    this.code = fields.code;
    this.status = fields.status;
    this.outcome = fields.outcome;
    this.failure = fields.failure;
    this.issues = fields.issues;
    this.answer = fields.answer;
  }
}

export function refuseCall(
  failure: CallFailureCode,
  message: string,
  options: { issues?: ErrorIssue[]; cause?: unknown } = {},
): CallError {
  return new CallError(message, {
    name: "ToolError",
    code: failure,
    failure,
    ...CALL_FAILURES[failure],
    ...options,
  });
}

const MAX_MESSAGE_CHARACTERS = 10_000;
const MAX_WORD_CHARACTERS = 200;
const MAX_BODY_LINE_CHARACTERS = 300;

export interface Cleaning {
  cut: Cut;
  /** Returns `answer` as JSON data within the result limits. May throw. */
  answer(answer: object): unknown;
}

/**
 * Converts anything an adapter threw into limited, redacted text. Only cut text after redaction: a script controls
 * how much text precedes a secret, so cutting first could leave half of it. Never throws.
 */
export function readAdapterFailure(thrown: unknown, clean: Cleaning): CallError {
  let fields: Record<string, unknown> = {};
  let isUnreadable = false;
  try {
    const { name, message, code, status, answer } = (
      typeof thrown === "object" && thrown !== null ? thrown : { message: String(thrown) }
    ) as Record<string, unknown>;
    fields = { name, message, code, status, answer: readAnswer(answer, clean) };
  } catch {
    isUnreadable = true;
  }
  const word = (value: unknown) =>
    typeof value === "string" && value !== ""
      ? clean.cut(value, MAX_WORD_CHARACTERS).toWellFormed()
      : undefined;
  const message = typeof fields.message === "string" ? fields.message : "";
  const answer = fields.answer as CallError["answer"];
  return new CallError(
    message === "" || isUnreadable
      ? "The tool failed without saying why."
      : withBody(clean.cut(message, MAX_MESSAGE_CHARACTERS), answer?.body).toWellFormed(),
    {
      name: word(fields.name) ?? "Error",
      code: word(fields.code),
      status: isHttpStatus(fields.status) ? fields.status : undefined,
      outcome: "error",
      failure: "tool_failed",
      answer,
    },
  );
}

export function isHttpStatus(status: unknown): status is number {
  return typeof status === "number" && Number.isInteger(status) && status >= 100 && status < 600;
}

function readAnswer(answer: unknown, clean: Cleaning): unknown {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return undefined;
  try {
    return clean.answer(answer);
  } catch {
    return undefined;
  }
}

function withBody(message: string, body: unknown): string {
  const text = typeof body === "string" ? body : JSON.stringify(body ?? "");
  const line = text.split(/[\r\n]/).find((candidate) => candidate.trim() !== "") ?? "";
  if (body === undefined || body === null || line === "") return message;
  const shown = line.length > MAX_BODY_LINE_CHARACTERS ? `${line.slice(0, MAX_BODY_LINE_CHARACTERS)}…` : line;
  return `${message.replace(/\.$/, "")}: ${shown.trim()}`;
}

/** `path` is `service.tool`. */
export function toInvalidParameters(
  path: string,
  checked: Exclude<CheckOutcome, { kind: "valid" }>,
): CallError {
  switch (checked.kind) {
    case "invalid": {
      const { issues } = checked;
      return refuseCall("invalid_parameters", describeMismatch(path, issues), { issues });
    }
    case "busy":
      return refuseCall("too_many_calls", checked.message);
    case "timeout":
      return refuseCall("invalid_parameters", checked.message);
    case "unusable":
      return refuseCall("tool_schema_invalid", checked.message);
  }
}

/** Converts any call error into what a caller may know. The cause of an unexpected error is only logged. */
export function toCallError(
  error: unknown,
  log: { error(fields: object, message: string): void },
): CallError {
  if (error instanceof CallError) return error;
  const isKnown = error instanceof AppError && error.status < 500;
  if (!isKnown) log.error({ err: error }, "a tool call failed inside the server");
  const isAway =
    isDatabaseUnavailable(error) || (error instanceof AppError && error.code === "database_unavailable");
  return refuseCall(
    "call_unavailable",
    isAway
      ? "The call could not be made: the database does not answer at the moment. Try again shortly."
      : "The call could not be made: something went wrong inside the server.",
    { cause: error },
  );
}

/** `failure` is the redacted reason why the service's adapter rejected it. */
export function refuseUncallable(
  { serviceId, toolId }: ToolPath,
  { serviceEnabled, stale }: { serviceEnabled: boolean; stale: boolean },
  failure: string | null,
): CallError {
  if (!serviceEnabled) {
    return refuseCall(
      "service_disabled",
      `The service ${serviceId} is disabled, so ${serviceId}.${toolId} cannot be called.`,
    );
  }
  if (stale) {
    return refuseCall(
      "service_stale",
      `The service ${serviceId} is stale: its adapter has changed and could not read its definition. An administrator has to update it.`,
    );
  }
  return refuseCall(
    "service_failed",
    `The service ${serviceId} cannot be called: its adapter could not take it on: ${failure} An administrator has to mend it and enable it again.`,
  );
}

/** `own` is the number of calls in progress of this key or process. */
export function refuseSlot(
  limits: { maxInFlight: number; maxInFlightPerCaller: number },
  own: number,
  kind: "key" | "process",
): CallError {
  return refuseCall(
    "too_many_calls",
    own >= limits.maxInFlightPerCaller
      ? `${limits.maxInFlightPerCaller} calls of this ${kind} are under way already. Wait for some of them to end.`
      : `${limits.maxInFlight} calls are under way on this server (CYRNEL_MAX_CALLS_IN_FLIGHT). Try again shortly.`,
  );
}

export function refuseLate(maxMs: number): CallError {
  return refuseCall(
    "call_timeout",
    `The call took longer than ${maxMs} ms (CYRNEL_INVOKE_TIMEOUT_MS) and was cut off.`,
  );
}
