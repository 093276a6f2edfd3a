/**
 * Installs DefinitelyTyped declarations for a package without its own, from the same registry under the same rules.
 * They are for editors; only their declaration files are kept.
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import type { Agent } from "node:http";
import { join } from "node:path";
import type { Node } from "@npmcli/arborist";
import semver from "semver";
import { Refused } from "./lock.ts";
import type { Advisory, InstallJob } from "./messages.ts";
import { checkAdvisories, checkPublished, type Published, resolveTree } from "./tree.ts";

export interface ResolvedTypes {
  members: Node[];
  published: Map<string, Published>;
  advisories: Advisory[] | null;
  leftOut: { name: string; reason: string }[];
}

/** Skips Node's declarations: they are large, and editors have them. */
const LOCATION = /^node_modules\/@types\/(?!node$)[^/]+$/;
const DECLARATIONS = /\.d\.[cm]?ts$/;
const MAX_REASON_CHARACTERS = 300;
const ABSENT = new Set(["E404", "ETARGET", "ENOVERSIONS"]);

export async function hasTypes(folder: string, manifest: Record<string, unknown>): Promise<boolean> {
  if (typeof manifest.types === "string" || typeof manifest.typings === "string") return true;
  const files = await readdir(folder, { recursive: true });
  return files.some((file) => DECLARATIONS.test(file) && !/(?:^|[/\\])node_modules[/\\]/.test(file));
}

/**
 * Finds declarations for the package's major version, except those already installed. Never throws, because no run
 * depends on them.
 */
export async function resolveTypes(
  job: InstallJob,
  { version, taken }: { version: string; taken: ReadonlySet<string> },
  options: Record<string, unknown>,
  agent: Agent,
): Promise<ResolvedTypes> {
  const none = { members: [], published: new Map<string, Published>(), advisories: [] };
  const { types: name } = job;
  if (name === null) return { ...none, leftOut: [] };
  try {
    const folder = join(job.folder, ".types");
    await mkdir(folder);
    const alone = { ...job, name, range: String(semver.major(version)), folder };
    const resolved = await resolveTree(alone, { ...options, path: folder });
    const members = resolved.members.filter(
      ({ location }) => LOCATION.test(location) && !taken.has(location),
    );
    if (taken.size + members.length > job.limits.maxPackages)
      throw new Refused(`With them there would be more than ${job.limits.maxPackages} packages.`);
    const published = await checkPublished(job, members, options);
    return { members, published, advisories: await checkAdvisories(job, members, agent), leftOut: [] };
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (ABSENT.has(code)) return { ...none, leftOut: [] };
    const reason = error instanceof Refused ? error.message : `could not be resolved ${code}`.trim();
    return { ...none, leftOut: [{ name, reason: reason.slice(0, MAX_REASON_CHARACTERS) }] };
  }
}

export async function keepDeclarations(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory() || DECLARATIONS.test(entry.name) || entry.name === "package.json") continue;
    await rm(join(entry.parentPath, entry.name));
  }
}
