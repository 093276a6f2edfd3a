/**
 * `node:crypto`: hashes, HMAC with secret keys, key derivation and random values. Other keys, ciphers and signatures
 * belong in services, and the errors of functions that need them say so.
 */
import { hmac } from "@noble/hashes/hmac.js";
import type { CHash } from "@noble/hashes/utils.js";

type Bytes = Uint8Array;
type Data = string | ArrayBuffer | ArrayBufferView;
type Callback = (error: Error | null, value?: unknown) => void;

const { Buffer } = (require("./buffer.ts") as typeof import("./buffer.ts")).buffer;
const { Transform } = (require("./stream.ts") as typeof import("./stream.ts")).stream;
const web = globalThis.crypto;

// Each hash family is loaded on first use.
const loadSha2 = () => require("@noble/hashes/sha2.js") as typeof import("@noble/hashes/sha2.js");
const loadSha3 = () => require("@noble/hashes/sha3.js") as typeof import("@noble/hashes/sha3.js");
const loadLegacy = () => require("@noble/hashes/legacy.js") as typeof import("@noble/hashes/legacy.js");
const loadDerivation = () => require("./key-derivation.ts") as typeof import("./key-derivation.ts");
const HASHES: Record<string, () => CHash> = {
  md5: () => loadLegacy().md5,
  ripemd160: () => loadLegacy().ripemd160,
  sha1: () => loadLegacy().sha1,
  sha224: () => loadSha2().sha224,
  sha256: () => loadSha2().sha256,
  sha384: () => loadSha2().sha384,
  sha512: () => loadSha2().sha512,
  "sha512-256": () => loadSha2().sha512_256,
  "sha3-256": () => loadSha3().sha3_256,
  "sha3-384": () => loadSha3().sha3_384,
  "sha3-512": () => loadSha3().sha3_512,
};
const MAX_RANDOM_PIECE = 65_536;

function hashNamed(algorithm: string): CHash {
  const name = String(algorithm)
    .toLowerCase()
    .replace(/^rsa-/, "")
    .replace(/^sha-(\d)/, "sha$1");
  const load = Object.hasOwn(HASHES, name) ? HASHES[name] : undefined;
  if (load === undefined) {
    const message = `Digest method not supported: ${algorithm}. There are ${Object.keys(HASHES).join(", ")}.`;
    throw Object.assign(new Error(message), { code: "ERR_CRYPTO_INVALID_DIGEST" });
  }
  return load();
}

function toBytes(data: Data, encoding?: string): Bytes {
  if (typeof data === "string") return Buffer.from(data, encoding as BufferEncoding);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  const message = `Expected a string, a Buffer or another view of bytes; found ${data === null ? "null" : typeof data}.`;
  throw Object.assign(new TypeError(message), { code: "ERR_INVALID_ARG_TYPE" });
}

function encode(bytes: Bytes, encoding?: string): string | Bytes {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding === undefined || encoding === "buffer"
    ? buffer
    : buffer.toString(encoding as BufferEncoding);
}

interface State {
  update(data: Bytes): unknown;
  digest(): Bytes;
  clone?(): State;
}

/** A hash is also a stream: written data is hashed, and reading returns the digest. */
class Hash extends Transform {
  #state: State;
  #isOver = false;
  /** Digest of the data written to the stream, which `digest` returns once more. */
  #result: Bytes | null = null;

  constructor(state: State) {
    super();
    this.#state = state;
  }

  update(data: Data, encoding?: string): this {
    if (this.#isOver || this.#result !== null) throw this.#finalized();
    this.#state.update(toBytes(data, encoding));
    return this;
  }

  digest(encoding?: string): string | Bytes {
    if (this.#isOver) throw this.#finalized();
    this.#isOver = true;
    return this.#finish(encoding);
  }

  #finish(encoding?: string): string | Bytes {
    this.#result ??= this.#state.digest();
    return encode(this.#result.slice(), encoding);
  }

  copy(): Hash {
    if (this.#isOver || this.#result !== null || this.#state.clone === undefined) throw this.#finalized();
    return new Hash(this.#state.clone());
  }

  #finalized(): Error {
    return Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
  }

  override _transform(chunk: Data, encoding: string, done: () => void): void {
    this.update(chunk, encoding);
    done();
  }

  override _flush(done: () => void): void {
    this.push(this.#finish());
    done();
  }
}

/** A secret in the script's own memory, the only kind of key supported. */
class KeyObject {
  readonly #secret: Bytes;

  constructor(type: "secret", secret: Bytes) {
    if (type !== "secret") throw new TypeError("A script has secret keys only: use createSecretKey.");
    this.#secret = Buffer.from(secret);
  }

  static open(key: KeyObject): Bytes {
    return key.#secret;
  }

  get type(): "secret" {
    return "secret";
  }

  get symmetricKeySize(): number {
    return this.#secret.length;
  }

  export({ format = "buffer" }: { format?: string } = {}): unknown {
    const copy = Buffer.from(this.#secret);
    return format === "jwk" ? { kty: "oct", k: copy.toString("base64url") } : copy;
  }

  equals(other: KeyObject): boolean {
    const [one, two] = [this.#secret, openKey(other)];
    return one.length === two.length && timingSafeEqual(one, two);
  }
}
const openKey = KeyObject.open;
Reflect.deleteProperty(KeyObject, "open");

function createSecretKey(key: Data, encoding?: string): KeyObject {
  return new KeyObject("secret", toBytes(key, encoding));
}

function createHmac(algorithm: string, key: Data | KeyObject): Hash {
  const secret = key instanceof KeyObject ? openKey(key) : toBytes(key);
  return new Hash(hmac.create(hashNamed(algorithm), secret));
}

function randomBytes(size: number, callback?: Callback): unknown {
  const bytes = Buffer.alloc(size);
  randomFillSync(bytes);
  if (callback === undefined) return bytes;
  queueMicrotask(() => callback(null, bytes));
  return undefined;
}

function randomFillSync<T extends ArrayBuffer | ArrayBufferView>(target: T, offset = 0, size?: number): T {
  const bytes = toBytes(target).subarray(offset, size === undefined ? undefined : offset + size);
  for (let at = 0; at < bytes.length; at += MAX_RANDOM_PIECE) {
    web.getRandomValues(bytes.subarray(at, at + MAX_RANDOM_PIECE) as Uint8Array<ArrayBuffer>);
  }
  return target;
}

const MAX_RANGE = 2 ** 48;

function randomInt(first: number, second?: number | Callback, callback?: Callback): number | undefined {
  const [low, high, done] =
    typeof second === "number" ? [first, second, callback] : [0, first, second ?? callback];
  const range = high - low;
  if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || range <= 0 || range >= MAX_RANGE) {
    throw new RangeError(
      `randomInt expects whole numbers min < max that differ by less than 2 ** 48; found ${low} and ${high}.`,
    );
  }
  const limit = MAX_RANGE - (MAX_RANGE % range);
  let value: number;
  do {
    value = (randomBytes(6) as { readUIntBE(offset: number, length: number): number }).readUIntBE(0, 6);
  } while (value >= limit);
  const result = low + (value % range);
  if (done === undefined) return result;
  queueMicrotask(() => done(null, result));
  return undefined;
}

function timingSafeEqual(one: ArrayBuffer | ArrayBufferView, other: ArrayBuffer | ArrayBufferView): boolean {
  const [a, b] = [toBytes(one), toBytes(other)];
  if (a.length !== b.length) {
    const error = new RangeError("Input buffers must have the same byte length");
    throw Object.assign(error, { code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH" });
  }
  let difference = 0;
  for (let index = 0; index < a.length; index++) difference |= (a[index] as number) ^ (b[index] as number);
  return difference === 0;
}

function pbkdf2Sync(password: Data, salt: Data, iterations: number, length: number, digest: string): unknown {
  return encode(
    loadDerivation().pbkdf2(hashNamed(digest), toBytes(password), toBytes(salt), {
      c: iterations,
      dkLen: length,
    }),
  );
}

interface ScryptOptions {
  N?: number;
  cost?: number;
  r?: number;
  blockSize?: number;
  p?: number;
  parallelization?: number;
}

function scryptSync(password: Data, salt: Data, length: number, options: ScryptOptions = {}): unknown {
  const {
    N = options.cost ?? 16_384,
    r = options.blockSize ?? 8,
    p = options.parallelization ?? 1,
  } = options;
  return encode(loadDerivation().scrypt(toBytes(password), toBytes(salt), { N, r, p, dkLen: length }));
}

function hkdfSync(digest: string, key: Data, salt: Data, info: Data, length: number): ArrayBuffer {
  const derived = loadDerivation().hkdf(
    hashNamed(digest),
    toBytes(key),
    toBytes(salt),
    toBytes(info),
    length,
  );
  return new Uint8Array(derived).buffer;
}

function later<A extends unknown[]>(sync: (...args: A) => unknown) {
  return (...args: [...A, Callback]): void => {
    const callback = args.pop() as Callback;
    let value: unknown;
    try {
      value = sync(...(args as unknown as A));
    } catch (error) {
      queueMicrotask(() => callback(error as Error));
      return;
    }
    queueMicrotask(() => callback(null, value));
  };
}

const ABSENT =
  "createCipheriv createDecipheriv createSign createVerify sign verify createPrivateKey createPublicKey generateKey generateKeySync generateKeyPair generateKeyPairSync publicEncrypt privateDecrypt privateEncrypt publicDecrypt createDiffieHellman createECDH diffieHellman X509Certificate Cipheriv Decipheriv Sign Verify".split(
    " ",
  );

const absent = Object.fromEntries(
  ABSENT.map((name) => [
    name,
    () => {
      throw new Error(
        `crypto.${name} is not available: keys belong to services, which sign and encrypt for a script. There are hashes, createHmac, createSecretKey, pbkdf2, scrypt, hkdf and random values.`,
      );
    },
  ]),
);

export const crypto = {
  ...absent,
  createHash: (algorithm: string) => new Hash(hashNamed(algorithm).create()),
  createHmac,
  createSecretKey,
  KeyObject,
  hash: (algorithm: string, data: Data, encoding = "hex") =>
    encode(hashNamed(algorithm)(toBytes(data)), encoding),
  Hash,
  Hmac: Hash,
  getHashes: () => Object.keys(HASHES),
  getRandomValues: <T extends ArrayBufferView>(array: T) =>
    web.getRandomValues(array as never) as unknown as T,
  randomUUID: () => web.randomUUID(),
  randomBytes,
  randomFillSync,
  randomFill: later(randomFillSync as (...args: unknown[]) => unknown),
  randomInt,
  timingSafeEqual,
  pbkdf2: later(pbkdf2Sync),
  pbkdf2Sync,
  scrypt: later(scryptSync as (...args: unknown[]) => unknown),
  scryptSync,
  hkdf: later(hkdfSync),
  hkdfSync,
  webcrypto: web,
  subtle: web.subtle,
};
