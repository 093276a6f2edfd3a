/** A request as 32 bytes: equal requests have equal digests, however their members were ordered. */
import { createHash } from "node:crypto";
import type { ToolPath } from "#api/tools/contract.ts";
import { isRawInteger } from "#sdk";

/** SHA-256. `parameters` are JSON data; `saveAs` names the file that the answer becomes. */
export function digestCall(
  { serviceId, toolId }: ToolPath,
  parameters: unknown,
  saveAs: string | undefined,
): Buffer {
  return digest(["call", serviceId, toolId, parameters, ...(saveAs === undefined ? [] : [saveAs])]);
}

/** SHA-256. */
export function digestQuestion(request: { message: string; schema?: unknown }): Buffer {
  return digest(["ask", request.message, request.schema ?? null]);
}

/** SHA-256. `body` is the JSON that a client has sent, before anything was filled in. */
export function digestBody(body: unknown): Buffer {
  return digest(["body", body]);
}

function digest(value: unknown): Buffer {
  const text = JSON.stringify(value, (_key, member: unknown) => {
    if (member === null || typeof member !== "object" || Array.isArray(member) || isRawInteger(member)) {
      return member;
    }
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return createHash("sha256").update(text).digest();
}
