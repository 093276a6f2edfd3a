/**
 * Installs and regenerates services. The definition is read and tools are generated first; then one transaction
 * writes everything, so a service is never half installed.
 */

import { AppError } from "#api/errors.ts";
import type { AdapterModule, ServiceDefinition } from "#sdk";
import type { CarrySecrets, ServiceSight } from "../ports.ts";
import { fetchDescriptor } from "../registry.ts";
import { writeConfig } from "../settings/store.ts";
import { inTurn, requireAdapter, type ServiceContext, serviceNotFound } from "./context.ts";
import { requireFilter } from "./definitions/settings-schema.ts";
import { downloadDefinition, obtainDefinition, unpackDefinition } from "./definitions/source.ts";
import { carrySecrets } from "./lifecycle/carrying.ts";
import { handOver } from "./lifecycle/handover.ts";
import { partsOfDefinition, requireServiceParts } from "./lifecycle/state.ts";
import { generate, make, type Obtain, requireSameAdapter } from "./making.ts";
import {
  type CreateServiceBody,
  type InstallServiceBody,
  type PatchServiceBody,
  type PreviewServiceBody,
  type ServicePreview,
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

export async function createService(
  context: ServiceContext,
  body: CreateServiceBody,
  sight: Pick<ServiceSight, "wouldShow">,
): Promise<void> {
  const service = { id: body.id, adapter: body.adapter, source: "" };
  const obtain: Obtain = (holder) => obtainDefinition(context.download, body, holder);
  await install(context, service, body.operationFilter, obtain, sight);
}

const MAX_PREVIEWED_TOOLS = 200;
const MAX_PREVIEWED_CHARACTERS = 4000;

export async function previewService(
  context: ServiceContext,
  body: PreviewServiceBody,
): Promise<ServicePreview> {
  const { adapter, operationFilter } = body;
  requireAdapter(context, adapter);
  const config = operationFilter === undefined ? {} : { operationFilter };
  const obtain: Obtain = (holder) => obtainDefinition(context.download, body, holder);
  return context.generations.run(async () => {
    const { service } = await make(context, adapter, obtain, { config });
    const { name, description, tools, secretsSchema, problems = [] } = service;
    return {
      name,
      description: description.slice(0, MAX_PREVIEWED_CHARACTERS),
      toolCount: tools.length,
      tools: tools.slice(0, MAX_PREVIEWED_TOOLS).map((tool) => ({
        id: tool.id,
        name: tool.name,
        description: tool.description.slice(0, MAX_PREVIEWED_CHARACTERS),
        destructive: tool.destructive === true,
      })),
      secretsSchema,
      problems,
    };
  });
}

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
  const obtain: Obtain = (holder) => downloadDefinition(context.download, descriptor, holder);
  await install(context, { id, adapter, source }, body.operationFilter, obtain, sight);
  return id;
}

async function install(
  context: ServiceContext,
  service: { id: string; adapter: string; source: string },
  operationFilter: string[] | undefined,
  obtain: Obtain,
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
        // Remove the secrets of an earlier service with this id, so that this service never receives them.
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

/** Replaces a service's definition. Returns false if this definition is already installed. Throws AppError. */
export async function changeDefinition(
  context: ServiceContext,
  id: string,
  body: PatchServiceBody,
  carry: CarrySecrets,
): Promise<boolean> {
  return inTurn(context, id, async (row) => {
    requireAdapter(context, row.adapter);
    return remake(context, row, (holder) => obtainDefinition(context.download, body, holder), carry);
  });
}

export async function updateFromRegistry(
  context: ServiceContext,
  id: string,
  carry: CarrySecrets,
): Promise<boolean> {
  return inTurn(context, id, async (row) => {
    if (row.source === "") {
      throw new AppError(
        "no_source",
        `The service ${id} was not installed from a registry. Change it with PATCH /services/${id}.`,
      );
    }
    requireAdapter(context, row.adapter);
    const from = await fetchDescriptor(context.download, row.source, serviceDescriptorSchema);
    if (from.hash === row.hash) return false;
    return remake(context, row, (holder) => downloadDefinition(context.download, from, holder), carry);
  });
}

export async function syncService(context: ServiceContext, id: string): Promise<void> {
  await inTurn(context, id, (row) =>
    context.generations.run(() => regenerate(context, row, requireAdapter(context, row.adapter))),
  );
}

/**
 * Regenerates the tools. Call from the service's queue. `adapter` may be an instance that is not active yet; it does
 * not receive the service. Throws AppError.
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
  await replace(context, row, service, null, isInPlace ? adapter : null, null);
}

async function remake(
  context: ServiceContext,
  row: ServiceRow,
  obtain: Obtain,
  carry: CarrySecrets,
): Promise<boolean> {
  return context.generations.run(async () => {
    const made = await make(context, row.adapter, obtain, row);
    if (made === null) return false;
    await replace(context, row, made.service, made, made.adapter, carry);
    return true;
  });
}

/** Stores a regenerated service. If it is enabled, the adapter in `holder` must accept it first. */
async function replace(
  context: ServiceContext,
  row: ServiceRow,
  service: ServiceDefinition,
  definition: StoredDefinition | null,
  holder: AdapterModule | null,
  carry: CarrySecrets,
): Promise<void> {
  const { pool } = context;
  const parts = await requireServiceParts(context, holder, row.id);
  const hash = definition?.hash ?? row.hash;
  const carried = carrySecrets(context, carry, parts, { hash });
  const write = () =>
    pool.begin(async (transaction) => {
      if (holder !== null) requireSameAdapter(context, row.adapter, holder);
      const isThere = await replaceService(transaction, row.id, toRow(service), definition);
      if (!isThere) throw serviceNotFound(row.id);
      // An enabled service's new tools and changed `fetch` rules start disabled, because no administrator has
      // reviewed them.
      await replaceTools(transaction, row.id, service.tools, !row.enabled);
      await carried?.store(transaction);
    });
  if (!row.enabled || holder === null) await write();
  else {
    const next = partsOfDefinition({ id: row.id, hash }, service, parts);
    if (carried !== null) next.origins = carried.origins;
    await handOver(context, row, { next, newDefinition: true }, write);
    await setServiceError(pool, row.id, null);
  }
  carried?.record();
  context.announce(row.id);
}

function toRow(service: ServiceDefinition): MadeService {
  return {
    name: service.name,
    description: service.description,
    adapterDomain: JSON.stringify(service.adapterDomain) ?? "null",
    configSchema: JSON.stringify(service.configSchema),
    secretsSchema: JSON.stringify(service.secretsSchema),
    problems: JSON.stringify(service.problems ?? []),
  };
}

function serviceTaken(id: string): AppError {
  return new AppError(
    "service_taken",
    `There is a service ${id} already. Choose another id, or change that one with PATCH /services/${id}.`,
  );
}
