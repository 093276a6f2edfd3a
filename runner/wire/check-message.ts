/** Validates messages of a child. */
import type { z } from "zod";
import type { Frame } from "./frames.ts";
import {
  type ChildMessage,
  childMessageSchema,
  ENVELOPE_DEPTH,
  PROTOCOL_LIMITS,
  type SessionLimits,
} from "./protocol.ts";

/** A breach of the protocol or of a size limit. `message` goes into the log and the run's error. */
export interface Violation {
  kind: "violation";
  reason: "sandbox_violation" | "output_limit";
  message: string;
  /** A plain script can cause it too. Any other violation shows that the child was taken over. */
  mayBeHonest?: true;
}

export function violation(message: string, reason: Violation["reason"] = "sandbox_violation"): Violation {
  return { kind: "violation", reason, message };
}

/** For limits that the realm does not enforce, so that a plain script can exceed them. */
export function exceeding(message: string): Violation {
  return { ...violation(message, "output_limit"), mayBeHonest: true };
}

/** Returns the frame's message, or the rule it breaks. `totalBytes` counts all frames of the run so far. */
export function checkMessage(
  frame: Frame,
  totalBytes: number,
  limits: SessionLimits,
): { message: ChildMessage } | Violation {
  if (totalBytes > limits.maxTotalBytes) {
    return exceeding(`the run sent more than ${limits.maxTotalBytes} bytes`);
  }
  const parsed = childMessageSchema.safeParse(frame.value);
  if (!parsed.success) {
    return violation(`a message does not fit the protocol: ${describeIssue(parsed.error)}`);
  }
  const message = parsed.data;
  if (frame.attachment !== null && (message.method !== "writeFile" || message.params.text !== undefined)) {
    return violation(`${message.method}: only writeFile without text takes an attachment`);
  }
  const mayBeLarge = ["end", "output", "paused", "writeFile", "codeCache"].includes(message.method);
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
