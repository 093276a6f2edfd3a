/** Unpacks and checks a package in a staging folder, without running any of its code. */
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { readFailure } from "#api/bounds/failure-text.ts";
import { AppError } from "#api/errors.ts";
import type { ModuleManifest } from "#sdk";
import type { Fetched } from "../../registry.ts";
import { resolveMain } from "../loader/code.ts";
import { readFolder } from "../loader/files.ts";
import { MANIFEST_FILE, readManifest } from "../loader/manifest.ts";
import { writePackageNote } from "../packages/note.ts";
import type { ModulePlace, StagedFolder } from "../packages/place.ts";
import { PackageRefused, unpackPackage } from "../packages/unpack.ts";

export interface PreparedModule extends AsyncDisposable {
  manifest: ModuleManifest;
  staged: StagedFolder;
  /** Name of the package's only folder, which then contains the module; otherwise empty. */
  subfolder: string;
}

export async function prepareModule(
  place: ModulePlace,
  fetched: Fetched,
  source: string,
): Promise<PreparedModule> {
  await using undo = new AsyncDisposableStack();
  const staged = undo.use(await place.stage());
  try {
    await unpackPackage(fetched.bytes, staged.path);
    const subfolder = await findModule(staged.path);
    const folder = path.join(staged.path, subfolder);
    const reading = await readManifest(folder);
    if (reading === null) throw new PackageRefused(`The package contains no ${MANIFEST_FILE}.`);
    if (!reading.ok) throw new PackageRefused(reading.error);
    const { manifest } = reading;
    await resolveMain(folder, manifest.main).catch((error: unknown) => {
      throw new PackageRefused(readFailure(error));
    });
    await writePackageNote(folder, { hash: fetched.hash, source, filesHash: await readFolder(folder) });
    const resources = undo.move();
    return { manifest, staged, subfolder, [Symbol.asyncDispose]: () => resources.disposeAsync() };
  } catch (error) {
    if (!(error instanceof PackageRefused)) throw error;
    throw new AppError("invalid_package", `${error.message} Nothing was installed.`, { cause: error });
  }
}

async function findModule(folder: string): Promise<string> {
  const names = await readdir(folder);
  const [only = ""] = names;
  if (names.includes(MANIFEST_FILE) || names.length !== 1) return "";
  return (await stat(path.join(folder, only))).isDirectory() ? only : "";
}
