/** How adapters fail: an Error with a code, in sentences without secrets and with bounded foreign text. */

export class AdapterFailure<Code extends string = string> extends Error {
  readonly code: Code;
  /** The HTTP status of the server, where there was one. */
  readonly status?: number;
  /** What the server answered: its members become members of the script's error. */
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

/** Each error of the chain of causes, the outermost first. */
export function* causesOf(error: unknown): Generator<Error & { code?: unknown }> {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    yield current;
    current = current.cause;
  }
}

/** The refusal of the host's egress rules among the causes; it is passed on unchanged. */
export function findRefusal(error: unknown): Error | undefined {
  return causesOf(error).find(({ code }) => code === "egress_refused");
}

/** The innermost error code of the system or a library: `ECONNREFUSED`. */
export function findSystemCode(error: unknown): string | undefined {
  return [...causesOf(error)].map(({ code }) => code).find((code) => typeof code === "string");
}

/**
 * Foreign text that can be stored and shown. What a server has answered to a call is left whole: the host cuts it, after it has
 * taken secrets out. `maxCharacters` is for what comes from a definition.
 */
export function quoteForeign(text: string, maxCharacters = Number.POSITIVE_INFINITY): string {
  const clean = cleanText(text).trim();
  return clean.length > maxCharacters ? `${clean.slice(0, maxCharacters - 3).toWellFormed()}...` : clean;
}

/** Well-formed, and without control characters but line breaks and tabs. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll(/[^\P{Cc}\n\t]/gu, " ");
}
