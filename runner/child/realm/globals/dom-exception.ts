/** `DOMException` (WebIDL, "DOMException"), loaded on first use. */

const LEGACY_CODES: Record<string, number> = {
  InvalidCharacterError: 5,
  InvalidStateError: 11,
  NotSupportedError: 9,
  SyntaxError: 12,
  AbortError: 20,
  QuotaExceededError: 22,
  TimeoutError: 23,
  DataCloneError: 25,
};

export class DOMException extends Error {
  readonly #name: string;

  constructor(message = "", options: string | { name?: string; cause?: unknown } = "Error") {
    super(message, typeof options === "object" && "cause" in options ? { cause: options.cause } : undefined);
    this.#name = String(typeof options === "object" ? (options.name ?? "Error") : options);
  }

  override get name(): string {
    return this.#name;
  }

  get code(): number {
    return LEGACY_CODES[this.#name] ?? 0;
  }

  get [Symbol.toStringTag](): string {
    return "DOMException";
  }
}
