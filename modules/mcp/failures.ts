/** How this adapter fails: an Error with a code, in sentences that hold no secret and no more of a server's text than fits. */
export type FailureCode =
  | "mcp_bad_answer"
  | "mcp_bad_settings"
  | "mcp_canceled"
  | "mcp_connection_lost"
  | "mcp_error"
  | "mcp_refused"
  | "mcp_timeout"
  | "mcp_too_large"
  | "mcp_tool_error"
  | "mcp_unreachable";

const MAX_FOREIGN_CHARACTERS = 2000;

export class McpFailure extends Error {
  override readonly name = "McpFailure";
  readonly code: FailureCode;
  /** The HTTP status of the server, where there was one. */
  readonly status?: number;

  constructor(code: FailureCode, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options.status !== undefined) this.status = options.status;
  }
}

/** Foreign text on one line, cut. */
export function quoteForeign(text: string, maxCharacters = MAX_FOREIGN_CHARACTERS): string {
  const clean = cleanText(text).trim();
  return clean.length > maxCharacters ? `${clean.slice(0, maxCharacters - 3).toWellFormed()}...` : clean;
}

/** What can be stored and shown: well-formed, no control characters but line breaks and tabs. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll(/[^\P{Cc}\n\t]/gu, " ");
}

/** Whatever was thrown on the way to a server, as a failure. Refusals of the host's egress rules stay what they are. */
export function toFailure(error: unknown): Error {
  if (error instanceof McpFailure) return error;
  const refusal = findInChain(error, (link) => link.code === "egress_refused");
  if (refusal !== undefined) return refusal;
  const own = findInChain(error, (link) => link instanceof McpFailure);
  if (own !== undefined) return own;
  if (isProtocolError(error)) return fromProtocol(error);
  const { name, message = "", code } = asError(error);
  if (/ZodError$/.test(name ?? "") || error instanceof SyntaxError) {
    return new McpFailure("mcp_bad_answer", "The server's answer is not what the protocol prescribes.", {
      cause: error,
    });
  }
  const posted = /\(HTTP (\d{3})\)/.exec(message)?.[1];
  const status = typeof code === "number" && code >= 100 && code <= 599 ? code : posted && Number(posted);
  if (status) {
    const text = quoteForeign(
      message.replace(/^(Streamable HTTP|SSE) error: |Error POSTing to endpoint( \(HTTP \d+\))?: /g, ""),
    );
    return new McpFailure("mcp_refused", `The server answered ${status}: ${text || "no text"}`, {
      status,
      cause: error,
    });
  }
  const system = findInChain(error, (link) => typeof link.code === "string" && /^[A-Z_]+$/.test(link.code));
  const reason = system === undefined ? quoteForeign(message) : `${system.code}`;
  return new McpFailure("mcp_unreachable", `The server cannot be reached: ${reason || "no reason given"}.`, {
    cause: error,
  });
}

/** The library's own error. By name: it is not loaded before a server is asked for something. */
function isProtocolError(error: unknown): error is Error & { code: number } {
  return error instanceof Error && error.name === "McpError" && typeof (error as Link).code === "number";
}

/** Of the library, not of the protocol. */
const CONNECTION_CLOSED = -32000;
const REQUEST_TIMEOUT = -32001;

function fromProtocol(error: Error & { code: number }): McpFailure {
  // The library puts its own prefix before the server's words.
  const text = quoteForeign(error.message.replace(/^MCP error -?\d+: /, ""));
  if (error.code === CONNECTION_CLOSED) {
    return new McpFailure("mcp_connection_lost", "The connection ended before the server answered.");
  }
  if (error.code === REQUEST_TIMEOUT) {
    return new McpFailure("mcp_timeout", "The server did not answer in time.", { cause: error });
  }
  return new McpFailure("mcp_error", `The server refused the request (${error.code}): ${text || "no text"}`, {
    cause: error,
  });
}

type Link = Error & { code?: unknown };

const MAX_CHAIN = 8;

function findInChain(error: unknown, matches: (link: Link) => boolean): Link | undefined {
  let link = error;
  for (let depth = 0; depth < MAX_CHAIN && link instanceof Error; depth += 1) {
    if (matches(link)) return link;
    link = link.cause;
  }
  return undefined;
}

function asError(error: unknown): { name?: string; message?: string; code?: unknown } {
  return error instanceof Error ? error : { message: String(error) };
}
