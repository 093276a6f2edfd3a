/** Definition and call errors. They contain no secret and no query string. */
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

export class DefinitionError extends Error {
  override readonly name = "DefinitionError";
}

/**
 * Describes a transport failure; `what` names the request without its query. Quotes the cause only if it is an egress
 * error: others may quote the request.
 */
export function describeTransportFailure(error: unknown, what: string): HttpError {
  const refusal = findRefusal(error);
  if (refusal !== undefined) return new HttpError("egress_refused", refusal.message);
  const code = findSystemCode(error);
  return new HttpError("unreachable", `${what} got no response${code === undefined ? "" : ` (${code})`}.`);
}
