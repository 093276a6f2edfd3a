/**
 * Resolves a package's tree with npm's library. Before downloads, checks that each member comes from the registry,
 * has an integrity hash, is old enough and is not known malware.
 */
import { writeFile } from "node:fs/promises";
import type { Agent } from "node:http";
import { request } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import Arborist, { type Node } from "@npmcli/arborist";
import pacote from "pacote";
import semver from "semver";
import { z } from "zod";
import { checkLocked, isMember, Refused, shareHash, trimLock } from "./lock.ts";
import { ADVISORIES_PATH, type Advisory, type InstallJob, REGISTRY_HOST } from "./messages.ts";
import { isMemberName } from "./names.ts";

export interface ResolvedTree {
  members: Node[];
  leftOut: { name: string; reason: string }[];
}

export function npmOptions(job: InstallJob, agent: Agent): Record<string, unknown> {
  return {
    path: job.folder,
    cache: join(job.folder, ".cache"),
    registry: `http://${REGISTRY_HOST}/`,
    replaceRegistryHost: "never",
    agent,
    maxSockets: 8,
    fetchRetries: 0,
    retry: { retries: 0 },
    timeout: 300_000,
    fullMetadata: true,
    preferOnline: true,
    ignoreScripts: true,
    binLinks: false,
    audit: false,
    fund: false,
    allowGit: "none",
    allowRemote: "none",
    allowFile: "none",
    allowDirectory: "none",
    ...(job.before !== null && { before: new Date(job.before) }),
  };
}

/** Resolves the package's tree. Throws Refused, and errors from npm's library. */
export async function resolveTree(job: InstallJob, options: Record<string, unknown>): Promise<ResolvedTree> {
  const { name, range, lock, folder, limits } = job;
  const root = { name: "cyrnel-installation", version: "0.0.0", private: true };
  await writeFile(
    join(folder, "package.json"),
    JSON.stringify({ ...root, ...(lock !== null && { dependencies: { [name]: range } }) }),
  );
  const trimmed = lock === null ? null : trimLock(lock, name, range);
  if (trimmed !== null) await writeFile(join(folder, "package-lock.json"), JSON.stringify(trimmed));
  const arborist = new Arborist({ ...options, packageLock: lock !== null, saveType: "prod" });
  const tree = await arborist.buildIdealTree(lock === null ? { add: [`${name}@${range}`] } : {});
  const main = tree.children.get(name);
  if (main === undefined) throw new Refused(`${name}@${range} could not be resolved.`);
  const resolved = collectMembers(main);
  if (resolved.members.length > limits.maxPackages) {
    throw new Refused(
      `${name} needs ${resolved.members.length} packages; at most ${limits.maxPackages} are taken.`,
    );
  }
  for (const member of resolved.members) checkMember(member);
  if (trimmed !== null) checkLocked(trimmed, resolved.members);
  return resolved;
}

/** Leaves out optional packages for a single platform, because they are native. */
function collectMembers(main: Node): ResolvedTree {
  const members = new Set([main]);
  const leftOut = new Map<string, string>();
  for (const member of members) {
    for (const { to, type, name, error, spec } of member.edgesOut.values()) {
      if (type === "dev" || type === "workspace") continue;
      const isNeeded = type === "prod" || type === "peer";
      // A node without a version represents an optional package that was not found.
      if (to === null || error !== null || to.version === "") {
        if (!isNeeded) {
          if (type === "optional") leftOut.set(name, "could not be resolved");
          continue;
        }
        throw new Refused(
          `${member.name}@${member.version} needs ${name.slice(0, 200)}@${spec.slice(0, 200)}, which could not be resolved (${error ?? "missing"}).`,
        );
      }
      if (!isNeeded && (to.package.os !== undefined || to.package.cpu !== undefined)) {
        leftOut.set(to.name, "is made for one platform");
      } else members.add(to);
    }
  }
  return {
    members: [...members],
    leftOut: [...leftOut].map(([name, reason]) => ({ name: name.slice(0, 214), reason })),
  };
}

/** Hashes strong enough to trust; SHA-1 and MD5 can be forged. */
const STRONG = /^(?:sha512|sha384|sha256)-[A-Za-z0-9+/]+={0,2}/;

function checkMember(node: Node): void {
  const called = `${node.name}@${node.version}`.slice(0, 300);
  if (!isMember(node.location) || !isMemberName(nameOf(node))) {
    throw new Refused(`${JSON.stringify(called)} has an invalid package name.`);
  }
  if (node.isLink || node.resolved === null || !/^https?:\/\//.test(node.resolved)) {
    throw new Refused(`${called} does not come from the registry, and only its packages are taken.`);
  }
  if (node.integrity === null || !STRONG.test(node.integrity)) {
    throw new Refused(`${called} has no integrity by SHA-256 or stronger: it cannot be checked.`);
  }
}

export function nameOf(node: Node): string {
  return node.packageName ?? node.name;
}

const packumentSchema = z.object({
  time: z.record(z.string(), z.unknown()).optional(),
  versions: z.record(z.string(), z.unknown()),
});
const versionSchema = z.looseObject({
  dist: z.looseObject({ integrity: z.string().optional() }),
  deprecated: z.unknown().optional(),
});

export interface Published {
  at: string | null;
  deprecated: string | undefined;
}

/**
 * Checks publication dates and integrity with the registry, because a lock file may claim others. Keys are node
 * locations.
 */
export async function checkPublished(
  { before, minAgeDays }: Pick<InstallJob, "before" | "minAgeDays">,
  members: readonly Node[],
  options: Record<string, unknown>,
): Promise<Map<string, Published>> {
  const published = new Map<string, Published>();
  for (const node of members) {
    const called = `${nameOf(node)}@${node.version}`;
    const parsed = packumentSchema.safeParse(await pacote.packument(nameOf(node), options));
    const found = parsed.success ? versionSchema.safeParse(ownOf(parsed.data.versions, node.version)) : null;
    if (!parsed.success || !found?.success) throw new Refused(`The registry does not know ${called}.`);
    const { integrity } = found.data.dist;
    if (integrity !== undefined && !shareHash(integrity, node.integrity ?? "")) {
      throw new Refused(`The integrity of ${called} differs between the lock file and the registry.`);
    }
    const time = ownOf(parsed.data.time ?? {}, node.version);
    const at = typeof time === "string" && !Number.isNaN(Date.parse(time)) ? new Date(time) : null;
    if (before !== null && at === null) {
      throw new Refused(
        `The registry does not say when ${called} was published, and CYRNEL_PACKAGE_MIN_AGE_DAYS asks for ${minAgeDays} days.`,
      );
    }
    if (before !== null && at !== null && at > new Date(before)) throw tooYoung(called, at, minAgeDays);
    const { deprecated } = found.data;
    published.set(node.location, {
      at: at?.toISOString() ?? null,
      deprecated: typeof deprecated === "string" ? deprecated.slice(0, 500) : undefined,
    });
  }
  return published;
}

export function tooYoung(called: string, at: Date, minAgeDays: number): Refused {
  return new Refused(
    `${called} was published at ${at.toISOString()}, less than ${minAgeDays} days ago (CYRNEL_PACKAGE_MIN_AGE_DAYS). Ask for an older version, or wait.`,
  );
}

function ownOf<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

const advisoriesSchema = z.record(
  z.string(),
  z.array(
    z.looseObject({
      title: z.string().default(""),
      severity: z.string().default("unknown"),
      url: z.string().nullish(),
      vulnerable_versions: z.string().default("*"),
      cwe: z.array(z.string()).default([]),
    }),
  ),
);
const MAX_ADVISORIES = 1000;
/** CWE for "Embedded Malicious Code". */
const MALWARE_WEAKNESS = "CWE-506";

/** Returns null if no source responded and none is required. Throws Refused if a member is malware. */
export async function checkAdvisories(
  { advisories: mode }: Pick<InstallJob, "advisories">,
  members: readonly Node[],
  agent: Agent,
): Promise<Advisory[] | null> {
  if (mode === "off") return null;
  const versions: Record<string, string[]> = Object.assign(
    Object.create(null),
    Object.fromEntries(
      [...Map.groupBy(members, nameOf)].map(([name, nodes]) => [name, nodes.map(({ version }) => version)]),
    ),
  );
  const answer = advisoriesSchema.safeParse(await ask(versions, agent).catch(() => null));
  if (!answer.success) {
    if (mode === "asked") return null;
    throw new Refused(
      "The source of advisories did not answer, and one is configured: nothing is installed.",
    );
  }
  const found: Advisory[] = [];
  for (const [name, list] of Object.entries(answer.data)) {
    for (const { title, severity, url, vulnerable_versions, cwe } of list) {
      const affected = (versions[name] ?? []).filter((version) => isAffected(version, vulnerable_versions));
      if (affected.length === 0) continue;
      if (cwe.includes(MALWARE_WEAKNESS) || /^(?:malware|malicious (?:code|package))\b/i.test(title)) {
        throw new Refused(`${name} ${affected.join(", ")} is known to be malware: ${title.slice(0, 200)}.`);
      }
      found.push({
        name,
        title: title.slice(0, 500),
        severity: severity.slice(0, 50),
        url: url?.slice(0, 500) ?? null,
        vulnerableVersions: vulnerable_versions.slice(0, 500),
      });
    }
  }
  return found.slice(0, MAX_ADVISORIES);
}

/**
 * Checks the range itself, because a source may return all advisories for a name. An unreadable range matches every
 * version.
 */
function isAffected(version: string, range: string): boolean {
  const readable = semver.validRange(range);
  return readable === null || semver.satisfies(version, readable, { includePrerelease: true });
}

function ask(versions: Record<string, string[]>, agent: Agent): Promise<unknown> {
  const body = JSON.stringify(versions);
  return new Promise((resolve, reject) => {
    request(
      `http://${REGISTRY_HOST}${ADVISORIES_PATH}`,
      {
        agent,
        method: "POST",
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      },
      (response) => {
        if (response.statusCode === 200) json(response).then(resolve, reject);
        else reject(new Error(`status ${response.statusCode}`));
      },
    )
      .on("error", reject)
      .end(body);
  });
}
