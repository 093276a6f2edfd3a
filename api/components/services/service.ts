/**
 * Installs, reads, configures, enables, regenerates and deletes services. Each service changes one step at a time,
 * and a failed change leaves everything as it was.
 */

import { type PageRequest, readNumberedPage } from "#api/bounds/page.ts";
import { createKeyedQueue, createQueue } from "#api/bounds/queue.ts";
import type { AdapterServices, CarrySecrets, ServiceSight } from "../ports.ts";
import type { SettingsHost } from "../settings/service.ts";
import {
  refuseWaitingChanges,
  refuseWaitingDefinitions,
  type ServiceContext,
  serviceNotFound,
} from "./context.ts";
import {
  changeDefinition,
  createService,
  installFromRegistry,
  previewService,
  syncService,
  updateFromRegistry,
} from "./installation.ts";
import { linkAdapters } from "./lifecycle/adapter-link.ts";
import { followService } from "./lifecycle/handover.ts";
import { createHydration, type HydrationLimits } from "./lifecycle/hydration.ts";
import type {
  CreateServiceBody,
  InstallServiceBody,
  PatchServiceBody,
  PreviewServiceBody,
  ServiceDetailsRecord,
  ServiceFilter,
  ServicePreview,
  ServiceRecord,
} from "./model.ts";
import { hostServiceSettings } from "./settings.ts";
import { findServiceDetails, listAllServiceIds, listServiceRows, type ServiceRow } from "./store.ts";
import { removeService, setEnabled } from "./switching.ts";

export interface ServiceLimits extends HydrationLimits {
  maxWaitingChangesPerService: number;
  maxDefinitionsAtOnce: number;
  maxWaitingDefinitions: number;
}

const DEFAULT_LIMITS: ServiceLimits = {
  maxHydrateMs: 20_000,
  maxDehydrateMs: 10_000,
  maxWaitingChangesPerService: 20,
  maxDefinitionsAtOnce: 2,
  maxWaitingDefinitions: 20,
};

export interface ServicesOptions
  extends Pick<ServiceContext, "pool" | "logger" | "adapters" | "secrets" | "watch" | "download"> {
  limits?: Partial<ServiceLimits>;
}

export interface ServicePage {
  services: ServiceRecord[];
  next: number | null;
}

export interface Services {
  readonly link: AdapterServices;
  readonly settings: SettingsHost;
  list(
    filter: ServiceFilter,
    page: PageRequest<number>,
    sight: Pick<ServiceSight, "visible">,
  ): Promise<ServicePage>;
  get(id: string): Promise<ServiceDetailsRecord>;
  /** Like `install`, but throws AppError `forbidden` if the caller could not see the service. */
  create(body: CreateServiceBody, sight: Pick<ServiceSight, "wouldShow">): Promise<void>;
  preview(body: PreviewServiceBody): Promise<ServicePreview>;
  install(body: InstallServiceBody, sight: Pick<ServiceSight, "wouldShow">): Promise<string>;
  patch(id: string, body: PatchServiceBody, carry: CarrySecrets): Promise<boolean>;
  update(id: string, carry: CarrySecrets): Promise<boolean>;
  sync(id: string): Promise<void>;
  setEnabled(id: string, enabled: boolean): Promise<void>;
  remove(id: string): Promise<void>;
  follow(id: string): Promise<void>;
  failureOf(id: string): string | null;
  listIds(): Promise<string[]>;
  onChange(listener: (serviceId: string) => void): () => void;
}

export function createServices(options: ServicesOptions): Services {
  const { pool, logger, adapters, watch } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const listeners = new Set<(serviceId: string) => void>();
  const context: ServiceContext = {
    pool,
    logger,
    adapters,
    watch,
    secrets: options.secrets,
    download: options.download,
    hydration: createHydration({ logger, watch, limits }),
    changes: createKeyedQueue(limits.maxWaitingChangesPerService, refuseWaitingChanges),
    generations: createQueue({
      atOnce: limits.maxDefinitionsAtOnce,
      maxHeld: limits.maxDefinitionsAtOnce + limits.maxWaitingDefinitions,
      refuse: refuseWaitingDefinitions,
    }),
    announce(serviceId) {
      for (const listener of [...listeners]) listener(serviceId);
    },
  };
  const toRecord = (row: ServiceRow) =>
    renderRecord(row, adapters.get(row.adapter) !== null, context.hydration.failureOf(row.id));

  return {
    link: linkAdapters(context),
    settings: hostServiceSettings(context),
    async list(filter, page, sight) {
      const show = async (rows: ServiceRow[]) => {
        const visible = await sight.visible(rows.map(({ id }) => id));
        return rows.filter(({ id }) => visible.has(id));
      };
      const { rows, next } = await readNumberedPage(page, (at) => listServiceRows(pool, filter, at), show);
      return { services: rows.map(toRecord), next };
    },
    async get(id) {
      const row = await findServiceDetails(pool, id);
      if (row === null) throw serviceNotFound(id);
      const { configSchema, secretsSchema } = row;
      return { ...toRecord(row), configSchema, secretsSchema };
    },
    create: (body, sight) => createService(context, body, sight),
    preview: (body) => previewService(context, body),
    install: (body, sight) => installFromRegistry(context, body, sight),
    patch: (id, body, carry) => changeDefinition(context, id, body, carry),
    update: (id, carry) => updateFromRegistry(context, id, carry),
    sync: (id) => syncService(context, id),
    setEnabled: (id, enabled) => setEnabled(context, id, enabled),
    remove: (id) => removeService(context, id),
    follow: (id) => followService(context, id),
    failureOf: context.hydration.failureOf,
    listIds: () => listAllServiceIds(pool),
    onChange(listener) {
      const entry = (serviceId: string) => listener(serviceId);
      listeners.add(entry);
      return () => {
        listeners.delete(entry);
      };
    },
  };
}

function renderRecord(row: ServiceRow, isAdapterActive: boolean, failure: string | null): ServiceRecord {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    adapter: row.adapter,
    hash: row.hash,
    source: row.source,
    enabled: row.enabled,
    effectivelyEnabled: row.enabled && !row.stale && isAdapterActive && failure === null,
    stale: row.stale,
    error: row.error ?? (row.enabled ? failure : null),
    problems: row.problems,
    createdAt: row.createdAt.toISOString(),
  };
}
