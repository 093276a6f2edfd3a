/** What modules and services need of other features, as narrow types: they come in as arguments. */

import type { ModuleLogger } from "#sdk";
import type { Download } from "../egress/download.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { Vault } from "../secrets/vault.ts";

/** Secrets at rest. Without a row: no values, version 0. */
export type SecretStore = Pick<Vault, "read" | "write" | "bind" | "remove">;

/** Learns secret values, to remove them from everything that leaves the server. Owners are named by `ownerKey`. */
export type SecretWatch = Pick<Redactor, "setOwner" | "dropOwner" | "text">;

/** The module or service that settings belong to. */
export interface Owner {
  kind: "module" | "service";
  id: string;
}

/** How the redactor knows an owner. */
export function ownerKey({ kind, id }: Owner): string {
  return `${kind}:${id}`;
}

/** Which services exist for one caller: every route asks it. */
export interface ServiceSight {
  /** Those of `ids` that do; an id without a service may be among them. */
  visible(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether a service with these tools would. */
  wouldShow(id: string, toolIds: readonly string[]): boolean;
}

/** Fetches over http(s) within the egress rules. Throws AppError. */
export type { Download };

export type Logger = ModuleLogger;
