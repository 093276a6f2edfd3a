/**
 * Worker thread that parses request bodies too large for the main thread. They consist almost entirely of strings.
 */
import { parentPort } from "node:worker_threads";
import { measureDepth } from "#kernel/json-depth.ts";
import { type LargeJsonAnswer, MAX_BODY_DEPTH } from "./large.ts";

const MAX_KEYS = 20;
/** Limit for all data except the strings, as JSON: transferring much other data would block the waiting thread. */
const MAX_OTHER_CHARACTERS = 64 * 1024;

const TOO_MUCH: LargeJsonAnswer = {
  ok: false,
  problem:
    "A request body of more than 1 MiB must be an object of texts, with at most 64 KiB of anything else.",
};

parentPort?.on("message", (bytes: Uint8Array) => parentPort?.postMessage(read(bytes)));

function read(bytes: Uint8Array): LargeJsonAnswer {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { ok: false, problem: "The request body is not valid UTF-8." };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    const where = position === undefined ? "" : `: unexpected input at position ${position}`;
    return { ok: false, problem: `The request body is not valid JSON${where}.` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return TOO_MUCH;
  const entries = Object.entries(value);
  const others = JSON.stringify(entries.map(([key, item]) => (typeof item === "string" ? key : [key, item])));
  if (entries.length > MAX_KEYS || others.length > MAX_OTHER_CHARACTERS) return TOO_MUCH;
  if (measureDepth(Buffer.from(others), MAX_BODY_DEPTH) > MAX_BODY_DEPTH) {
    return { ok: false, problem: `The request body is nested deeper than ${MAX_BODY_DEPTH} levels.` };
  }
  if (/"(__proto__|constructor)"/.test(others)) {
    return {
      ok: false,
      problem: "The request body has a key that is not allowed (__proto__ or constructor).",
    };
  }
  return { ok: true, value: value as Record<string, unknown> };
}
