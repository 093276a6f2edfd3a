import { createSecretKey, randomBytes } from "node:crypto";
import { inspect } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseKeyMaterial } from "#api/config/key-material.ts";
import { parseConfig } from "#api/config.ts";
import { createKeyring } from "#api/secrets/keyring.ts";
import { open, type SecretOwner, seal } from "#api/secrets/sealing.ts";

const key = () => createSecretKey(randomBytes(32));
const OWNER: SecretOwner = { kind: "service", id: "github" };

const WEAK: [string, Buffer][] = [
  ["zero", Buffer.alloc(32)],
  ["the same", Buffer.alloc(32, 0xab)],
  ["repeat", Buffer.from("0123456789abcdef0123456789abcdef", "latin1")],
  ["repeat", Buffer.alloc(32, randomBytes(16))],
  ["repeat", Buffer.alloc(32, randomBytes(5))],
  ["count", Buffer.from(Array.from({ length: 32 }, (_, index) => index))],
  ["count", Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index))],
  ["count", Buffer.from(Array.from({ length: 32 }, (_, index) => (index * 7 + 3) & 0xff))],
  ["different bytes", Buffer.from(randomBytes(32).map((byte) => byte & 7))],
  ["different bytes", Buffer.concat([randomBytes(8), Buffer.alloc(24)])],
  ["text", Buffer.from("correct horse battery staple 123")],
  ["text", Buffer.from("Zx9kQ2mVb7Lw4TyRn8PcSd1FgHj3KuAe")],
];

test.each(WEAK)("a key is refused: %s", (problem, bytes) => {
  const text = bytes.toString("base64");
  const parsed = parseKeyMaterial(text);
  expect(parsed).toMatchObject({ ok: false, problem: expect.stringContaining(problem) });
  expect(JSON.stringify(parsed)).not.toContain(text);
  const config = parseConfig({ CYRNEL_SECRETS_KEY: text });
  expect(config).toMatchObject({
    ok: false,
    problems: [expect.stringMatching(/^CYRNEL_SECRETS_KEY: too easy to guess.*openssl rand -base64 32/)],
  });
});

test.each([
  "",
  "short",
  "x".repeat(44),
  randomBytes(31).toString("base64"),
  randomBytes(33).toString("base64"),
  randomBytes(32).toString("hex"),
  `${randomBytes(32).toString("base64")}=`,
])("what is no 32 bytes of base64 is refused without being shown: %s", (text) => {
  const parsed = parseKeyMaterial(text);
  expect(parsed.ok).toBe(false);
  if (text.length > 10) expect(JSON.stringify(parsed)).not.toContain(text);
});

test("random keys are taken, in either alphabet, with or without padding and space round them", () => {
  fc.assert(
    fc.property(fc.constant(null), () => {
      const bytes = randomBytes(32);
      for (const text of [
        bytes.toString("base64"),
        bytes.toString("base64url"),
        ` ${bytes.toString("base64")}\n`,
      ]) {
        const parsed = parseKeyMaterial(text);
        expect(parsed.ok && parsed.key.export().equals(bytes)).toBe(true);
      }
    }),
    { numRuns: 2000 },
  );
});

test("the configuration shows no key when it is printed", () => {
  const [current, previous] = [randomBytes(32), randomBytes(32)];
  const parsed = parseConfig({
    CYRNEL_SECRETS_KEY: current.toString("base64"),
    CYRNEL_SECRETS_PREVIOUS_KEYS: ` ${previous.toString("base64")} , ${randomBytes(32).toString("base64")}`,
  });
  expect(parsed.ok && parsed.config.secretsPreviousKeys).toHaveLength(2);
  for (const shown of [inspect(parsed, { depth: 9 }), JSON.stringify(parsed)]) {
    for (const bytes of [current, previous]) {
      for (const form of [bytes.toString("base64"), bytes.toString("hex"), bytes.subarray(0, 8).join(",")])
        expect(shown).not.toContain(form);
    }
  }
});

test("earlier keys without a current one, and bad ones, are problems", () => {
  const good = randomBytes(32).toString("base64");
  const problems = (environment: Record<string, string>) => {
    const parsed = parseConfig(environment);
    return parsed.ok ? [] : parsed.problems;
  };
  expect(problems({ CYRNEL_SECRETS_PREVIOUS_KEYS: good, DATABASE_URL: "postgres://u:p@h:1/d" })).toEqual([
    expect.stringContaining("set without CYRNEL_SECRETS_KEY"),
  ]);
  expect(problems({ CYRNEL_SECRETS_PREVIOUS_KEYS: good })).toEqual([]);
  expect(
    problems({ CYRNEL_SECRETS_PREVIOUS_KEYS: `${good},x,${Buffer.alloc(32).toString("base64")}` }),
  ).toEqual([
    expect.stringContaining("key 2: expected 32 bytes"),
    expect.stringContaining("key 3: too easy to guess"),
  ]);
});

test("egress lists are parsed at start, every mistake at once", () => {
  const parsed = parseConfig({
    CYRNEL_EGRESS_ALLOW: "10.0.0.1/8, ok.example, 127.1",
    CYRNEL_EGRESS_DENY: "http://x",
  });
  expect(parsed.ok ? [] : parsed.problems).toEqual([
    expect.stringMatching(/^CYRNEL_EGRESS_ALLOW: "10.0.0.1\/8"/),
    expect.stringMatching(/^CYRNEL_EGRESS_ALLOW: "127.1"/),
    expect.stringMatching(/^CYRNEL_EGRESS_DENY: "http:\/\/x"/),
  ]);
});

test("what is sealed opens again, and only with its key and for its owner", () => {
  const keyring = createKeyring(key());
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const sealed = seal(keyring, OWNER, value);
      expect(open(keyring, OWNER, JSON.parse(JSON.stringify(sealed)))).toEqual(
        JSON.parse(JSON.stringify(value)),
      );
      expect(sealed).toMatchObject({ v: 1, alg: "A256GCM", kid: keyring.current.kid });
    }),
  );
  const sealed = seal(keyring, OWNER, { token: "t" });
  for (const other of [
    { kind: "module", id: "github" },
    { kind: "service", id: "github2" },
    { kind: "service", id: "" },
  ] as SecretOwner[]) {
    expect(() => open(keyring, other, sealed)).toThrow("do not open");
  }
  expect(() => open(createKeyring(key()), OWNER, sealed)).toThrow(keyring.current.kid);
  expect(() => open(null, OWNER, sealed)).toThrow("CYRNEL_SECRETS_KEY");
  expect(() => seal(null, OWNER, {})).toThrow("CYRNEL_SECRETS_KEY");
  const impostor = { ...sealed, kid: createKeyring(key()).current.kid };
  expect(() => open(keyring, OWNER, impostor)).toThrow("does not have");
});

test("an earlier key opens and never seals", () => {
  const [old, fresh] = [key(), key()];
  const sealed = seal(createKeyring(old), OWNER, "v");
  const keyring = createKeyring(fresh, [old]);
  expect(open(keyring, OWNER, sealed)).toBe("v");
  expect(seal(keyring, OWNER, "v").kid).not.toBe(sealed.kid);
});

test("no two sealed values look alike, and nothing of the value is in them", () => {
  const keyring = createKeyring(key());
  const seen = new Set<string>();
  for (let index = 0; index < 200; index += 1) {
    const sealed = seal(keyring, OWNER, { token: "the-same-secret" });
    seen.add(sealed.iv).add(sealed.ciphertext).add(sealed.tag);
    expect(JSON.stringify(sealed)).not.toContain("the-same-secret");
    expect(Buffer.from(sealed.iv, "base64")).toHaveLength(12);
    expect(Buffer.from(sealed.tag, "base64")).toHaveLength(16);
  }
  expect(seen.size).toBe(600);
});

test("any change to a stored value is noticed", () => {
  const keyring = createKeyring(key());
  const sealed = seal(keyring, OWNER, { token: "secret-token" });
  for (const field of ["iv", "tag", "ciphertext"] as const) {
    for (const bit of [0, 3, 7]) {
      const bytes = Buffer.from(sealed[field], "base64");
      bytes[0] = (bytes[0] ?? 0) ^ (1 << bit);
      expect(() => open(keyring, OWNER, { ...sealed, [field]: bytes.toString("base64") })).toThrow(
        "do not open",
      );
    }
  }
  // A tag cut short would be easier to guess.
  for (const length of [0, 4, 8, 12, 15]) {
    const tag = Buffer.from(sealed.tag, "base64").subarray(0, length).toString("base64");
    expect(() => open(keyring, OWNER, { ...sealed, tag })).toThrow("do not open");
  }
  for (const broken of [
    null,
    "x",
    [],
    {},
    { ...sealed, v: 2 },
    { ...sealed, alg: "none" },
    { ...sealed, kid: "../../x" },
    { ...sealed, iv: "" },
  ]) {
    expect(() => open(keyring, OWNER, broken)).toThrow("do not open");
  }
});
