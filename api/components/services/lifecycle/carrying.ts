/**
 * Keeps secrets usable after a change. If an adapter does not declare where it sends secrets, they are bound to the
 * exact definition and configuration, so any change would require setting them again. A caller who may load modules
 * could read every secret anyway, so such a caller's changes keep secrets usable, and each case is recorded.
 */
import type { Db } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { CarrySecrets } from "../../ports.ts";
import type { ServiceContext } from "../context.ts";
import { fingerprint } from "./secret-origins.ts";
import type { ServiceParts } from "./state.ts";

export interface Carried {
  origins: string[];
  /** Call in the transaction that stores the change. Throws AppError if the secrets were changed meanwhile. */
  store(transaction: Db): Promise<void>;
  record(): void;
}

/**
 * Returns null if the secrets' binding need not change. Outdated secrets stay outdated: another caller made the
 * change that outdated them, and this caller may not have seen it.
 */
export function carrySecrets(
  { secrets }: Pick<ServiceContext, "secrets">,
  carry: CarrySecrets,
  before: ServiceParts,
  after: Partial<Pick<ServiceParts, "hash" | "config">>,
): Carried | null {
  const names = Object.keys(before.secrets).sort();
  const place = fingerprint({ ...before, ...after });
  const isBound = before.origins?.includes(fingerprint(before)) === true;
  if (carry === null || names.length === 0 || !isBound || before.origins?.includes(place)) return null;
  const origins = [place];
  return {
    origins,
    async store(transaction) {
      const { id, version } = before;
      if (await secrets.bind(transaction, { kind: "service", id }, origins, version)) return;
      throw new AppError(
        "precondition_failed",
        `The secrets of the service ${id} were changed at the same time. Repeat the change.`,
      );
    },
    record: () => carry(before.id, names),
  };
}
