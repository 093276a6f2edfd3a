/** What processes need of the packages feature, and what they show of the packages of a run. */
import { z } from "zod";
import type { CallCaller } from "#api/tools/contract.ts";
import type { FoundPackage, PackageCode, PackageRequest, PackageSummary } from "#sdk";

export const packageUseSchema = z
  .object({
    name: z.string(),
    version: z.string(),
    digest: z.string().describe("SHA-256 of the code that the run got."),
  })
  .describe("A package that a run has imported.");

/** Installed packages, as runs see them. */
export interface PackageHost {
  /** On whose behalf: what both keys of a run may import. `message` is for the author of the script. */
  find(caller: CallCaller, request: PackageRequest): Promise<FoundPackage | { message: string }>;
  /** Those that words fit, of what the caller may import. */
  search(caller: CallCaller, words: string): PackageSummary[];
  /** Rejects where there is no such bundle. */
  read(digest: string): Promise<PackageCode>;
  /** A package that is being tried before it is installed, by the execution that tries it. */
  trial(eid: number): (FoundPackage & PackageCode) | null;
}
