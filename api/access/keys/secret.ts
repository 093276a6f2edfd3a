/**
 * A key has 256 random bits and cannot be guessed from a stolen hash, so SHA-256 is enough: it costs a request
 * microseconds, where a password hash would cost a core.
 */
import { createHash, randomBytes } from "node:crypto";

const KEY_MARK = "cyk_";
const KEY_BYTES = 32;
const PREFIX_CHARACTERS = KEY_MARK.length + 8;
const KEY_PATTERN = /^cyk_[A-Za-z0-9_-]{43}$/;

export interface MadeKey {
  key: string;
  prefix: string;
  hash: Buffer;
}

export function makeKey(): MadeKey {
  const key = KEY_MARK + randomBytes(KEY_BYTES).toString("base64url");
  return { key, prefix: key.slice(0, PREFIX_CHARACTERS), hash: hashKey(key) };
}

export function hashKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

export function looksLikeKey(text: string): boolean {
  return KEY_PATTERN.test(text);
}
