import { z } from "zod";
import { advisorySchema, INSTALL_STEPS, treeMemberSchema } from "./install/messages.ts";
import { packageNameSchema, packageRangeSchema, packageVersionSchema } from "./install/names.ts";

/** The only value that `project` columns have for now. */
export const PROJECT = "default";
const MAX_LOCK_CHARACTERS = 1_000_000;

const count = z.int().nonnegative();

export const packageSummarySchema = z
  .object({
    name: z.string(),
    version: z.string(),
    digest: z.string().describe("SHA-256 of the code that scripts get."),
    description: z.string(),
    license: z.string().nullable().describe("As the package says it."),
    exports: z
      .array(z.string())
      .describe("What can be imported of it: `.`, or sub-paths such as `./locale`."),
    source: z.enum(["registry", "starter"]).describe("`starter`: it came with the server."),
    sizes: z
      .object({ code: count, types: count, unpacked: count })
      .describe("Bytes: of the code that scripts get, of its declarations, of all packages it was made of."),
    packages: count.describe("Packages it was made of, itself included."),
    advisories: count.nullable().describe("Known vulnerabilities; null if they were not looked up."),
    installedBy: z.string(),
    installedAt: z.iso.datetime(),
  })
  .meta({ id: "PackageSummary", description: "An installed package." });
export type PackageSummary = z.infer<typeof packageSummarySchema>;

export const packageListSchema = z.object({
  packages: z.array(packageSummarySchema),
  nextCursor: z.string().nullable(),
});

export const packageDetailsSchema = z.object({
  description: z.string(),
  homepage: z.string().nullable(),
  exports: z.array(z.string()),
  builtins: z.array(z.string()).describe("Modules of Node that it uses and scripts have."),
  missing: z
    .array(z.string())
    .describe("Modules of Node that it imports and scripts lack: it fails when it uses them."),
  tree: z.array(treeMemberSchema).describe("The packages it was made of, itself first."),
  leftOut: z
    .array(z.object({ name: z.string(), reason: z.string() }))
    .describe("Optional packages that it does without."),
  advisories: z.array(advisorySchema).nullable().describe("Null: they were not looked up."),
  sizes: z.object({ code: count, types: count, downloaded: count, unpacked: count, files: count }),
});
export type PackageDetails = z.infer<typeof packageDetailsSchema>;

export const packageSchema = packageSummarySchema
  .omit({ packages: true, advisories: true })
  .extend(packageDetailsSchema.shape)
  .meta({ id: "Package", description: "An installed package with its dependency tree." });
export type PackageRecord = z.infer<typeof packageSchema>;

export const packageTypesSchema = z
  .object({
    files: z.record(z.string(), z.string()).describe("Declarations by file, as they lie below node_modules."),
  })
  .describe("The declarations of a package and its dependencies; empty if they were too large.");

export const packageFilterSchema = z.strictObject({
  name: z.string().max(214).optional().describe("Exactly this name."),
});
export type PackageFilter = z.output<typeof packageFilterSchema>;
export const packagePositionSchema = z.tuple([z.string(), z.string()]);

export const packageParamsSchema = z.object({
  name: z.string().max(214).describe("The name, percent-encoded where it has a scope."),
  version: packageVersionSchema,
});

export const installPackageBodySchema = z
  .strictObject({
    name: packageNameSchema,
    version: packageVersionSchema.optional().describe("Exactly this version."),
    range: packageRangeSchema.optional().describe("The newest version that fits; default: latest."),
    lock: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("A package-lock.json that names the package: exactly its tree is installed."),
  })
  .refine(({ version, range }) => version === undefined || range === undefined, {
    error: "name a version or a range, not both",
  })
  .refine(({ lock }) => lock === undefined || JSON.stringify(lock).length <= MAX_LOCK_CHARACTERS, {
    error: `lock has at most ${MAX_LOCK_CHARACTERS} characters of JSON`,
    path: ["lock"],
  });
export type InstallPackageBody = z.output<typeof installPackageBodySchema>;

export const installationSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    range: z.string(),
    state: z.enum(["running", "done", "failed"]),
    step: z.enum(INSTALL_STEPS).describe("Its current or last step."),
    done: count.describe("Of `total`, in this step."),
    total: count.nullable(),
    version: z.string().nullable().describe("The version installed, now or before."),
    error: z.string().nullable().describe("Why it failed."),
    createdBy: z.string(),
    createdAt: z.iso.datetime(),
    completedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: "PackageInstallation", description: "An installation of a package." });
export type Installation = z.infer<typeof installationSchema>;

export const installationListSchema = z.object({
  installations: z.array(installationSchema),
  nextCursor: z.string().nullable(),
});
export const installationParamsSchema = z.object({
  id: z.string().regex(/^inst_[0-9a-f]{20}$/, "expected the id of an installation"),
});
