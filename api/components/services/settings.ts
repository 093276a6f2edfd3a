/**
 * Service settings: schemas come from the definition, secrets are bound to their destinations, and the adapter
 * accepts a change before it is stored.
 */
import { readFailure } from "#api/bounds/failure-text.ts";
import { AppError } from "#api/errors.ts";
import { compileSettings, type SettingsKind, subjectOf } from "../settings/schema.ts";
import type { SettingsHost } from "../settings/service.ts";
import { type ServiceContext, serviceNotFound } from "./context.ts";
import { carrySecrets } from "./lifecycle/carrying.ts";
import { handOver } from "./lifecycle/handover.ts";
import { findMisplaced, placesOf } from "./lifecycle/secret-origins.ts";
import { originsOfParts, requireServiceParts } from "./lifecycle/state.ts";
import { findServiceDetails, type ServiceRow, type ServiceSchemas, setServiceError } from "./store.ts";

export function hostServiceSettings(context: ServiceContext): SettingsHost {
  const { pool, adapters, changes } = context;

  async function requireDetails(id: string): Promise<ServiceRow & ServiceSchemas> {
    const details = await findServiceDetails(pool, id);
    if (details === null) throw serviceNotFound(id);
    return details;
  }

  return {
    async find(id) {
      const details = await requireDetails(id);
      return {
        schema: (kind) => details[`${kind}Schema`],
        settings: (kind) => compiled(details, kind),
      };
    },
    async readSecrets(id) {
      const adapter = adapters.get((await requireDetails(id)).adapter);
      const parts = await requireServiceParts(context, adapter, id);
      // Stays null if the adapter cannot declare destinations because settings are missing.
      const origins = await originsOfParts(context, adapter, parts).catch(() => null);
      const misplaced = origins === null ? Object.keys(parts.secrets) : findMisplaced(parts, origins);
      return {
        values: parts.secrets,
        version: parts.version,
        misplaced,
        isKnown: adapter !== null,
        findOrigins: async (isEmpty) =>
          placesOf(
            origins ??
              (isEmpty ? [] : await originsOfParts(context, adapter, parts).catch(refuseUnknownOrigins)),
          ),
      };
    },
    change: (id, work, carry) =>
      changes.run(id, async () => {
        const row = await requireDetails(id);
        const adapter = adapters.get(row.adapter);
        // Bind secrets from an older version to their destination before it changes.
        const before = await requireServiceParts(context, adapter, id);
        return work({
          settings: (kind) => compiled(row, kind),
          mayLack: () => !row.enabled,
          async apply(changed, store) {
            const carried = "config" in changed ? carrySecrets(context, carry, before, changed) : null;
            const write = () =>
              pool.begin(async (transaction) => {
                const version = await store(transaction);
                await carried?.store(transaction);
                return version;
              });
            const current = adapters.get(row.adapter);
            let version: number;
            if (!row.enabled || row.stale || current === null) version = await write();
            else {
              const parts = await requireServiceParts(context, current, id);
              const next = { ...parts, ...changed, ...(carried && { origins: carried.origins }) };
              version = await handOver(context, row, { next, newDefinition: false }, write);
              await setServiceError(pool, id, null);
            }
            carried?.record();
            return version;
          },
        });
      }),
  };
}

function compiled(schemas: ServiceSchemas, kind: SettingsKind) {
  return compileSettings(schemas[`${kind}Schema`], subjectOf("service", kind));
}

/** Secrets are stored with their destination, so a secret cannot be set while its destination is unknown. */
function refuseUnknownOrigins(error: unknown): never {
  const reason = readFailure(error);
  throw new AppError(
    "invalid_request",
    `The service does not know yet where it will send its secrets. ${reason} Set the configuration first, then the secrets.`,
    { issues: [{ path: "config", message: reason }], cause: error },
  );
}
