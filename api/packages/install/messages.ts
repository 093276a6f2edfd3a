/** What the server and the process that installs a package tell each other: one job, lines of progress, one outcome. */
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

/** In bytes unless they say otherwise. */
export interface InstallLimits {
  /** Packages of the tree, the one that is asked for included. */
  maxPackages: number;
  /** One tarball as it comes. */
  maxTarballBytes: number;
  /** All that is downloaded, descriptions of packages included. */
  maxDownloadBytes: number;
  /** A description of a package, with all its versions. */
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

/** Given on standard input, as JSON. */
export interface InstallJob {
  name: string;
  /** A version, a range or a tag. */
  range: string;
  /** A package-lock.json, parsed; null: the newest versions that fit. */
  lock: unknown;
  /** The package of its declarations, where it brings none; null: they are not asked for. */
  types: string | null;
  /** An empty folder: nothing is written outside of it. */
  folder: string;
  /** Versions published later are not taken. ISO 8601; null: all are. */
  before: string | null;
  minAgeDays: number;
  /** `required`: without an answer nothing is installed. */
  advisories: "off" | "asked" | "required";
  limits: InstallLimits;
}

const count = z.int().nonnegative();

export const treeMemberSchema = z
  .object({
    name: z.string(),
    version: z.string(),
    path: z.string().describe("Where it lies, as npm lays it out."),
    integrity: z.string().describe("What the tarball was checked against."),
    license: z.string().nullable().describe("As the package says it; null: it says none."),
    publishedAt: z.string().nullable(),
    bytes: count.describe("Unpacked."),
    files: count,
    installScripts: z.boolean().describe("It has scripts for its installation. They were not run."),
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
  /** Null: no source of them was asked, or it did not answer. */
  advisories: z.array(advisorySchema).nullable(),
  leftOut: z.array(z.object({ name: z.string(), reason: z.string() })),
  sizes: z.object({ downloaded: count, unpacked: count, files: count }),
});
export type InstalledTree = z.infer<typeof installedTreeSchema>;
export type TreeMember = z.infer<typeof treeMemberSchema>;
export type Advisory = z.infer<typeof advisorySchema>;

/** A line on standard output. The process ends after `tree` or `problem`. */
export const installMessageSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("step"), step: z.enum(INSTALL_STEPS), done: count, total: count.nullable() }),
  z.object({ type: z.literal("tree"), tree: installedTreeSchema }),
  z.object({ type: z.literal("problem"), message: z.string() }),
]);
export type InstallMessage = z.infer<typeof installMessageSchema>;

/** The host under which the installing process knows the registry, whatever its address is. */
export const REGISTRY_HOST = "registry.invalid";
export const TARBALL_PATH = "/-/cyrnel/tarball";
export const ADVISORIES_PATH = "/-/cyrnel/advisories";
/** File descriptors over which it is asked: the process can open no connection, and is started with these. */
export const REGISTRY_PIPES: readonly number[] = [3, 4, 5, 6, 7, 8, 9, 10];
