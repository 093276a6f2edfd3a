/** Errors of a call: a sentence, a machine word, sometimes an HTTP status. Never a secret, never a query string. */

export type CallErrorCode =
  | "invalid_parameters"
  | "no_credentials"
  | "invalid_credentials"
  | "unreachable"
  | "timeout"
  | "aborted"
  | "answer_too_large"
  | "malformed_answer"
  | "too_many_redirects"
  | "egress_refused"
  | "unsupported_method"
  | "not_hydrated";

export class CallError extends Error {
  override name = "OpenApiError";
  readonly code: CallErrorCode;
  readonly status?: number;

  constructor(code: CallErrorCode, message: string, status?: number) {
    super(message);
    this.code = code;
    if (status !== undefined) this.status = status;
  }
}

const MAX_CAUSES = 8;

/** Each error of the chain of causes, the outermost first. */
export function* causesOf(error: unknown): Generator<Error & { code?: unknown }> {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    yield current;
    current = current.cause;
  }
}

const RESETS = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

export function isConnectionReset(error: unknown): boolean {
  return causesOf(error).some(({ code }) => typeof code === "string" && RESETS.has(code));
}

/**
 * What a transport failure is called. `what` names the request without its query. Texts of the cause are not repeated,
 * except those of the egress guard: they may quote the request.
 */
export function describeTransportFailure(error: unknown, what: string): CallError {
  for (const { code, message } of causesOf(error)) {
    if (code === "egress_refused") return new CallError("egress_refused", message);
  }
  const code = [...causesOf(error)].map((cause) => cause.code).find((found) => typeof found === "string");
  return new CallError("unreachable", `${what}: no answer came${code === undefined ? "" : ` (${code})`}.`);
}
