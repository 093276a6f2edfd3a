/** Servers that may not be on one database together. */
import { DatabaseRefused } from "../db/migrate.ts";
import type { ReplicaRow } from "./model.ts";

/**
 * Each server has to open what the others seal: its keys must hold theirs, and theirs its own. Throws DatabaseRefused with
 * the name of the server that has another key.
 */
export function requireSameSecretsKey(
  others: readonly Pick<ReplicaRow, "name" | "secretsKey" | "secretsKeys">[],
  own: { current: string; all: readonly string[] } | null,
): void {
  const ours = own?.current ?? null;
  for (const { name, secretsKey: theirs, secretsKeys } of others) {
    if (theirs === ours) continue;
    const isShared =
      theirs !== null && ours !== null && own?.all.includes(theirs) && secretsKeys.includes(ours);
    if (isShared) continue;
    throw new DatabaseRefused(
      `This server has ${describe(ours)}, and the server ${name} on the same database has ${describe(theirs)}: they could not open each other's secrets. ` +
        "Give all servers the same CYRNEL_SECRETS_KEY; to change it while some run, first add the new one to CYRNEL_SECRETS_PREVIOUS_KEYS of each.",
    );
  }
}

function describe(kid: string | null): string {
  return kid === null ? "no CYRNEL_SECRETS_KEY" : `the CYRNEL_SECRETS_KEY ${kid}`;
}
