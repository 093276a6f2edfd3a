/**
 * What nearly every message of a child is, recognised without the library behind the schemas: whatever is found to be plain
 * here, they accept as it is. What is not may still be right: they say so, and if not, what is wrong.
 */
import type { BootedParams, ChildMessage, ReadyParams } from "./protocol-schemas.ts";

type Members = Record<string, unknown>;

const MAX_LAYER = 8;
const MAX_LAYERS = 9;
const MAX_NODE_CHARS = 50;
const MAX_ATTACKS = 100;

/** Null: ask the schemas. */
export function readPlainMessage(value: unknown): ChildMessage | null {
  if (!hasExactly(value, ["jsonrpc", "method", "params"]) || value.jsonrpc !== "2.0") return null;
  const check = typeof value.method === "string" ? CHECKS.get(value.method) : undefined;
  return check?.(value.params) ? (value as ChildMessage) : null;
}

const CHECKS = new Map<string, (params: unknown) => boolean>([
  ["booted", isBooted],
  ["ready", isReady],
  ["stdout", isText],
  ["stderr", isText],
  ["end", isSuccess],
]);

function isText(params: unknown): boolean {
  return hasExactly(params, ["text"]) && typeof params.text === "string";
}

function isSuccess(params: unknown): boolean {
  return (hasExactly(params, ["ok", "result"]) || hasExactly(params, ["ok"])) && params.ok === true;
}

function isBooted(params: unknown): boolean {
  const answers = isMembers(params) && Object.hasOwn(params, "answers");
  const names: (keyof BootedParams)[] = ["protocol", "node"];
  if (!hasExactly(params, answers ? [...names, "answers"] : names)) return false;
  const { protocol, node } = params;
  return (
    Number.isSafeInteger(protocol) &&
    typeof node === "string" &&
    node.length <= MAX_NODE_CHARS &&
    (!answers || areAnswers(params.answers))
  );
}

function isReady(params: unknown): boolean {
  const names: (keyof ReadyParams)[] = ["layers", "codeCache"];
  if (!hasExactly(params, names)) return false;
  const { layers, codeCache } = params;
  return (
    Array.isArray(layers) &&
    layers.length <= MAX_LAYERS &&
    layers.every((layer) => Number.isSafeInteger(layer) && layer >= 0 && layer <= MAX_LAYER) &&
    typeof codeCache === "boolean"
  );
}

function areAnswers(answers: unknown): boolean {
  return hasExactly(answers, ["birth", "locked"]) && [answers.birth, answers.locked].every(areNumbers);
}

function areNumbers(list: unknown): boolean {
  return Array.isArray(list) && list.length <= MAX_ATTACKS && list.every(Number.isFinite);
}

/** An object of JSON.parse with these members and no other. */
function hasExactly(value: unknown, names: readonly string[]): value is Members {
  if (!isMembers(value)) return false;
  return Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
