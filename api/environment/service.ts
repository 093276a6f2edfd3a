/** Puts together what `GET /environment` tells, from the active module, the leases and the queue. */
import type { Modules } from "#api/components/modules/service.ts";
import type { ModuleLogger } from "#sdk";
import { type EnvironmentDescription, reportedStatusSchema } from "./model.ts";

export interface EnvironmentOptions {
  modules: Modules;
  /** Processes that wait for a slot. */
  countQueued(): number | Promise<number>;
  logger: ModuleLogger;
}

export interface EnvironmentService {
  /** Throws AppError `no_environment`. */
  describe(): Promise<EnvironmentDescription>;
  /** Markdown. Throws AppError `no_environment` or `module_failed`. */
  readDocs(): Promise<string>;
}

export function createEnvironmentService({
  modules,
  countQueued,
  logger,
}: EnvironmentOptions): EnvironmentService {
  return {
    async describe() {
      const active = modules.requireActive();
      const queued = await countQueued();
      const manifest = modules.manifestOf(active.id);
      const status = readStatus(active.status(), logger);
      return {
        environment: { id: active.id, name: manifest?.name ?? active.id, version: manifest?.version ?? null },
        capacity: {
          slots: status?.slots ?? null,
          busy: status?.busy ?? modules.activeRuns(),
          queued,
          warm: status?.warm ?? 0,
          memoryBytes: status?.memoryBytes ?? null,
        },
        isolation: status?.isolation ?? null,
        zygote: status?.zygote ?? null,
        draining: modules.draining(),
      };
    },
    readDocs: () => modules.readDocs(),
  };
}

function readStatus(reported: unknown, logger: ModuleLogger) {
  if (reported === null) return null;
  const parsed = reportedStatusSchema.safeParse(reported);
  if (parsed.success) return parsed.data;
  logger.warn(
    { issues: parsed.error.issues.slice(0, 5) },
    "the active environment reports a malformed status",
  );
  return null;
}
