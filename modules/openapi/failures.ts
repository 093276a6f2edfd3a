/** Call errors: a message, a code and sometimes an HTTP status. Never contain a secret or a query string. */
import { AdapterFailure, causesOf, findRefusal, findSystemCode } from "#modules/shared/failures.ts";

export type CallErrorCode =
  | "invalid_parameters"
  | "no_credentials"
  | "invalid_credentials"
  | "unreachable"
  | "timeout"
  | "aborted"
  | "http_error"
  | "answer_too_large"
  | "malformed_answer"
  | "too_many_redirects"
  | "egress_refused"
  | "unsupported_method"
  | "not_hydrated";

export class CallError extends AdapterFailure<CallErrorCode> {
  override readonly name = "OpenApiError";

  constructor(code: CallErrorCode, message: string, status?: number, answer?: object) {
    super(code, message, { ...(status !== undefined && { status }), ...(answer && { answer }) });
  }
}

/** Rejects a document. The message is for the operator who installs it. */
export class DocumentError extends Error {
  override name = "DocumentError";
}

const RESETS = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

export function isConnectionReset(error: unknown): boolean {
  return causesOf(error).some(({ code }) => typeof code === "string" && RESETS.has(code));
}

/**
 * Describes a transport failure. `what` names the request without its query. Omits the cause's messages, which may
 * quote the request, except those of the egress guard.
 */
export function describeTransportFailure(error: unknown, what: string): CallError {
  const refusal = findRefusal(error);
  if (refusal !== undefined) return new CallError("egress_refused", refusal.message);
  const code = findSystemCode(error);
  return new CallError("unreachable", `${what}: no response${code === undefined ? "" : ` (${code})`}.`);
}
