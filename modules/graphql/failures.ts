/** How this adapter fails: an Error with a code, in sentences that hold no secret and no more of an endpoint's text than fits. */

export type FailureCode =
  | "graphql_bad_answer"
  | "graphql_bad_definition"
  | "graphql_bad_parameters"
  | "graphql_bad_settings"
  | "graphql_canceled"
  | "graphql_error"
  | "graphql_refused"
  | "graphql_timeout"
  | "graphql_too_large"
  | "graphql_unreachable";

const MAX_FOREIGN_CHARACTERS = 2000;

export class GraphqlFailure extends Error {
  override readonly name = "GraphqlFailure";
  readonly code: FailureCode;
  /** The HTTP status of the endpoint, where it says something. */
  readonly status?: number;

  constructor(code: FailureCode, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options.status !== undefined) this.status = options.status;
  }
}

/** Foreign text that can be stored and shown: well-formed, no control characters but line breaks and tabs, cut. */
export function quoteForeign(text: string, maxCharacters = MAX_FOREIGN_CHARACTERS): string {
  const clean = text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n\t]/gu, " ")
    .trim();
  return clean.length > maxCharacters ? `${clean.slice(0, maxCharacters - 3).toWellFormed()}...` : clean;
}

/** The message of what a library has thrown about foreign input. */
export function messageOf(error: unknown): string {
  if (error instanceof RangeError && /call stack/i.test(error.message)) return "it is nested too deeply";
  return quoteForeign(error instanceof Error ? error.message : String(error));
}
