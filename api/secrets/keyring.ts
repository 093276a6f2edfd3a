import { createHash, type KeyObject } from "node:crypto";

export interface SecretsKey {
  /** First 16 hexadecimal digits of the SHA-256 of the key. */
  readonly kid: string;
  readonly key: KeyObject;
}

export interface Keyring {
  readonly current: SecretsKey;
  readonly kids: readonly string[];
  find(kid: string): KeyObject | null;
}

const KID_DIGITS = 16;

export function createKeyring(current: KeyObject, previous: readonly KeyObject[] = []): Keyring {
  const sealing = toSecretsKey(current);
  const keys = new Map([sealing, ...previous.map(toSecretsKey)].map(({ kid, key }) => [kid, key]));
  return { current: sealing, kids: [...keys.keys()], find: (kid) => keys.get(kid) ?? null };
}

function toSecretsKey(key: KeyObject): SecretsKey {
  const bytes = key.export();
  const kid = createHash("sha256").update(bytes).digest("hex").slice(0, KID_DIGITS);
  bytes.fill(0);
  return { kid, key };
}
