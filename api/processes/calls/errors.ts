/** Errors of a script's requests to the host, as they appear in the script, its journal and its trail. */
import type { CallEnding, CallReply } from "../model/calls.ts";
import type { CallStatus } from "../model/event-schemas.ts";

/**
 * Error thrown to a script. Only `name`, `message`, `code` and `status` cross the process boundary; stacks do not.
 */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: string;
  readonly status: number | undefined;
  readonly outcome: Exclude<CallStatus, "ok">;

  constructor(code: string, message: string, status?: number, outcome: Exclude<CallStatus, "ok"> = "error") {
    super(message);
    this.code = code;
    this.status = status;
    this.outcome = outcome;
  }
}

export function runEnded(): ToolError {
  return new ToolError("run_ended", "The run of this call has ended.", undefined, "canceled");
}

const FAILED: ReadonlySet<unknown> = new Set<CallStatus>(["error", "denied", "canceled"]);

/** Converts an error into a call ending. Only host errors have an `outcome`; errors thrown by adapters do not. */
export function endingOf(error: unknown): CallEnding {
  const outcome = error instanceof Error && "outcome" in error ? error.outcome : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return { status: FAILED.has(outcome) ? (outcome as CallStatus) : "error", error: message };
}

export function toReply(error: unknown): CallReply {
  const { name, message, code, status, outcome, answer } = error as Record<string, unknown>;
  return {
    ok: false,
    error: {
      name: typeof name === "string" ? name : "Error",
      message: typeof message === "string" ? message : String(error),
      ...(typeof code === "string" && { code }),
      ...(typeof status === "number" && { status }),
      ...(typeof outcome === "string" && { outcome }),
      ...(answer !== undefined && { answer }),
    },
  };
}

/** Returns the value, or throws the error, that the script got. */
export function readReply(reply: CallReply): unknown {
  if (reply.ok) return reply.value;
  const { name, message, ...rest } = reply.error;
  throw Object.assign(new Error(message), { name }, rest);
}
