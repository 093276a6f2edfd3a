import { readFailure } from "#api/bounds/failure-text.ts";
import { compileSettings, type SettingsKind, subjectOf } from "#api/components/settings/schema.ts";
import { AppError, type ErrorIssue } from "#api/errors.ts";
import type { AdapterModule, ServiceState } from "#sdk";
import { ownerKey } from "../ports.ts";
import { inTurn, requireAdapter, type ServiceContext, toServiceFailed } from "./context.ts";
import { handBack } from "./lifecycle/handover.ts";
import { hasSecrets } from "./lifecycle/secret-origins.ts";
import { requireServiceParts, type ServiceParts, toServiceState } from "./lifecycle/state.ts";
import {
  deleteService,
  findServiceRow,
  type ServiceRow,
  setServiceEnabled,
  setServiceError,
} from "./store.ts";

export async function setEnabled(context: ServiceContext, id: string, enabled: boolean): Promise<void> {
  await inTurn(context, id, (row) => (enabled ? enable(context, row) : disable(context, row)));
  context.announce(id);
}

async function enable(context: ServiceContext, row: ServiceRow): Promise<void> {
  const { pool, hydration } = context;
  if (row.stale) throw serviceStale(row);
  const adapter = requireAdapter(context, row.adapter);
  if (row.enabled && hydration.holds(adapter, row.id)) return;
  const parts = await requireServiceParts(context, adapter, row.id);
  const state = await requireFit(context, adapter, parts);
  try {
    await hydration.hydrate(adapter, state);
  } catch (error) {
    await setServiceError(pool, row.id, readFailure(error, context.watch.cut));
    throw toServiceFailed(row.id, error);
  }
  try {
    await setServiceEnabled(pool, row.id, true);
  } catch (error) {
    if (!row.enabled) await hydration.dehydrate(row.id, adapter);
    throw error;
  }
}

async function disable(context: ServiceContext, row: ServiceRow): Promise<void> {
  await setServiceEnabled(context.pool, row.id, false);
  // Announce first, so that calls get `service_disabled` instead of the adapter's error.
  context.announce(row.id);
  await context.hydration.dehydrate(row.id, context.adapters.get(row.adapter));
}

export async function removeService(context: ServiceContext, id: string): Promise<void> {
  await inTurn(context, id, (row) => remove(context, row));
}

async function remove(context: ServiceContext, row: ServiceRow): Promise<void> {
  const { pool, hydration, adapters } = context;
  const { id } = row;
  const adapter = adapters.get(row.adapter);
  await hydration.dehydrate(id, adapter);
  try {
    await pool.begin(async (transaction) => {
      await context.secrets.remove(transaction, { kind: "service", id });
      await deleteService(transaction, id);
    });
  } catch (error) {
    if (row.enabled) await handBack(context, row);
    throw error;
  }
  context.watch.dropOwner(ownerKey({ kind: "service", id }));
  context.announce(id);
}

export async function removeServiceIfThere(context: ServiceContext, id: string): Promise<void> {
  await context.changes.run(
    id,
    async () => {
      const row = await findServiceRow(context.pool, id);
      if (row !== null) await remove(context, row);
    },
    { always: true },
  );
}

/**
 * Returns the state for the adapter. Throws AppError `invalid_request` with every reason why the service cannot be
 * enabled, and errors from `toServiceState`. Secrets are validated last, because their validation errors reveal
 * something about the values.
 */
async function requireFit(
  context: ServiceContext,
  adapter: AdapterModule,
  parts: ServiceParts,
): Promise<ServiceState> {
  const issues = findIssues(parts, "config");
  if (issues.length > 0 && hasSecrets(parts)) throw notFitting(parts.id, issues);
  const state = issues.length > 0 ? null : await toServiceState(context, adapter, parts);
  issues.push(...findIssues(parts, "secrets"));
  if (state === null || issues.length > 0) throw notFitting(parts.id, issues);
  return state;
}

function notFitting(id: string, issues: ErrorIssue[]): AppError {
  const [first] = issues;
  const rest = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  return new AppError(
    "invalid_request",
    `The service ${id} cannot be enabled, because its settings are invalid: ${first?.path} ${first?.message}${rest}.`,
    { issues },
  );
}

function findIssues(parts: ServiceParts, kind: SettingsKind): ErrorIssue[] {
  const settings = compileSettings(parts[`${kind}Schema`], subjectOf("service", kind));
  return settings.findIssues(settings.applyDefaults(parts[kind]));
}

function serviceStale(row: ServiceRow): AppError {
  return new AppError(
    "service_stale",
    `The service ${row.id} is stale: ${row.error ?? "its adapter has changed."} Change its definition with PATCH /services/${row.id}, or regenerate its tools with POST /services/${row.id}/sync.`,
  );
}
