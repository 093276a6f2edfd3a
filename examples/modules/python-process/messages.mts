/** What a run may say. A script can write to descriptor 3 whatever it likes, so each line is checked before use. */
import type { ErrorDetail } from "@cyrnel/sdk";

export const CALL_METHODS = [
  "invokeTool",
  "discoverServices",
  "discoverTools",
  "getService",
  "getTool",
  "getToolDocs",
  "ask",
] as const;
export type CallMethod = (typeof CALL_METHODS)[number];

export interface Call {
  type: "call";
  id: number;
  method: CallMethod;
  params: Record<string, unknown>;
}
export type Ending =
  | { type: "end"; ok: true; result?: unknown }
  | { type: "end"; ok: false; syntax: boolean; error: ErrorDetail };
export type Message = Call | Ending | { type: "output"; value: Record<string, unknown> };

const MAX_TEXT = 100_000;

/** Null for anything else. */
export function parseMessage(line: string): Message | null {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return null;
  }
  if (!isObject(json)) return null;
  if (json.type === "output" && isObject(json.value)) return { type: "output", value: json.value };
  if (json.type === "call") return parseCall(json);
  if (json.type === "end") return parseEnd(json);
  return null;
}

function parseCall({ id, method, params }: Record<string, unknown>): Call | null {
  const known = CALL_METHODS.find((name) => name === method);
  if (known === undefined || !Number.isSafeInteger(id) || !isObject(params)) return null;
  return { type: "call", id: id as number, method: known, params };
}

function parseEnd(json: Record<string, unknown>): Ending | null {
  if (json.ok === true) return { type: "end", ok: true, ...("result" in json && { result: json.result }) };
  const { error } = json;
  if (!isObject(error) || typeof error.name !== "string" || typeof error.message !== "string") return null;
  const detail: ErrorDetail = { name: error.name.slice(0, 1000), message: error.message.slice(0, MAX_TEXT) };
  if (typeof error.stack === "string") detail.stack = error.stack.slice(0, MAX_TEXT);
  if (isPosition(error.line)) detail.line = error.line;
  if (isPosition(error.column)) detail.column = error.column;
  return { type: "end", ok: false, syntax: json.syntax === true, error: detail };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function isPosition(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
