/**
 * What a key looks like and how it is made. 256 random bits: they cannot be tried out against a stolen hash, however
 * fast the hash is, so SHA-256 is enough and costs a request microseconds where a password hash would cost a core.
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

/** Whether a text could be a key of this feature: anything else needs no look at what is stored. */
export function looksLikeKey(text: string): boolean {
  return KEY_PATTERN.test(text);
}
