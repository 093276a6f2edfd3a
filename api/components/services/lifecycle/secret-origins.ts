/**
 * Secrets are sent only to the destinations they were set for: an administrator who can change a service's addresses must
 * not be able to have its secrets sent elsewhere. The adapter says what the destinations are.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { waitAtMost } from "#api/bounds/deadline.ts";
import { readFailure } from "#api/bounds/failure-text.ts";
import { AppError } from "#api/errors.ts";
import type { AdapterModule, SecretUse } from "#sdk";
import type { ServiceContext } from "../context.ts";

const MAX_WAIT_MS = 10_000;
const MAX_SHOWN_ORIGINS = 5;
const MAX_ORIGINS = 2000;
const originsSchema = z.array(z.string().min(1).max(2000)).max(MAX_ORIGINS);

/** A service, or one as it would be after a change. */
export interface SecretsOwner {
  id: string;
  /** Of its definition. */
  hash: string;
  config: Record<string, unknown>;
  secrets: Record<string, unknown>;
  /** The destinations they were set for; null: stored by an older version that did not keep them. */
  origins: readonly string[] | null;
}

/**
 * Where the adapter would send the secrets; for an adapter that does not say, or is not active, a fingerprint of the
 * definition and configuration. `use` has the defaults of the configuration filled in.
 * @throws AppError `service_failed` with the adapter's reason, as when settings are lacking.
 */
export async function findSecretOrigins(
  context: Pick<ServiceContext, "watch">,
  adapter: AdapterModule | null,
  owner: SecretsOwner,
  use: SecretUse,
): Promise<string[]> {
  if (adapter?.secretOrigins === undefined) return [fingerprint(owner)];
  try {
    const answer = Promise.resolve().then(() => adapter.secretOrigins?.(use));
    return [...new Set(originsSchema.parse(await waitAtMost(answer, MAX_WAIT_MS, "secretOrigins()")))].sort();
  } catch (error) {
    throw new AppError(
      "service_failed",
      `The adapter does not know where the secrets of the service ${owner.id} would be sent: ${context.watch.text(readFailure(error))}`,
      { cause: error },
    );
  }
}

export function hasSecrets({ secrets }: Pick<SecretsOwner, "secrets">): boolean {
  return Object.keys(secrets).length > 0;
}

export function areBoundTo(owner: Pick<SecretsOwner, "origins">, origins: readonly string[]): boolean {
  return origins.every((origin) => owner.origins?.includes(origin));
}

/**
 * The destinations to store with the secrets; null: keep the stored ones. Secrets of an older version are bound to where
 * they go now, and those bound while the adapter was not active, to what it says about the same service.
 */
export async function rebind(
  context: Pick<ServiceContext, "watch">,
  adapter: AdapterModule | null,
  owner: SecretsOwner,
  use: () => SecretUse,
): Promise<string[] | null> {
  const whole = fingerprint(owner);
  const isOfSame = adapter?.secretOrigins !== undefined && owner.origins?.includes(whole) === true;
  if (!hasSecrets(owner) || (owner.origins !== null && !isOfSame)) return null;
  return findSecretOrigins(context, adapter, owner, use()).catch(() => (isOfSame ? null : [whole]));
}

export function secretsOutdated(owner: SecretsOwner, origins: readonly string[]): AppError {
  const { id } = owner;
  const before = readableOrigins(owner.origins ?? []);
  const now = readableOrigins(origins);
  const what =
    now.length < origins.length || before.length < (owner.origins?.length ?? 0)
      ? `The secrets of the service ${id} were set for another definition or configuration, and it is not known whether they would now be sent elsewhere`
      : `The secrets of the service ${id} were set for ${list(before)}, and would now be sent to ${list(now)}`;
  return new AppError(
    "secrets_outdated",
    `${what}. They are kept, and are not handed over. If the change is right: disable the service if it is enabled, make the change, set all its secrets again (PATCH /services/${id}/secrets), and enable it. Otherwise undo the change.`,
    { issues: [{ path: "secrets", message: "were set for another place than they would be sent to" }] },
  );
}

const FINGERPRINT = "definition and configuration ";

/** For an adapter that does not say where secrets go: a hash of everything that a caller of the API can change. */
function fingerprint({ hash, config }: SecretsOwner): string {
  const inOrder = JSON.stringify(config, (_key, value: unknown) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
      : value,
  );
  return FINGERPRINT + createHash("sha256").update(`${hash}\n${inOrder}`).digest("hex");
}

/** Fingerprints are for comparing, not for reading. */
function readableOrigins(origins: readonly string[]): string[] {
  return origins.filter((origin) => !origin.startsWith(FINGERPRINT));
}

function list(origins: readonly string[]): string {
  if (origins.length === 0) return "no address";
  const more = origins.length - MAX_SHOWN_ORIGINS;
  return `${origins.slice(0, MAX_SHOWN_ORIGINS).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
