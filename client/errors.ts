/** Error of a failed request: one type for all routes, with the server's message and code. */

export interface ErrorIssue {
  path: string;
  message: string;
}

/** Error response. `code` is listed in docs/errors.md, or is `http_error` if a proxy responded. */
export class CyrnelError extends Error {
  override readonly name = "CyrnelError";
  readonly status: number;
  readonly code: string;
  /** Identifies the request in the server's log; null if the response had no id. */
  readonly requestId: string | null;
  readonly issues: readonly ErrorIssue[];
  /** Value of `Retry-After` in milliseconds, or null. */
  readonly retryAfterMs: number | null;

  constructor(response: Response, body: unknown) {
    const { error, code, requestId, issues } = asRecord(body);
    super(
      typeof error === "string"
        ? error
        : `The server answered ${response.status} ${response.statusText}`.trimEnd(),
    );
    this.status = response.status;
    this.code = typeof code === "string" ? code : "http_error";
    this.requestId = typeof requestId === "string" ? requestId : null;
    this.issues = Array.isArray(issues) ? issues.map(readIssue) : [];
    this.retryAfterMs = readRetryAfterMs(response.headers.get("retry-after"), Date.now());
  }
}

/** Returns the data of a typed client's response. Throws CyrnelError for an error response. */
export function unwrap<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (!answer.response.ok) throw new CyrnelError(answer.response, answer.error);
  return answer.data as T;
}

/** Converts a number of seconds or a date to milliseconds from `now`; returns null for anything else. */
export function readRetryAfterMs(text: string | null, now: number): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

function readIssue(value: unknown): ErrorIssue {
  const { path, message } = asRecord(value);
  return { path: String(path ?? ""), message: String(message ?? "") };
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
