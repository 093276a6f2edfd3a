/** How a call fails: one error type for refusals of the host and failures of an adapter, made safe to show to a script. */
import type { ErrorIssue } from "../../errors.ts";

/** Of a call that is over: what the trail and the audit say. */
export type CallOutcome = "ok" | "error" | "denied" | "canceled";

/** Refusals and failures that the host states, and their HTTP status. */
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
  cause?: unknown;
}

/** Everything a call rejects with. A script sees `name`, `message`, `code` and `status`; nothing else crosses. */
export class CallError extends Error {
  override readonly name: string;
  /** The host's word, or whatever the adapter gave. */
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly outcome: Exclude<CallOutcome, "ok">;
  /** What it is to the host: `tool_failed` for everything an adapter threw. */
  readonly failure: CallFailureCode;
  readonly issues: ErrorIssue[] | undefined;

  constructor(message: string, fields: CallErrorFields) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = fields.name;
    this.code = fields.code;
    this.status = fields.status;
    this.outcome = fields.outcome;
    this.failure = fields.failure;
    this.issues = fields.issues;
  }
}

/** A refusal or failure of the host. */
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

/** What an adapter threw, whatever it is, as text without secrets; `clean` replaces them. Never throws. */
export function readAdapterFailure(thrown: unknown, clean: (text: string) => string): CallError {
  let fields: { name?: unknown; message?: unknown; code?: unknown; status?: unknown } = {};
  let isUnreadable = false;
  try {
    const { name, message, code, status } = (
      typeof thrown === "object" && thrown !== null ? thrown : { message: String(thrown) }
    ) as Record<string, unknown>;
    fields = { name, message, code, status };
  } catch {
    isUnreadable = true;
  }
  const word = (value: unknown) =>
    typeof value === "string" && value !== ""
      ? clean(value.slice(0, MAX_MESSAGE_CHARACTERS)).slice(0, MAX_WORD_CHARACTERS)
      : undefined;
  const message = typeof fields.message === "string" ? fields.message : "";
  const isStatus =
    typeof fields.status === "number" &&
    Number.isInteger(fields.status) &&
    fields.status >= 100 &&
    fields.status < 600;
  return new CallError(
    message === "" || isUnreadable
      ? "The tool failed without saying why."
      : clean(message).toWellFormed().slice(0, MAX_MESSAGE_CHARACTERS),
    {
      name: word(fields.name) ?? "Error",
      code: word(fields.code),
      status: isStatus ? (fields.status as number) : undefined,
      outcome: "error",
      failure: "tool_failed",
    },
  );
}
