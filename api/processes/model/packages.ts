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

export interface PackageHost {
  /** Finds a package that both keys of a run may import. `message` is written for the script's author. */
  find(caller: CallCaller, request: PackageRequest): Promise<FoundPackage | { message: string }>;
  search(caller: CallCaller, words: string): PackageSummary[];
  /** Rejects if the bundle does not exist. */
  read(digest: string): Promise<PackageCode>;
  /** Returns the package that this execution tests before it is installed, or null. */
  trial(eid: number): (FoundPackage & PackageCode) | null;
}
