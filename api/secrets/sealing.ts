/**
 * Encrypts JSON values with AES-256-GCM, bound to their owner. Validates stored data before use, because other
 * programs may write to the database too.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { z } from "zod";
import { MAKE_KEY_COMMAND } from "#api/config/key-material.ts";
import { parseExactJson } from "#sdk";
import { AppError } from "../errors.ts";
import type { Keyring } from "./keyring.ts";

export const OWNER_KINDS = ["service", "module", "approval", "call_log"] as const;

export interface SecretOwner {
  kind: (typeof OWNER_KINDS)[number];
  id: string;
}

const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
const MAX_PLAINTEXT_BYTES = 16 * 1024 * 1024;

function base64Of(bytes: number) {
  return z.base64().transform((text, context) => {
    const decoded = Buffer.from(text, "base64");
    if (decoded.length === bytes) return text;
    context.addIssue({ code: "custom", message: `expected ${bytes} bytes` });
    return z.NEVER;
  });
}

export const sealedSchema = z.object({
  v: z.literal(1),
  kid: z.string().regex(/^[0-9a-f]{16}$/),
  alg: z.literal("A256GCM"),
  iv: base64Of(IV_BYTES),
  tag: base64Of(TAG_BYTES),
  ciphertext: z.base64(),
});

/** `iv`, `tag` and `ciphertext` are base64. */
export type Sealed = z.infer<typeof sealedSchema>;

export function seal(keyring: Keyring | null, owner: SecretOwner, value: unknown): Sealed {
  if (keyring === null) throw noKey();
  const plaintext = Buffer.from(JSON.stringify(value) ?? "null");
  if (plaintext.length > MAX_PLAINTEXT_BYTES) {
    throw new RangeError(
      `A sealed value may have ${MAX_PLAINTEXT_BYTES} bytes of JSON; this one has ${plaintext.length}.`,
    );
  }
  const { kid, key } = keyring.current;
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(additionalData(owner));
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  plaintext.fill(0);
  return {
    v: 1,
    kid,
    alg: "A256GCM",
    iv: iv.toString("base64"),
    tag: cipher.getAuthTag().toString("base64"),
    ciphertext: ciphertext.toString("base64"),
  };
}

/**
 * Throws AppError `secrets_key_missing` for an unknown key, and Error if the value is damaged or belongs to another
 * owner.
 */
export function open(keyring: Keyring | null, owner: SecretOwner, stored: unknown): unknown {
  const parsed = sealedSchema.safeParse(stored);
  if (!parsed.success) throw damaged(owner);
  const sealed = parsed.data;
  if (keyring === null) throw noKey();
  const key = keyring.find(sealed.kid);
  if (key === null) throw unknownKey(owner, sealed.kid);
  const decipher = createDecipheriv(ALGORITHM, key, Buffer.from(sealed.iv, "base64"), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(additionalData(owner));
  decipher.setAuthTag(Buffer.from(sealed.tag, "base64"));
  let plaintext: Buffer;
  try {
    plaintext = Buffer.concat([decipher.update(Buffer.from(sealed.ciphertext, "base64")), decipher.final()]);
  } catch {
    throw damaged(owner);
  }
  const text = plaintext.toString("utf8");
  const value =
    owner.kind === "call_log" || owner.kind === "approval"
      ? parseExactJson(text)
      : (JSON.parse(text) as unknown);
  plaintext.fill(0);
  return value;
}

function additionalData({ kind, id }: SecretOwner): Buffer {
  return Buffer.from(`${kind}:${id}`);
}

function noKey(): AppError {
  return new AppError(
    "secrets_key_missing",
    `Secrets cannot be used: the server has no key for them. Set CYRNEL_SECRETS_KEY (make one with: ${MAKE_KEY_COMMAND}) and restart.`,
  );
}

function unknownKey({ kind, id }: SecretOwner, kid: string): AppError {
  return new AppError(
    "secrets_key_missing",
    `The secrets of ${kind} ${id} are sealed with the key ${kid}, which the server does not have. Add that key to CYRNEL_SECRETS_PREVIOUS_KEYS and restart, or set the secrets again.`,
  );
}

function damaged({ kind, id }: SecretOwner): Error {
  return new Error(
    `The stored secrets of ${kind} ${id} do not open: they were changed in the database, or belong to another owner. Set them again.`,
  );
}
