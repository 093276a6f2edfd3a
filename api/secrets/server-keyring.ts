/** Where the keys of this server come from: the configuration, or, where it brings its own database, the key file. */
import type { Config } from "../config.ts";
import { ensureKeyFile, readKeyFile } from "./key-file.ts";
import { createKeyring, type Keyring } from "./keyring.ts";

export type KeyConfig = Pick<Config, "databaseUrl" | "dataDirectory" | "secretsKey" | "secretsPreviousKeys">;

export interface FoundKeyring {
  /** Null: there is no key, and secrets cannot be used. */
  keyring: Keyring | null;
  /** The key file that was made just now. */
  made: string | null;
}

/**
 * Call it when the database is this server's alone. A key of the configuration wins over the key file, which then still
 * opens what it has sealed. Throws a sentence for the operator when the key file cannot be used.
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
