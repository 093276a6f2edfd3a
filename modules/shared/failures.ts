/** Adapter errors: a code and a message without secrets and with bounded foreign text. */

export class AdapterFailure<Code extends string = string> extends Error {
  readonly code: Code;
  /** HTTP status of the server, if it responded. */
  readonly status?: number;
  /** The server's response; its members become members of the script's error. */
  readonly answer?: object;

  constructor(
    code: Code,
    message: string,
    options: { status?: number; answer?: object; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options.status !== undefined) this.status = options.status;
    if (options.answer !== undefined) this.answer = options.answer;
  }
}

const MAX_CAUSES = 8;

export function* causesOf(error: unknown): Generator<Error & { code?: unknown }> {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    yield current;
    current = current.cause;
  }
}

/** Returns the host's egress error, which the adapter passes on unchanged. */
export function findRefusal(error: unknown): Error | undefined {
  return causesOf(error).find(({ code }) => code === "egress_refused");
}

/** Returns the innermost error code from the system or a library, such as `ECONNREFUSED`. */
export function findSystemCode(error: unknown): string | undefined {
  return [...causesOf(error)].map(({ code }) => code).find((code) => typeof code === "string");
}

/**
 * Makes foreign text storable and printable. `maxCharacters` is for definition text only: a server's response to a
 * call stays complete until the host has removed secrets and truncates it.
 */
export function quoteForeign(text: string, maxCharacters = Number.POSITIVE_INFINITY): string {
  const clean = cleanText(text).trim();
  return clean.length > maxCharacters ? `${clean.slice(0, maxCharacters - 3).toWellFormed()}...` : clean;
}

/** Removes lone surrogates and all control characters except line breaks and tabs. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll(/[^\P{Cc}\n\t]/gu, " ");
}
