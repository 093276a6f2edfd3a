/** Cases: random values, digests and signatures of `crypto`. */
import { createHmac } from "node:crypto";
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

export const cryptoCases: EnvironmentCase[] = [
  {
    id: "globals.crypto",
    sentence: "crypto gives random values of its own for each run, and digests",
    async check({ run }) {
      const code = `
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc")));
        return [crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(8))].join(), digest.toHex()];`;
      const [first, second] = await Promise.all([run(code), run(code)]);
      expect(first.result[0]).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
      expect(first.result[2]).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
      expect(first.result[0]).not.toBe(second.result[0]);
      expect(first.result[1]).not.toBe(second.result[1]);
    },
  },
  {
    id: "globals.hmac",
    sentence:
      "crypto.subtle signs with HMAC and a secret of the script, as the standard says, and with nothing else",
    async check({ run }) {
      const { error, result } = await run(`
        const text = (value) => new TextEncoder().encode(value);
        const { subtle } = crypto;
        const named = (promise) => promise.then((value) => value, (e) => (e instanceof DOMException ? "DOMException " : "") + e.name);
        const signed = [];
        for (const hash of ["SHA-1", "SHA-256", "sha-384", { name: "SHA-512" }]) {
          const key = await subtle.importKey("raw", text("secret"), { name: "hmac", hash }, true, ["verify", "sign"]);
          const signature = await subtle.sign("HMAC", key, text("data"));
          const jwk = await subtle.exportKey("jwk", key);
          const again = await subtle.importKey("jwk", jwk, { name: "HMAC", hash }, false, ["verify"]);
          const wrong = new Uint8Array(signature.slice(0)); wrong[3] ^= 1;
          signed.push([new Uint8Array(signature).toHex(), jwk, new TextDecoder().decode(await subtle.exportKey("raw", key)), key.algorithm, key.usages,
            await subtle.verify({ name: "HMAC" }, again, signature, text("data")), await subtle.verify("HMAC", again, wrong, text("data")), await subtle.verify("HMAC", again, signature.slice(1), text("data"))]);
        }
        const made = await subtle.generateKey({ name: "HMAC", hash: "SHA-384" }, false, ["sign"]);
        const hmac = { name: "HMAC", hash: "SHA-256" };
        const jwk = { kty: "oct", k: "AAAA" };
        return { signed, made: [made instanceof CryptoKey, Object.prototype.toString.call(made), made.type, made.extractable, made.algorithm.length, made.usages], refused: [
          await named(subtle.exportKey("raw", made)), await named(subtle.verify("HMAC", made, text(""), text(""))), await named(subtle.sign("HMAC", { ...made }, text(""))),
          await named(subtle.sign("HMAC", made, "text")), await named(subtle.importKey("raw", text(""), hmac, true, ["sign"])), await named(subtle.importKey("raw", text("a"), hmac, true, [])),
          await named(subtle.importKey("raw", text("a"), hmac, true, ["encrypt"])), await named(subtle.importKey("raw", text("a"), hmac, true, ["hold"])), await named(subtle.importKey("raw", text("a"), { name: "HMAC", hash: "MD5" }, true, ["sign"])),
          await named(subtle.importKey("raw", text("a"), { name: "HMAC" }, true, ["sign"])), await named(subtle.importKey("raw", text("a"), "AES-GCM", true, ["sign"])), await named(subtle.importKey("spki", text("a"), hmac, true, ["sign"])),
          await named(subtle.importKey("jwk", { ...jwk, alg: "HS512" }, hmac, true, ["sign"])), await named(subtle.importKey("jwk", { ...jwk, ext: false }, hmac, true, ["sign"])), await named(subtle.importKey("jwk", { ...jwk, k: "?" }, hmac, true, ["sign"])),
          await named(subtle.importKey("jwk", { ...jwk, key_ops: ["verify"] }, hmac, true, ["sign"])), await named(subtle.importKey("raw", text("a"), { ...hmac, length: 64 }, true, ["sign"])),
          (() => { try { new CryptoKey() } catch (e) { return e.name } })() ] };`);
      expect(error).toBeUndefined();
      const hashes = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];
      expect(result.signed).toEqual(
        hashes.map((name) => [
          createHmac(name.replace("-", ""), "secret").update("data").digest("hex"),
          { kty: "oct", k: "c2VjcmV0", alg: `HS${name.slice(4)}`, key_ops: ["sign", "verify"], ext: true },
          "secret",
          { name: "HMAC", hash: { name }, length: 48 },
          ["sign", "verify"],
          true,
          false,
          false,
        ]),
      );
      expect(result.made).toEqual([true, "[object CryptoKey]", "secret", false, 1024, ["sign"]]);
      const of = (name: string) => `DOMException ${name}`;
      expect(result.refused).toEqual([
        of("InvalidAccessError"),
        of("InvalidAccessError"),
        "TypeError",
        "TypeError",
        of("DataError"),
        of("SyntaxError"),
        of("SyntaxError"),
        "TypeError",
        of("NotSupportedError"),
        "TypeError",
        of("NotSupportedError"),
        of("NotSupportedError"),
        ...Array(5).fill(of("DataError")),
        "TypeError",
      ]);
    },
  },
];
