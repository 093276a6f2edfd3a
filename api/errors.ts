/**
 * The catalog of all error codes that HTTP clients can receive. docs/errors.md documents each code; a test compares
 * it, the catalog and the OpenAPI document.
 */

/** Code -> HTTP status and, for 5xx, the generic message for clients. The real cause is only logged. */
export const ERROR_CATALOGUE = {
  invalid_json: { status: 400 },
  invalid_request: { status: 400 },
  invalid_cursor: { status: 400 },
  process_has_outputs: { status: 400 },
  builtin_module: { status: 400 },
  invalid_package: { status: 400 },
  invalid_definition: { status: 400 },
  invalid_parameters: { status: 400 },
  unauthorized: { status: 401 },
  forbidden: { status: 403 },
  policy_blocked: { status: 403 },
  approval_unavailable: { status: 403 },
  approval_denied: { status: 403 },
  self_approval: { status: 403 },
  not_found: { status: 404 },
  not_acceptable: { status: 406 },
  process_not_idle: { status: 409 },
  process_idle: { status: 409 },
  ref_taken: { status: 409 },
  name_taken: { status: 409 },
  role_in_use: { status: 409 },
  policy_order_mismatch: { status: 409 },
  already_decided: { status: 409 },
  approval_expired: { status: 409 },
  limit_reached: { status: 409 },
  module_missing: { status: 409 },
  module_taken: { status: 409 },
  service_taken: { status: 409 },
  service_stale: { status: 409 },
  adapter_inactive: { status: 409 },
  service_disabled: { status: 409 },
  secrets_outdated: { status: 409 },
  tool_disabled: { status: 409 },
  no_source: { status: 409 },
  environments_draining: { status: 409 },
  precondition_failed: { status: 412 },
  body_too_large: { status: 413 },
  payload_too_large: { status: 413 },
  storage_full: { status: 413 },
  unsupported_media_type: { status: 415 },
  range_not_satisfiable: { status: 416 },
  idempotency_mismatch: { status: 422 },
  too_many_processes: { status: 429 },
  rate_limited: { status: 429 },
  too_many_calls: { status: 429 },
  too_many_approvals: { status: 429 },
  too_many_streams: { status: 429 },
  too_many_uploads: { status: 429 },
  too_many_bodies: { status: 429 },
  internal_error: { status: 500 },
  secrets_key_missing: { status: 500 },
  module_failed: { status: 502 },
  download_failed: { status: 502 },
  egress_refused: { status: 502 },
  service_failed: { status: 502 },
  tool_failed: { status: 502 },
  tool_schema_invalid: { status: 502 },
  result_invalid: { status: 502 },
  result_too_large: { status: 502 },
  invalid_descriptor: { status: 502 },
  hash_mismatch: { status: 502 },
  no_environment: { status: 503 },
  shutting_down: { status: 503 },
  server_busy: { status: 503 },
  database_unavailable: { status: 503 },
  storage_unavailable: { status: 503 },
  call_canceled: { status: 503 },
  call_unavailable: { status: 503 },
  call_timeout: { status: 504 },
  audit_unavailable: { status: 503 },
} as const satisfies Record<string, { status: number }>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

/** One problem in a request, with its path (`body.options.timeout`). */
export interface ErrorIssue {
  path: string;
  message: string;
}

export interface AppErrorOptions {
  issues?: ErrorIssue[];
  /** Seconds for the `Retry-After` header. */
  retryAfterSeconds?: number;
  cause?: unknown;
}

/**
 * An error that HTTP clients receive. The message says what was expected, what was found and what to do. It never
 * contains a secret, a stack or script source.
 */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly status: number;
  readonly issues: ErrorIssue[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = ERROR_CATALOGUE[code].status;
    this.issues = options.issues;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}
