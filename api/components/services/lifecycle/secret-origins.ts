/**
 * Sends secrets only to the destinations they were set for: an administrator who can change a service's addresses
 * must not be able to redirect its secrets. The adapter declares the destinations.
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
const MAX_DESTINATIONS = 2000;
const MAX_SHOWN_SECRETS = 20;
const MAX_ISSUES = 50;
const placeSchema = z.string().min(1).max(2000);
const destinationsSchema = z
  .array(
    z.union([
      placeSchema.transform((place) => ({ place, secret: null, formerly: undefined })),
      z.object({ place: placeSchema, secret: z.string(), formerly: placeSchema.optional() }),
    ]),
  )
  .max(MAX_DESTINATIONS);

/** A destination and the name of the secret sent there. If the name is null, any secret may be sent there. */
export type Destination = z.infer<typeof destinationsSchema>[number];

export interface SecretsOwner {
  id: string;
  hash: string;
  config: Record<string, unknown>;
  secrets: Record<string, unknown>;
  /** Destinations that the secrets were set for, or null if an older version stored the secrets without them. */
  origins: readonly string[] | null;
}

/**
 * Returns where the adapter would send the secrets. If the adapter is not active or does not declare destinations,
 * returns a fingerprint of the definition and configuration. In `use`, configuration defaults are filled in. Throws
 * AppError `service_failed` with the adapter's reason, for example missing settings.
 */
export async function findSecretOrigins(
  context: Pick<ServiceContext, "watch">,
  adapter: AdapterModule | null,
  owner: SecretsOwner,
  use: SecretUse,
): Promise<Destination[]> {
  if (adapter?.secretOrigins === undefined)
    return [{ place: fingerprint(owner), secret: null, formerly: undefined }];
  try {
    const answer = Promise.resolve().then(() => adapter.secretOrigins?.(use));
    return destinationsSchema.parse(await waitAtMost(answer, MAX_WAIT_MS, "secretOrigins()"));
  } catch (error) {
    throw new AppError(
      "service_failed",
      `The adapter does not know where the secrets of the service ${owner.id} would be sent: ${readFailure(error, context.watch.cut)}`,
      { cause: error },
    );
  }
}

export function hasSecrets({ secrets }: Pick<SecretsOwner, "secrets">): boolean {
  return Object.keys(secrets).length > 0;
}

export function placesOf(destinations: readonly Destination[]): string[] {
  return [...new Set(destinations.map(({ place }) => place))].sort();
}

export function findMisplaced(
  owner: Pick<SecretsOwner, "secrets" | "origins">,
  destinations: readonly Destination[],
): string[] {
  const known = new Set(owner.origins);
  const elsewhere = destinations.filter(({ place }) => !known.has(place));
  const ofAll = elsewhere.some(({ secret }) => secret === null);
  const ofOne = new Set(elsewhere.map(({ secret }) => secret));
  return Object.keys(owner.secrets)
    .filter((name) => ofAll || ofOne.has(name))
    .sort();
}

/**
 * Returns the destinations to store with the secrets, or null to keep the stored ones. Rebinds secrets in three
 * cases: stored by an older version without destinations (bound to the current ones); bound while the adapter was not
 * active (bound to the destinations it declares for the same service); bound all together by an older version of the
 * adapter (rebound if they still go to the same places).
 */
export async function rebind(
  context: Pick<ServiceContext, "watch">,
  adapter: AdapterModule | null,
  owner: SecretsOwner,
  use: () => SecretUse,
): Promise<string[] | null> {
  const { origins } = owner;
  const whole = fingerprint(owner);
  const isOfSame = adapter?.secretOrigins !== undefined && origins?.includes(whole) === true;
  const isTogether =
    adapter !== null && origins !== null && origins.length > 0 && origins.every(isOriginOnly);
  if (!hasSecrets(owner) || (origins !== null && !isOfSame && !isTogether)) return null;
  try {
    const found = await findSecretOrigins(context, adapter, owner, use());
    const stays = ({ formerly }: Destination) => formerly !== undefined && origins?.includes(formerly);
    return isTogether && !found.every(stays) ? null : placesOf(found);
  } catch {
    return origins === null ? [whole] : null;
  }
}

function isOriginOnly(place: string): boolean {
  return !place.includes(" ");
}

export function secretsOutdated(owner: SecretsOwner, destinations: readonly Destination[]): AppError {
  const { id, origins } = owner;
  const misplaced = findMisplaced(owner, destinations);
  const names = list(misplaced, MAX_SHOWN_SECRETS);
  const places = placesOf(
    destinations.filter(
      ({ place, secret }) =>
        !origins?.includes(place) && (secret === null || Object.hasOwn(owner.secrets, secret)),
    ),
  );
  const before = readableOrigins(origins ?? []);
  const now = readableOrigins(places);
  const whose = `${misplaced.length === 1 ? "The secret" : "The secrets"} ${names} of the service ${id} ${misplaced.length === 1 ? "was" : "were"} set for`;
  const what =
    now.length < places.length || before.length < (origins?.length ?? 0)
      ? `${whose} another definition or configuration, and it is not known where that sends them`
      : `${whose} ${list(before)}, and would now be sent to ${list(now)}`;
  return new AppError(
    "secrets_outdated",
    `${what}. What is set is kept, and not handed over. If the change is right: disable the service if it is enabled, make the change, set ${names} again in one patch (PATCH /services/${id}/secrets), and enable it. Otherwise undo the change.`,
    {
      issues: misplaced.slice(0, MAX_ISSUES).map((name) => ({
        path: `secrets/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
        message: "was set for another place than it would be sent to",
      })),
    },
  );
}

const FINGERPRINT = "definition and configuration ";

/** For adapters that do not declare destinations: hashes everything that an API caller can change. */
export function fingerprint({ hash, config }: SecretsOwner): string {
  const inOrder = JSON.stringify(config, (_key, value: unknown) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
      : value,
  );
  return FINGERPRINT + createHash("sha256").update(`${hash}\n${inOrder}`).digest("hex");
}

/** Filters out fingerprints, which mean nothing to a reader. */
function readableOrigins(origins: readonly string[]): string[] {
  return origins.filter((origin) => !origin.startsWith(FINGERPRINT));
}

function list(texts: readonly string[], maxShown = MAX_SHOWN_ORIGINS): string {
  if (texts.length === 0) return "no address";
  const more = texts.length - maxShown;
  return `${texts.slice(0, maxShown).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
