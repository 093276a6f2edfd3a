/** The error of a failed request: one type for all routes, with the server's message and code. */

export interface ErrorIssue {
  path: string;
  message: string;
}

/** An error answer. `code` is one of docs/errors.md, or `http_error` where a proxy answered. */
export class CyrnelError extends Error {
  override readonly name = "CyrnelError";
  readonly status: number;
  readonly code: string;
  /** For the server's log; null when the answer named none. */
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

/** The data of an answer of the typed client. Throws CyrnelError for an error answer. */
export function unwrap<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (!answer.response.ok) throw new CyrnelError(answer.response, answer.error);
  return answer.data as T;
}

/** A number of seconds or a date, as milliseconds from `now`; null for anything else. */
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
