/** What modules and services need of other features, as narrow types: they come in as arguments. */
import type { Redactor } from "#api/secrets/redactor.ts";
import type { Vault } from "#api/secrets/vault.ts";

/** Secrets at rest. Without a row: no values, version 0. */
export type SecretStore = Pick<Vault, "read" | "write" | "bind" | "remove">;

/** Learns secret values, to take them out of whatever leaves the server. Owners are called as `ownerKey` says. */
export type SecretWatch = Pick<Redactor, "setOwner" | "dropOwner" | "text">;

/** A module or a service, as whom its settings belong to. */
export interface Owner {
  kind: "module" | "service";
  id: string;
}

/** How the redactor knows an owner. */
export function ownerKey({ kind, id }: Owner): string {
  return `${kind}:${id}`;
}
