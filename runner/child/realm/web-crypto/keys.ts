/**
 * Keys of `crypto.subtle` (Web Cryptography, "HMAC"): secrets in the script's memory, for signatures such as those of
 * web tokens and webhooks. Loaded on first use, with the hashes of crypto.ts.
 */
import { hmac } from "@noble/hashes/hmac.js";
import type { CHash } from "@noble/hashes/utils.js";
import { DOMException } from "../globals/dom-exception.ts";

type Data = ArrayBuffer | ArrayBufferView;
type Named = string | { name: string };

interface HmacOptions {
  name: string;
  hash?: Named;
  /** Length in bits. */
  length?: number;
}

interface SecretJwk {
  kty?: string;
  k?: string;
  alg?: string;
  use?: string;
  key_ops?: string[];
  ext?: boolean;
}

const USAGES = "encrypt decrypt sign verify deriveKey deriveBits wrapKey unwrapKey".split(" ");
const OF_HMAC = ["sign", "verify"];
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const MAX_SECRET_BYTES = 65_536;

let mayConstruct = false;

export class CryptoKey {
  readonly #secret: Uint8Array;
  readonly #hash: CHash;
  readonly #extractable: boolean;
  readonly #algorithm: object;
  readonly #usages: readonly string[];

  constructor(
    secret: Uint8Array,
    hash: CHash,
    name: string,
    extractable: boolean,
    usages: readonly string[],
  ) {
    if (!mayConstruct) throw new TypeError("Illegal constructor: use crypto.subtle.importKey.");
    this.#secret = secret;
    this.#hash = hash;
    this.#extractable = extractable;
    this.#algorithm = Object.freeze({
      name: "HMAC",
      hash: Object.freeze({ name }),
      length: secret.length * 8,
    });
    this.#usages = Object.freeze([...usages]);
  }

  static open(key: unknown): { secret: Uint8Array; hash: CHash } {
    if (!(key instanceof CryptoKey)) throw new TypeError("Expected a CryptoKey.");
    return { secret: key.#secret, hash: key.#hash };
  }

  get type(): "secret" {
    return "secret";
  }

  get extractable(): boolean {
    return this.#extractable;
  }

  get algorithm(): object {
    return this.#algorithm;
  }

  get usages(): readonly string[] {
    return this.#usages;
  }

  get [Symbol.toStringTag](): string {
    return "CryptoKey";
  }
}
const { open } = CryptoKey;
Reflect.deleteProperty(CryptoKey, "open");

/** `random` returns that many new random bytes. */
export function createKeys(
  hashes: Readonly<Record<string, () => CHash>>,
  random: (length: number) => Uint8Array,
) {
  function findHash(algorithm: HmacOptions): { name: string; hash: CHash } {
    requireHmac(algorithm);
    if (algorithm.hash === undefined)
      throw new TypeError('HMAC expects a hash, such as { hash: "SHA-256" }.');
    const name = nameOf(algorithm.hash);
    const hash = Object.hasOwn(hashes, name) ? hashes[name]?.() : undefined;
    if (hash === undefined)
      throw unsupported(`HMAC knows ${Object.keys(hashes).join(", ")}; found ${name.slice(0, 50)}.`);
    return { name, hash };
  }

  function createKey(
    secret: Uint8Array,
    { name, hash }: { name: string; hash: CHash },
    extractable: unknown,
    usages: readonly string[],
  ): CryptoKey {
    if (usages.length === 0)
      throw new DOMException('A secret key is for "sign", "verify" or both.', "SyntaxError");
    mayConstruct = true;
    try {
      return new CryptoKey(secret, hash, name, Boolean(extractable), usages);
    } finally {
      mayConstruct = false;
    }
  }

  return {
    async importKey(
      format: string,
      data: Data | SecretJwk,
      algorithm: HmacOptions,
      extractable: boolean,
      keyUsages: Iterable<string>,
    ): Promise<CryptoKey> {
      const found = findHash(algorithm);
      const usages = readUsages(keyUsages);
      let secret: Uint8Array;
      if (format === "raw") secret = toBytes(data).slice();
      else if (format === "jwk")
        secret = readJwk(data as SecretJwk, jwkName(found.name), extractable, usages);
      else throw unsupported(`HMAC keys come as raw or jwk; found ${String(format).slice(0, 50)}.`);
      if (secret.length === 0) throw new DOMException("The secret is empty.", "DataError");
      if (algorithm.length !== undefined && algorithm.length !== secret.length * 8)
        throw new DOMException(
          `The secret has ${secret.length * 8} bits, not ${algorithm.length}.`,
          "DataError",
        );
      return createKey(secret, found, extractable, usages);
    },

    async generateKey(
      algorithm: HmacOptions,
      extractable: boolean,
      keyUsages: Iterable<string>,
    ): Promise<CryptoKey> {
      const found = findHash(algorithm);
      const usages = readUsages(keyUsages);
      const { length = found.hash.blockLen * 8 } = algorithm;
      if (!Number.isInteger(length / 8) || length <= 0 || length / 8 > MAX_SECRET_BYTES)
        throw new DOMException(
          `A key has whole bytes, at most ${MAX_SECRET_BYTES}; found ${length} bits.`,
          "OperationError",
        );
      return createKey(random(length / 8), found, extractable, usages);
    },

    async exportKey(format: string, key: CryptoKey): Promise<ArrayBuffer | SecretJwk> {
      const { secret } = open(key);
      if (!key.extractable) throw new DOMException("The key is not extractable.", "InvalidAccessError");
      if (format === "raw") return secret.slice().buffer as ArrayBuffer;
      if (format !== "jwk")
        throw unsupported(`HMAC keys are exported as raw or jwk; found ${String(format).slice(0, 50)}.`);
      const { name } = (key.algorithm as { hash: { name: string } }).hash;
      const k = (secret as unknown as { toBase64(options: object): string }).toBase64(BASE64URL);
      return { kty: "oct", k, alg: jwkName(name), key_ops: [...key.usages], ext: true };
    },

    async sign(algorithm: Named, key: CryptoKey, data: Data): Promise<ArrayBuffer> {
      const { secret, hash } = openFor("sign", algorithm, key);
      return hmac(hash, secret, toBytes(data)).slice().buffer as ArrayBuffer;
    },

    async verify(algorithm: Named, key: CryptoKey, signature: Data, data: Data): Promise<boolean> {
      const { secret, hash } = openFor("verify", algorithm, key);
      return isEqual(hmac(hash, secret, toBytes(data)), toBytes(signature));
    },
  };
}

function openFor(usage: string, algorithm: Named, key: CryptoKey): ReturnType<typeof open> {
  requireHmac(algorithm);
  const opened = open(key);
  if (!key.usages.includes(usage))
    throw new DOMException(`The key was made for ${key.usages.join(", ")} alone.`, "InvalidAccessError");
  return opened;
}

/** Compares in time that depends only on the length. */
function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= (one[at] as number) ^ (other[at] as number);
  return difference === 0;
}

function requireHmac(algorithm: Named | HmacOptions): void {
  const name = nameOf(algorithm);
  if (name !== "HMAC")
    throw unsupported(
      `A script signs with HMAC and a secret of its own; found ${name.slice(0, 50)}. Other keys belong to services.`,
    );
}

function nameOf(algorithm: Named): string {
  return String(
    typeof algorithm === "object" && algorithm !== null ? algorithm.name : algorithm,
  ).toUpperCase();
}

function unsupported(message: string): DOMException {
  return new DOMException(message, "NotSupportedError");
}

/** Returns the name that web tokens use for the algorithm. */
function jwkName(hash: string): string {
  return `HS${hash.slice("SHA-".length)}`;
}

/** Returns the usages in the order of OF_HMAC, each once. */
function readUsages(usages: Iterable<string>): string[] {
  const wanted = [...usages];
  const wrong = wanted.find((usage) => !USAGES.includes(usage));
  if (wrong !== undefined) throw new TypeError(`Keys are for ${USAGES.join(", ")}; found ${wrong}.`);
  if (wanted.some((usage) => !OF_HMAC.includes(usage)))
    throw new DOMException('An HMAC key is for "sign", "verify" or both.', "SyntaxError");
  return OF_HMAC.filter((usage) => wanted.includes(usage));
}

function readJwk(jwk: SecretJwk, name: string, extractable: unknown, usages: readonly string[]): Uint8Array {
  const refuse = (problem: string) => new DOMException(`The JSON Web Key ${problem}.`, "DataError");
  if (typeof jwk !== "object" || jwk === null || ArrayBuffer.isView(jwk) || jwk instanceof ArrayBuffer)
    throw new TypeError("Expected a JSON Web Key, an object.");
  const { kty, k, alg, use, key_ops, ext } = jwk;
  if (kty !== "oct" || typeof k !== "string") throw refuse('is not one of a secret: {"kty":"oct","k":"…"}');
  if (alg !== undefined && alg !== name) throw refuse(`is for ${String(alg).slice(0, 50)}, not ${name}`);
  if (use !== undefined && use !== "sig") throw refuse("is not for signatures");
  if (key_ops !== undefined && !usages.every((usage) => key_ops.includes(usage)))
    throw refuse("does not allow these usages");
  if (ext === false && extractable) throw refuse("is not to be extracted");
  try {
    return (Uint8Array as unknown as { fromBase64(text: string, options: object): Uint8Array }).fromBase64(
      k,
      BASE64URL,
    );
  } catch {
    throw refuse("holds no base64url");
  }
}

function toBytes(data: unknown): Uint8Array {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw new TypeError("Expected an ArrayBuffer or a view of one.");
}
