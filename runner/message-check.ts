/** Whether what a child sends fits the protocol and the limits of its run. */
import type { z } from "zod";
import { ENVELOPE_DEPTH } from "./channel.ts";
import type { Frame } from "./frames.ts";
import { readPlainMessage } from "./plain-messages.ts";
import { type ChildMessage, PROTOCOL_LIMITS } from "./protocol.ts";
import { childMessageSchema } from "./protocol-schemas.ts";
import type { SessionLimits } from "./session-limits.ts";

/** The child broke the protocol or a size limit; `message` says which, for the log and the run's error. */
export interface Violation {
  kind: "violation";
  reason: "sandbox_violation" | "output_limit";
  message: string;
}

export function violation(message: string, reason: Violation["reason"] = "sandbox_violation"): Violation {
  return { kind: "violation", reason, message };
}

/** The message a frame holds, or the limit or rule it breaks. `totalBytes`: of all frames of the run so far. */
export function checkMessage(
  frame: Frame,
  totalBytes: number,
  limits: SessionLimits,
): { message: ChildMessage } | Violation {
  if (totalBytes > limits.maxTotalBytes) {
    return violation(`the run sent more than ${limits.maxTotalBytes} bytes`, "output_limit");
  }
  const plain = readPlainMessage(frame.value);
  const parsed = plain === null ? childMessageSchema.safeParse(frame.value) : null;
  if (parsed?.success === false)
    return violation(`a message does not fit the protocol: ${describeIssue(parsed.error)}`);
  const message = plain ?? (parsed?.data as ChildMessage);
  const mayBeLarge = ["end", "output", "paused"].includes(message.method);
  const maxBytes = mayBeLarge ? limits.maxEndBytes : limits.maxMessageBytes;
  if (frame.bytes > maxBytes) {
    return violation(
      `a ${message.method} message of ${frame.bytes} bytes; at most ${maxBytes} are allowed`,
      "output_limit",
    );
  }
  const maxDepth = message.method === "end" ? PROTOCOL_LIMITS.maxResultDepth : PROTOCOL_LIMITS.maxDepth;
  if (frame.depth > maxDepth + ENVELOPE_DEPTH) {
    return violation(`a ${message.method} message is nested deeper than ${maxDepth} levels`);
  }
  return { message };
}

function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "unknown";
  return `${issue.path.map(String).join(".") || "message"}: ${issue.message}`.slice(0, 300);
}
