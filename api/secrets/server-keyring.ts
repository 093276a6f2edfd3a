import type { Config } from "../config.ts";
import { ensureKeyFile, readKeyFile } from "./key-file.ts";
import { createKeyring, type Keyring } from "./keyring.ts";

export type KeyConfig = Pick<Config, "databaseUrl" | "dataDirectory" | "secretsKey" | "secretsPreviousKeys">;

export interface FoundKeyring {
  keyring: Keyring | null;
  made: string | null;
}

/**
 * Call when no other server uses the database. A configured key takes precedence over the key file, which still opens
 * data sealed with it. Throws an Error whose message is for the operator.
 */
export async function findKeyring(config: KeyConfig): Promise<FoundKeyring> {
  const { databaseUrl, dataDirectory, secretsKey, secretsPreviousKeys } = config;
  if (secretsKey !== null) {
    const file = databaseUrl === null ? await readKeyFile(dataDirectory) : null;
    const previous = file === null ? secretsPreviousKeys : [...secretsPreviousKeys, file.key];
    return { keyring: createKeyring(secretsKey, previous), made: null };
  }
  if (databaseUrl !== null) return { keyring: null, made: null };
  const file = await ensureKeyFile(dataDirectory);
  return { keyring: createKeyring(file.key, secretsPreviousKeys), made: file.isNew ? file.path : null };
}
