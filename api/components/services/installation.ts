/**
 * Installing and regenerating services. A definition is obtained and made into tools first; one transaction then writes
 * everything, so a service is never half installed.
 */

import { AppError } from "#api/errors.ts";
import type { AdapterModule, DefinitionContext, ServiceDefinition } from "#sdk";
import type { ServiceSight } from "../ports.ts";
import { fetchDescriptor } from "../registry.ts";
import { writeConfig } from "../settings/store.ts";
import { inTurn, requireAdapter, type ServiceContext, serviceNotFound } from "./context.ts";
import { generateDefinition } from "./definitions/generate.ts";
import { requireFilter } from "./definitions/settings-schema.ts";
import {
  downloadDefinition,
  type ObtainedDefinition,
  obtainDefinition,
  unpackDefinition,
} from "./definitions/source.ts";
import { handOver } from "./lifecycle/handover.ts";
import { partsOfDefinition, readDefinitionContext, requireServiceParts } from "./lifecycle/state.ts";
import {
  type CreateServiceBody,
  type InstallServiceBody,
  type PatchServiceBody,
  serviceDescriptorSchema,
} from "./model.ts";
import {
  findServiceRow,
  insertService,
  type MadeService,
  readDefinition,
  replaceService,
  type ServiceRow,
  type StoredDefinition,
  setServiceError,
} from "./store.ts";
import { replaceTools } from "./store-tools.ts";

/** A direct installation. Throws AppError. */
export async function createService(
  context: ServiceContext,
  body: CreateServiceBody,
  sight: Pick<ServiceSight, "wouldShow">,
): Promise<void> {
  const service = { id: body.id, adapter: body.adapter, source: "" };
  const obtain = () => obtainDefinition(context.download, body);
  await install(context, service, body.operationFilter, obtain, sight);
}

/** An installation from a registry: what the request says wins over the descriptor. Resolves to the id. */
export async function installFromRegistry(
  context: ServiceContext,
  body: InstallServiceBody,
  sight: Pick<ServiceSight, "wouldShow">,
): Promise<string> {
  const { source } = body;
  const descriptor = await fetchDescriptor(context.download, source, serviceDescriptorSchema);
  const id = body.id ?? descriptor.id;
  const adapter = body.adapter ?? descriptor.adapter;
  const lacking = Object.entries({ id, adapter }).filter(([, value]) => value === undefined);
  if (id === undefined || adapter === undefined) {
    throw new AppError(
      "invalid_request",
      "The service needs an id and an adapter: give them in the request.",
      {
        issues: lacking.map(([name]) => ({
          path: `body.${name}`,
          message: "neither the request nor the descriptor has one",
        })),
      },
    );
  }
  const obtain = () => downloadDefinition(context.download, descriptor.downloadUrl, descriptor.hash);
  await install(context, { id, adapter, source }, body.operationFilter, obtain, sight);
  return id;
}

async function install(
  context: ServiceContext,
  service: { id: string; adapter: string; source: string },
  operationFilter: string[] | undefined,
  obtain: () => Promise<ObtainedDefinition>,
  sight: Pick<ServiceSight, "wouldShow">,
): Promise<void> {
  const config = operationFilter === undefined ? {} : { operationFilter };
  const { id, adapter: adapterId } = service;
  const owner = { kind: "service", id } as const;
  await context.changes.run(id, async () => {
    requireAdapter(context, adapterId);
    if ((await findServiceRow(context.pool, id)) !== null) throw serviceTaken(id);
    await context.generations.run(async () => {
      const made = await make(context, adapterId, obtain, { config });
      if (operationFilter !== undefined) requireFilter(adapterId, made.service.configSchema);
      const toolIds = made.service.tools.map((tool) => tool.id);
      if (!sight.wouldShow(id, toolIds)) throw refuseUnseen(id);
      await context.pool.begin(async (transaction) => {
        // Secrets of a service that had this id before must never become this one's.
        await context.secrets.remove(transaction, owner);
        const row = { ...service, ...toRow(made.service), hash: made.hash, packed: made.packed };
        if (!(await insertService(transaction, row))) throw serviceTaken(id);
        await replaceTools(transaction, id, made.service.tools, true);
        if (operationFilter !== undefined) await writeConfig(transaction, owner, config, 0);
      });
    });
  });
  context.announce(id);
}

function refuseUnseen(id: string): AppError {
  return new AppError(
    "forbidden",
    `The role of this key shows no tool that the service ${id} would have, so it cannot install it. Ask an administrator without a role, or for a role that allows ${id}.*.`,
  );
}

/** Another definition for the service. Resolves to false when it is the one that is installed. Throws AppError. */
export async function changeDefinition(
  context: ServiceContext,
  id: string,
  body: PatchServiceBody,
): Promise<boolean> {
  return inTurn(context, id, async (row) => {
    requireAdapter(context, row.adapter);
    return remake(context, row, () => obtainDefinition(context.download, body));
  });
}

/** The definition that its registry has now. Resolves to false when it is the one that is installed. Throws AppError. */
export async function updateFromRegistry(context: ServiceContext, id: string): Promise<boolean> {
  return inTurn(context, id, async (row) => {
    if (row.source === "") {
      throw new AppError(
        "no_source",
        `The service ${id} was not installed from a registry. Change it with PATCH /services/${id}.`,
      );
    }
    requireAdapter(context, row.adapter);
    const { downloadUrl, hash } = await fetchDescriptor(
      context.download,
      row.source,
      serviceDescriptorSchema,
    );
    if (hash === row.hash) return false;
    return remake(context, row, () => downloadDefinition(context.download, downloadUrl, hash));
  });
}

/** Regenerates the tools from the stored definition. Throws AppError. */
export async function syncService(context: ServiceContext, id: string): Promise<void> {
  await inTurn(context, id, (row) =>
    context.generations.run(() => regenerate(context, row, requireAdapter(context, row.adapter))),
  );
}

/**
 * Regenerates the tools from the stored definition, for a caller that holds the service's turn. `adapter` may be an
 * instance that is not in place yet: the service is not handed to it. Throws AppError.
 */
export async function regenerate(
  context: ServiceContext,
  row: ServiceRow,
  adapter: AdapterModule,
): Promise<void> {
  const isInPlace = context.adapters.get(row.adapter) === adapter;
  const packed = await readDefinition(context.pool, row.id);
  if (packed === null) throw serviceNotFound(row.id);
  const text = await unpackDefinition(packed);
  const service = await generate(context, row.adapter, adapter, { text, hash: row.hash }, row);
  if (isInPlace) requireSameAdapter(context, row.adapter, adapter);
  await replace(context, row, service, null, isInPlace ? adapter : null);
}

/** Resolves to false when the definition is the one that is installed. */
async function remake(
  context: ServiceContext,
  row: ServiceRow,
  obtain: () => Promise<ObtainedDefinition>,
): Promise<boolean> {
  return context.generations.run(async () => {
    const made = await make(context, row.adapter, obtain, row);
    if (made === null) return false;
    await replace(context, row, made.service, made, made.adapter);
    return true;
  });
}

interface Made extends StoredDefinition {
  service: ServiceDefinition;
  adapter: AdapterModule;
}

function make(
  context: ServiceContext,
  adapterId: string,
  obtain: () => Promise<ObtainedDefinition>,
  first: Pick<DefinitionContext, "config">,
): Promise<Made>;
function make(
  context: ServiceContext,
  adapterId: string,
  obtain: () => Promise<ObtainedDefinition>,
  installed: ServiceRow,
): Promise<Made | null>;
/** Makes tools of a definition, and checks that the adapter was not replaced meanwhile. Null when it is the installed one. */
async function make(
  context: ServiceContext,
  adapterId: string,
  obtain: () => Promise<ObtainedDefinition>,
  of: ServiceRow | Pick<DefinitionContext, "config">,
): Promise<Made | null> {
  const { text, packed, hash } = await obtain();
  if ("hash" in of && hash === of.hash) return null;
  const adapter = requireAdapter(context, adapterId);
  const service = await generate(context, adapterId, adapter, { text, hash }, of);
  requireSameAdapter(context, adapterId, adapter);
  return { service, packed, hash, adapter };
}

async function generate(
  context: ServiceContext,
  adapterId: string,
  adapter: AdapterModule,
  definition: { text: string; hash: string },
  of: ServiceRow | Pick<DefinitionContext, "config">,
): Promise<ServiceDefinition> {
  const settings =
    "hash" in of
      ? await readDefinitionContext(context, adapter, definition, of.id)
      : Object.keys(of.config).length === 0
        ? undefined
        : { config: of.config, secrets: {} };
  return generateDefinition({
    adapterId,
    adapter,
    definition: definition.text,
    redact: (text) => context.watch.text(text),
    ...(settings === undefined ? {} : { settings }),
  });
}

/** Another version of the adapter may not understand what this one made. Throws AppError `adapter_inactive`. */
function requireSameAdapter(context: ServiceContext, adapterId: string, adapter: AdapterModule): void {
  if (requireAdapter(context, adapterId) === adapter) return;
  throw new AppError(
    "adapter_inactive",
    `The adapter ${adapterId} was replaced while it read the definition. Try again.`,
  );
}

/** Stores a regenerated service; `holder` is handed the service first if that is enabled. */
async function replace(
  context: ServiceContext,
  row: ServiceRow,
  service: ServiceDefinition,
  definition: StoredDefinition | null,
  holder: AdapterModule | null,
): Promise<void> {
  const { pool } = context;
  const write = () =>
    pool.begin(async (transaction) => {
      if (holder !== null) requireSameAdapter(context, row.adapter, holder);
      const isThere = await replaceService(transaction, row.id, toRow(service), definition);
      if (!isThere) throw serviceNotFound(row.id);
      // New tools of an enabled service start disabled, because no one has reviewed them.
      await replaceTools(transaction, row.id, service.tools, !row.enabled);
    });
  if (!row.enabled || holder === null) await write();
  else {
    const parts = await requireServiceParts(context, holder, row.id);
    const next = partsOfDefinition({ id: row.id, hash: definition?.hash ?? row.hash }, service, parts);
    await handOver(context, row, { next, newDefinition: true }, write);
    await setServiceError(pool, row.id, null);
  }
  context.announce(row.id);
}

function toRow(service: ServiceDefinition): MadeService {
  return {
    name: service.name,
    description: service.description,
    adapterDomain: JSON.stringify(service.adapterDomain) ?? "null",
    configSchema: JSON.stringify(service.configSchema),
    secretsSchema: JSON.stringify(service.secretsSchema),
  };
}

function serviceTaken(id: string): AppError {
  return new AppError(
    "service_taken",
    `There is a service ${id} already. Choose another id, or change that one with PATCH /services/${id}.`,
  );
}
