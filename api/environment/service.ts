/** Puts together what `GET /environment` tells, from the active module, the leases and the queue. */
import type { Modules } from "#api/components/modules/service.ts";
import type { CallCaller } from "#api/tools/gate.ts";
import type { ModuleLogger } from "#sdk";
import { type EnvironmentDescription, reportedStatusSchema } from "./model.ts";

export interface EnvironmentOptions {
  modules: Modules;
  /** Processes that wait for a slot. */
  countQueued(): number | Promise<number>;
  /** npm packages that the viewer's scripts may import. */
  listPackages(viewer: CallCaller): readonly { name: string; version: string }[];
  logger: ModuleLogger;
}

export interface EnvironmentService {
  /** Throws AppError `no_environment`. */
  describe(): Promise<EnvironmentDescription>;
  /** Markdown, with what the viewer may import. Throws AppError `no_environment` or `module_failed`. */
  readDocs(viewer: CallCaller): Promise<string>;
}

export function createEnvironmentService({
  modules,
  countQueued,
  listPackages,
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
    readDocs: async (viewer) => (await modules.readDocs()) + describePackages(listPackages(viewer)),
  };
}

/** Each costs whoever reads the docs some tokens. */
const MAX_LISTED_PACKAGES = 60;

function describePackages(packages: readonly { name: string; version: string }[]): string {
  if (packages.length === 0) return "";
  const shown = packages.slice(0, MAX_LISTED_PACKAGES).map(({ name, version }) => `${name} ${version}`);
  const rest = packages.length - shown.length;
  return `\n## Packages\n\nInstalled here: ${shown.join(", ")}${rest > 0 ? `, and ${rest} more (\`GET /packages\`)` : ""}.\n`;
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
