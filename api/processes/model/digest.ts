/** Request digests of 32 bytes. Equal requests have equal digests, regardless of member order. */
import { createHash } from "node:crypto";
import type { ToolPath } from "#api/tools/contract.ts";
import { isRawInteger } from "#sdk";

/** Returns the SHA-256 digest. `parameters` are JSON data; `saveAs` names the file the answer is saved to. */
export function digestCall(
  { serviceId, toolId }: ToolPath,
  parameters: unknown,
  saveAs: string | undefined,
): Buffer {
  return digest(["call", serviceId, toolId, parameters, ...(saveAs === undefined ? [] : [saveAs])]);
}

export function digestQuestion(request: { message: string; schema?: unknown }): Buffer {
  return digest(["ask", request.message, request.schema ?? null]);
}

/** Returns the SHA-256 digest. `body` is the JSON the client sent, before defaults were filled in. */
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
