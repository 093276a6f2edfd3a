/**
 * `crypto` of a script: random bytes from the host's seed through ChaCha20, digests, and HMAC with the script's own
 * secrets (keys.ts). Loaded on first use. Ciphers and private keys are left out because they belong in services.
 */
import { chacha20 } from "@noble/ciphers/chacha.js";
import type { CHash } from "@noble/hashes/utils.js";
import { DOMException } from "../globals/dom-exception.ts";

/** Limit of the Web Crypto standard for one call. */
const MAX_RANDOM_BYTES = 65_536;
const NONCE_BYTES = 12;

const loadSha2 = () => require("@noble/hashes/sha2.js") as typeof import("@noble/hashes/sha2.js");
/** Each is loaded on first use, because most scripts only need random values. */
const DIGESTS: Record<string, () => CHash> = {
  "SHA-1": () => (require("@noble/hashes/legacy.js") as typeof import("@noble/hashes/legacy.js")).sha1,
  "SHA-256": () => loadSha2().sha256,
  "SHA-384": () => loadSha2().sha384,
  "SHA-512": () => loadSha2().sha512,
};

type Keys = ReturnType<typeof import("./keys.ts")["createKeys"]>;

/** `seed` is 32 bytes in base64, never used for another run. */
export function createCrypto(seed: string): object {
  const key = (Uint8Array as unknown as { fromBase64(text: string): Uint8Array }).fromBase64(seed);
  const nonce = new DataView(new ArrayBuffer(NONCE_BYTES));
  let blocks = 0n;

  let keys: Keys | undefined;
  const loadKeys = () => {
    keys ??= (require("./keys.ts") as typeof import("./keys.ts")).createKeys(DIGESTS, random);
    return keys;
  };

  /** Returns the key stream of a nonce that is used only once. */
  function random(length: number): Uint8Array {
    nonce.setBigUint64(0, blocks++);
    return chacha20(key, new Uint8Array(nonce.buffer), new Uint8Array(length));
  }

  return {
    getRandomValues<T>(array: T): T {
      if (!ArrayBuffer.isView(array) || array instanceof DataView || /Float/.test(array.constructor.name)) {
        throw new DOMException("getRandomValues expects an integer typed array.", "TypeMismatchError");
      }
      if (array.byteLength > MAX_RANDOM_BYTES) {
        const message = `getRandomValues fills at most ${MAX_RANDOM_BYTES} bytes at a time; asked for ${array.byteLength}.`;
        throw new DOMException(message, "QuotaExceededError");
      }
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(random(array.byteLength));
      return array;
    },
    randomUUID(): string {
      const bytes = random(16);
      bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
      bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
      const hex = (bytes as unknown as { toHex(): string }).toHex();
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join(
        "-",
      );
    },
    subtle: {
      digest,
      importKey: (...args: Parameters<Keys["importKey"]>) => loadKeys().importKey(...args),
      exportKey: (...args: Parameters<Keys["exportKey"]>) => loadKeys().exportKey(...args),
      generateKey: (...args: Parameters<Keys["generateKey"]>) => loadKeys().generateKey(...args),
      sign: (...args: Parameters<Keys["sign"]>) => loadKeys().sign(...args),
      verify: (...args: Parameters<Keys["verify"]>) => loadKeys().verify(...args),
    },
  };
}

export async function digest(
  algorithm: string | { name: string },
  data: ArrayBuffer | ArrayBufferView,
): Promise<ArrayBuffer> {
  const name = String(typeof algorithm === "object" ? algorithm.name : algorithm).toUpperCase();
  const hash = Object.hasOwn(DIGESTS, name) ? DIGESTS[name]?.() : undefined;
  if (hash === undefined) {
    throw new DOMException(
      `digest knows ${Object.keys(DIGESTS).join(", ")}; found ${name}.`,
      "NotSupportedError",
    );
  }
  const view = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  return new Uint8Array(hash(view)).buffer;
}
