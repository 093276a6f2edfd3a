/**
 * Parses keys for secrets as operators write them: 32 random bytes in base64. Weak keys are rejected, not just warned
 * about.
 */

import { createSecretKey, type KeyObject } from "node:crypto";

export const KEY_BYTES = 32;

/** Command that generates a key. */
export const MAKE_KEY_COMMAND = "openssl rand -base64 32";

/** Minimum number of distinct bytes. Of 10^10 random keys, about one has fewer. */
const MIN_DISTINCT_BYTES = 16;
const MAX_PERIOD_BYTES = KEY_BYTES / 2;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

export type KeyParse = { ok: true; key: KeyObject } | { ok: false; problem: string };

/**
 * Parses a key into an object that shows no bytes when printed. Problem messages never contain any part of the value.
 */
export function parseKeyMaterial(text: string): KeyParse {
  const trimmed = text.trim();
  const bytes = BASE64.test(trimmed) ? Buffer.from(trimmed, "base64url") : null;
  if (bytes?.length !== KEY_BYTES) {
    return {
      ok: false,
      problem: `expected ${KEY_BYTES} bytes in base64, which is 44 characters; found ${trimmed.length} characters (make one with: ${MAKE_KEY_COMMAND})`,
    };
  }
  const weakness = findWeakness(bytes);
  const key = createSecretKey(bytes);
  bytes.fill(0);
  if (weakness === null) return { ok: true, key };
  return {
    ok: false,
    problem: `too easy to guess: ${weakness}; expected ${KEY_BYTES} random bytes (make them with: ${MAKE_KEY_COMMAND})`,
  };
}

/** Returns why the bytes are not random, or null if they look random. */
function findWeakness(bytes: Buffer): string | null {
  if (bytes.every((byte) => byte === 0)) return "all bytes are zero";
  if (bytes.every((byte) => byte === bytes[0])) return "all bytes are the same";
  if (isPeriodic(bytes)) return "the bytes repeat";
  if (isSequence(bytes)) return "the bytes count up or down";
  const distinct = new Set(bytes).size;
  if (distinct < MIN_DISTINCT_BYTES) return `only ${distinct} different bytes`;
  if (bytes.every((byte) => byte >= 0x20 && byte < 0x7f))
    return "the bytes are text, so they were typed or encoded twice";
  return null;
}

function isPeriodic(bytes: Buffer): boolean {
  for (let period = 2; period <= MAX_PERIOD_BYTES; period += 1) {
    if (bytes.subarray(period).every((byte, index) => byte === bytes[index])) return true;
  }
  return false;
}

function isSequence(bytes: Buffer): boolean {
  const step = (index: number) => ((bytes[index + 1] ?? 0) - (bytes[index] ?? 0)) & 0xff;
  for (let index = 1; index < bytes.length - 1; index += 1) {
    if (step(index) !== step(0)) return false;
  }
  return true;
}
