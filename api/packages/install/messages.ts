/** Messages between the server and the installation process: one job, its progress and one outcome. */
import { z } from "zod";

export const INSTALL_STEPS = [
  "waiting",
  "resolving",
  "checking",
  "downloading",
  "bundling",
  "trying",
] as const;
export type InstallStep = (typeof INSTALL_STEPS)[number];

export interface InstallLimits {
  maxPackages: number;
  maxTarballBytes: number;
  maxDownloadBytes: number;
  maxPackumentBytes: number;
  maxUnpackedBytes: number;
  maxFiles: number;
}

export const INSTALL_LIMITS: InstallLimits = {
  maxPackages: 500,
  maxTarballBytes: 64 * 1024 * 1024,
  maxDownloadBytes: 512 * 1024 * 1024,
  maxPackumentBytes: 96 * 1024 * 1024,
  maxUnpackedBytes: 256 * 1024 * 1024,
  maxFiles: 20_000,
};

/** Job sent to the process as JSON on standard input. */
export interface InstallJob {
  name: string;
  /** Version, range or tag to install. */
  range: string;
  /** Parsed package-lock.json, or null to install the newest matching versions. */
  lock: unknown;
  types: string | null;
  /** Empty folder for the installation. The process writes nothing outside it. */
  folder: string;
  /** ISO 8601 time. Versions published later are not installed; null allows all versions. */
  before: string | null;
  minAgeDays: number;
  /** With `required`, nothing is installed unless an advisory source responds. */
  advisories: "off" | "asked" | "required";
  limits: InstallLimits;
}

const count = z.int().nonnegative();

export const treeMemberSchema = z
  .object({
    name: z.string(),
    version: z.string(),
    path: z.string().describe("Its path in npm's layout."),
    integrity: z.string().describe("What the tarball was checked against."),
    license: z.string().nullable().describe("As the package states it; null if it states none."),
    publishedAt: z.string().nullable(),
    bytes: count.describe("Unpacked."),
    files: count,
    installScripts: z.boolean().describe("True if it has installation scripts. They were not run."),
    deprecated: z.string().optional().describe("What its publisher says."),
  })
  .describe("A package of a tree.");

export const advisorySchema = z
  .object({
    name: z.string(),
    title: z.string(),
    severity: z.string(),
    url: z.string().nullable(),
    vulnerableVersions: z.string(),
  })
  .describe("A known weakness of a package of the tree.");

export const installedTreeSchema = z.object({
  version: z.string(),
  description: z.string(),
  homepage: z.string().nullable(),
  tree: z.array(treeMemberSchema),
  /** Known advisories, or null if no source responded. */
  advisories: z.array(advisorySchema).nullable(),
  leftOut: z.array(z.object({ name: z.string(), reason: z.string() })),
  sizes: z.object({ downloaded: count, unpacked: count, files: count }),
});
export type InstalledTree = z.infer<typeof installedTreeSchema>;
export type TreeMember = z.infer<typeof treeMemberSchema>;
export type Advisory = z.infer<typeof advisorySchema>;

/** Message on one line of standard output. The process ends after `tree` or `problem`. */
export const installMessageSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("step"), step: z.enum(INSTALL_STEPS), done: count, total: count.nullable() }),
  z.object({ type: z.literal("tree"), tree: installedTreeSchema }),
  z.object({ type: z.literal("problem"), message: z.string() }),
]);
export type InstallMessage = z.infer<typeof installMessageSchema>;

/** Host name by which the process knows the registry, whatever its real address. */
export const REGISTRY_HOST = "registry.invalid";
export const TARBALL_PATH = "/-/cyrnel/tarball";
export const ADVISORIES_PATH = "/-/cyrnel/advisories";
/** File descriptors of the pipes to the registry, because the process cannot open connections. */
export const REGISTRY_PIPES: readonly number[] = [3, 4, 5, 6, 7, 8, 9, 10];
