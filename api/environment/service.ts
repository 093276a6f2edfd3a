import type { Modules } from "#api/components/modules/service.ts";
import type { CallCaller } from "#api/tools/contract.ts";
import type { ModuleLogger } from "#sdk";
import { type EnvironmentDescription, reportedStatusSchema } from "./model.ts";

interface ListedPackage {
  name: string;
  version: string;
  description: string;
}

export interface EnvironmentOptions {
  modules: Modules;
  countQueued(): number | Promise<number>;
  listPackages(viewer: CallCaller): readonly ListedPackage[];
  logger: ModuleLogger;
}

export interface EnvironmentService {
  /** Describes the active environment. Throws AppError `no_environment`. */
  describe(): Promise<EnvironmentDescription>;
  /**
   * Returns Markdown that lists the packages the viewer may import. Throws AppError `no_environment`,
   * `module_failed`.
   */
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
    async readDocs(viewer) {
      const { importsPackages } = modules.requireActive().module;
      const docs = await modules.readDocs();
      return importsPackages === true ? docs + describePackages(listPackages(viewer)) : docs;
    },
  };
}

/** Limits the package list, because agents that read the docs pay for it in tokens. */
const MAX_LISTED_CHARACTERS = 620;
const MAX_DESCRIPTION_CHARACTERS = 26;

/** Lists packages while there is room, then explains how to find the others. */
export function describePackages(packages: readonly ListedPackage[]): string {
  if (packages.length === 0) return "";
  let text = "\n## Packages\n\n";
  let shown = 0;
  for (const one of packages) {
    const line = `- ${one.name}@${one.version.split(".")[0]}: ${shorten(one.description)}\n`;
    if (text.length + line.length > MAX_LISTED_CHARACTERS) break;
    text += line;
    shown++;
  }
  const left = packages.length - shown;
  return left === 0
    ? text
    : `${text}- and ${left} more: \`(await tools.search(query)).packages\`, \`GET /packages\`\n`;
}

const DANGLING = /(?:[\s&,;:(-]+|\s(?:an?|the|and|or|of|for|to|in|on|with|that))$/iu;

/** Cuts the text after a complete word and appends `…`. */
function shorten(text: string): string {
  if (text.length <= MAX_DESCRIPTION_CHARACTERS) return text;
  let cut = text.slice(0, MAX_DESCRIPTION_CHARACTERS + 1).replace(/\s+\S*$/u, "");
  while (DANGLING.test(cut)) cut = cut.replace(DANGLING, "");
  return `${cut.slice(0, MAX_DESCRIPTION_CHARACTERS).toWellFormed()}…`;
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
