/**
 * Brings peers when they are asked for: packages of npm in exact versions, without their install scripts, and the programs
 * some need from Debian packages, which are unpacked and not installed. Kept in a folder of the system's temp.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Peer } from "./catalogue.ts";

const CACHE = join(tmpdir(), `cyrnel-peers-${process.getuid?.() ?? "user"}`);
const MAX_FETCH_MS = 10 * 60_000;
const run = promisify(execFile);

export interface Fetched {
  /** The folder above `node_modules`; empty for what is here already. */
  packages: string;
  /** To put before PATH and LD_LIBRARY_PATH. */
  path: string[];
  libraries: string[];
}

/** Rejects with the reason where a peer cannot be had. */
export async function fetchPeer({ fetched, programs }: Pick<Peer, "fetched" | "programs">): Promise<Fetched> {
  await mkdir(CACHE, { recursive: true, mode: 0o700 });
  const packages = fetched === undefined ? "" : await fetchPackage(fetched);
  const isComplete = programs === undefined || (await hasPrograms());
  if (isComplete) return { packages, path: [], libraries: [] };
  const root = await fetchPrograms(programs);
  const libraries = await findLibraries(root);
  return { packages, path: [join(root, "usr/bin")], libraries };
}

/** A folder is complete once it has its name: what was broken off is made again. */
async function fillFolder(name: string, fill: (folder: string) => Promise<unknown>): Promise<string> {
  const folder = join(CACHE, name.replaceAll(/[/ ]/g, "+"));
  if (existsSync(folder)) return folder;
  const partial = `${folder}.partial-${process.pid}`;
  await mkdir(partial);
  try {
    await fill(partial);
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
  return folder;
}

function fetchPackage(name: string): Promise<string> {
  return fillFolder(name, async (folder) => {
    console.error(`fetching ${name} …`);
    await writeFile(join(folder, "package.json"), JSON.stringify({ private: true }));
    await run(
      "npm",
      ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", ...name.split(" ")],
      {
        cwd: folder,
        timeout: MAX_FETCH_MS,
      },
    );
  });
}

async function hasPrograms(): Promise<boolean> {
  const found = await Promise.allSettled(["bwrap", "socat"].map((name) => run("which", [name])));
  return found.every(({ status }) => status === "fulfilled");
}

function fetchPrograms(names: readonly string[]): Promise<string> {
  return fillFolder("programs", async (folder) => {
    console.error(`fetching the Debian packages ${names.join(", ")} …`);
    const packages = join(folder, "packages");
    await mkdir(packages);
    await run("apt-get", ["download", ...names], { cwd: packages, timeout: MAX_FETCH_MS });
    for (const file of await readdir(packages)) await run("dpkg-deb", ["-x", join(packages, file), folder]);
  });
}

async function findLibraries(root: string): Promise<string[]> {
  const folders = ["lib", "usr/lib"].map((name) => join(root, name));
  const platforms = await Promise.all(
    folders.map(async (folder) =>
      existsSync(folder) ? (await readdir(folder)).map((name) => join(folder, name)) : [],
    ),
  );
  return platforms.flat();
}
