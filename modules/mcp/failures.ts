import { AdapterFailure, causesOf, findRefusal, quoteForeign } from "#modules/shared/failures.ts";

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

export class McpFailure extends AdapterFailure<FailureCode> {
  override readonly name = "McpFailure";
}

export const refuseSettings = (problem: string) => new McpFailure("mcp_bad_settings", problem);

/** Converts an error from the MCP library or the transport. The host's egress errors stay unchanged. */
export function toFailure(error: unknown): Error {
  if (error instanceof McpFailure) return error;
  const refusal = findRefusal(error);
  if (refusal !== undefined) return refusal;
  const own = causesOf(error).find((cause) => cause instanceof McpFailure);
  if (own !== undefined) return own;
  if (isProtocolError(error)) return fromProtocol(error);
  const { name, message = "", code } = asError(error);
  if (/ZodError$/.test(name ?? "") || error instanceof SyntaxError) {
    return new McpFailure("mcp_bad_answer", "The server's response does not follow the protocol.", {
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
  const system = causesOf(error).find(
    (cause) => typeof cause.code === "string" && /^[A-Z_]+$/.test(cause.code),
  );
  const reason = system === undefined ? quoteForeign(message) : `${system.code}`;
  return new McpFailure("mcp_unreachable", `The server cannot be reached: ${reason || "no reason given"}.`, {
    cause: error,
  });
}

/** Recognizes the library's error by name, because the library may not be loaded yet. */
function isProtocolError(error: unknown): error is Error & { code: number } {
  return (
    error instanceof Error && error.name === "McpError" && "code" in error && typeof error.code === "number"
  );
}

/** Defined by the MCP library, not by the protocol. */
const CONNECTION_CLOSED = -32000;
const REQUEST_TIMEOUT = -32001;

function fromProtocol(error: Error & { code: number }): McpFailure {
  // Removes the prefix that the library adds to the server's message.
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

function asError(error: unknown): { name?: string; message?: string; code?: unknown } {
  return error instanceof Error ? error : { message: String(error) };
}
