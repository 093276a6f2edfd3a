import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { Config } from "#api/config.ts";

export interface DiskSpace {
  folder: "data" | "spool";
  /** Free space available to users other than root. */
  freeBytes: number;
  sizeBytes: number;
}

/** Omits folders that are missing or unreadable. */
export async function measureDisks({
  dataDirectory,
  spoolDirectory,
}: Pick<Config, "dataDirectory" | "spoolDirectory">): Promise<DiskSpace[]> {
  const folders = { data: dataDirectory, spool: spoolDirectory ?? tmpdir() } as const;
  const measured = (["data", "spool"] as const).map(async (folder) => {
    const { bavail, blocks, bsize } = await statfs(folders[folder]);
    return { folder, freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
  });
  const settled = await Promise.allSettled(measured);
  return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}
