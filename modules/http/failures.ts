/** Errors of definitions and calls: a sentence and a machine word. Never a secret, never a query string. */
import { AdapterFailure, findRefusal, findSystemCode } from "#modules/shared/failures.ts";

export type CallErrorCode =
  | "invalid_parameters"
  | "no_credentials"
  | "unreachable"
  | "timeout"
  | "aborted"
  | "request_too_large"
  | "answer_too_large"
  | "unknown_coding"
  | "redirected"
  | "too_many_redirects"
  | "egress_refused"
  | "not_hydrated";

export class HttpError extends AdapterFailure<CallErrorCode> {
  override readonly name = "HttpError";
}

/** The definition is refused; the message is for the person who wants to install it. */
export class DefinitionError extends Error {
  override readonly name = "DefinitionError";
}

/**
 * What a transport failure is called. `what` names the request without its query. Texts of the cause are not repeated, except
 * those of the egress guard: they may quote the request.
 */
export function describeTransportFailure(error: unknown, what: string): HttpError {
  const refusal = findRefusal(error);
  if (refusal !== undefined) return new HttpError("egress_refused", refusal.message);
  const code = findSystemCode(error);
  return new HttpError("unreachable", `${what}: no answer came${code === undefined ? "" : ` (${code})`}.`);
}
