/**
 * Hostile packages against what reads them: the unpacking of tarballs, the description and what it exports, lock files, and the
 * bundler. None of them may read, list or write a folder outside, or end with anything but a refusal that says something.
 */
import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createArchiveBudget } from "#api/bounds/unpack-archive.ts";
import { isMember, Refused, trimLock } from "#api/packages/install/lock.ts";
import { unpackTarball } from "#api/packages/install/unpack.ts";
import { bundlePackage } from "#runner/packages/bundle.ts";
import { listCandidates, readManifest } from "#runner/packages/entries.ts";
import { Refusal } from "#runner/packages/plugin.ts";
import { createPrng, type Prng } from "../bridge-fuzz/prng.ts";
import { hostileLock, hostileManifest, hostileModule, hostileTarball } from "./inputs.ts";

export interface Judged {
  count: number;
  /** Inputs among them that were accepted. */
  taken: number;
}

export interface PackageCampaign {
  tarballs: Judged;
  manifests: Judged;
  locks: Judged;
  bundles: Judged;
  /** Failures, each with the seed that replays it. */
  faults: string[];
}

/** In names and contents of the folder outside. */
const CANARY = "canary-of-a-folder-outside";
const BUDGET = { bytes: 1024 * 1024, files: 200 };
const MAX_FAULTS = 10;
const MAX_MESSAGE_CHARACTERS = 3000;

interface Room {
  /** New for each input. */
  inside: string;
  outside: string;
  report(fault: string): void;
}

/** Judges `counts` of each kind, made from seeds from `firstSeed` on. */
export async function fuzzPackages(
  counts: Record<Exclude<keyof PackageCampaign, "faults">, number>,
  firstSeed: number,
): Promise<PackageCampaign> {
  const faults: string[] = [];
  const top = await realpath(await mkdtemp(join(tmpdir(), "cyrnel-fuzz-")));
  const outside = join(top, "outside");
  try {
    await mkdir(join(outside, CANARY), { recursive: true });
    for (const file of ["index.js", "data.json", `${CANARY}.js`, `${CANARY}/index.js`])
      await writeFile(join(outside, file), JSON.stringify(CANARY));
    await writeFile(
      join(outside, "package.json"),
      JSON.stringify({ name: CANARY, version: "1.0.0", description: CANARY }),
    );
    const before = await look(outside);

    const runAll = async (kind: keyof typeof counts, judge: (prng: Prng, room: Room) => Promise<boolean>) => {
      const judged = { count: 0, taken: 0 };
      for (let seed = firstSeed; judged.count < counts[kind] && faults.length < MAX_FAULTS; seed++) {
        const report = (fault: string) => faults.push(`${kind}, seed ${seed}: ${fault}`);
        const inside = join(top, "room", "inside");
        await mkdir(inside, { recursive: true });
        if (await judge(createPrng(seed), { inside, outside, report })) judged.taken++;
        judged.count++;
        await rm(join(top, "room"), { recursive: true });
        const left = (await readdir(top)).filter((name) => name !== "outside");
        if (left.length > 0 || (await look(outside)) !== before) report("something was written outside");
      }
      return judged;
    };
    const tarballs = await runAll("tarballs", judgeTarball);
    const manifests = await runAll("manifests", judgeManifest);
    const locks = await runAll("locks", judgeLock);
    const bundles = await runAll("bundles", judgeBundle);
    return { tarballs, manifests, locks, bundles, faults };
  } finally {
    await rm(top, { recursive: true, force: true });
  }
}

/** All that lies in a folder: names, kinds, sizes, contents. */
async function look(folder: string): Promise<string> {
  const found = [];
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    const stat = await lstat(join(folder, name));
    const kind = stat.isFile()
      ? await readFile(join(folder, name), "utf8")
      : stat.isDirectory()
        ? "folder"
        : "other";
    found.push([name, stat.mode, stat.nlink, kind]);
  }
  return JSON.stringify(found);
}

/** A sentence, and no fault of a library or of the system that was not foreseen. */
function judgeRefusal(error: unknown, { report }: Room, kind?: typeof Refused | typeof Refusal): false {
  const { message, code, stack } = error as NodeJS.ErrnoException;
  const isForeseen =
    kind === undefined ? error instanceof Error && code === undefined : error instanceof kind;
  if (!isForeseen) report(`${stack}`);
  if (!message || message.length > MAX_MESSAGE_CHARACTERS)
    report(`a refusal that says ${message?.slice(0, 100)}`);
  return false;
}

async function judgeTarball(prng: Prng, room: Room): Promise<boolean> {
  const { inside, outside, report } = room;
  const tarball = await hostileTarball(prng, outside);
  const folder = join(inside, "node_modules/x");
  let files: number | null = null;
  try {
    files = (await unpackTarball(tarball, folder, createArchiveBudget(BUDGET.bytes, BUDGET.files))).files;
  } catch (error) {
    judgeRefusal(error, room);
  }
  let found = 0;
  let bytes = 0;
  for (const name of await readdir(folder, { recursive: true })) {
    const stat = await lstat(join(folder, name));
    if (stat.isFile()) {
      found++;
      bytes += stat.size;
    } else if (!stat.isDirectory()) report(`${JSON.stringify(name)} is neither a file nor a folder`);
  }
  if (files !== null && files !== found) report(`${found} files lie there, and ${files} were counted`);
  if (found > BUDGET.files || bytes > BUDGET.bytes) report(`${found} files of ${bytes} bytes lie there`);
  if (
    (await readdir(inside)).join() !== "node_modules" ||
    (await readdir(join(inside, "node_modules"))).join() !== "x"
  )
    report("something lies beside the package");
  return files !== null;
}

async function judgeManifest(prng: Prng, room: Room): Promise<boolean> {
  const { inside, outside, report } = room;
  await writePackage(prng, inside, outside);
  try {
    const candidates = listCandidates(readManifest(inside), inside);
    if (candidates.length > 800 || candidates.some((path) => !path.startsWith(".")))
      report(`exports ${candidates.slice(0, 5)}`);
    if (candidates.some((path) => path.includes(CANARY))) report("a folder outside was listed");
    return candidates.length > 1;
  } catch (error) {
    return judgeRefusal(error, room, Refusal);
  }
}

async function judgeLock(prng: Prng, room: Room): Promise<boolean> {
  try {
    const { packages } = trimLock(hostileLock(prng, room.outside), "x", "1.0.0");
    for (const [location, { link }] of Object.entries(packages)) {
      const isPlain = location === "" || (isMember(location) && /^node_modules\/[^\\]+$/.test(location));
      if (!isPlain || location.split("/").includes("..") || link === true)
        room.report(`hands on ${JSON.stringify(location)}`);
    }
    return true;
  } catch (error) {
    return judgeRefusal(error, room, Refused);
  }
}

async function judgeBundle(prng: Prng, room: Room): Promise<boolean> {
  const { inside, outside, report } = room;
  const folder = join(inside, "node_modules/x");
  await mkdir(folder, { recursive: true });
  await writePackage(prng, folder, outside);
  const made = await bundlePackage(join(inside, "node_modules"), "x").catch((error: Error) => error);
  if (made instanceof Error) {
    report(`${made.stack}`);
    return false;
  }
  // What the package says itself of the folder is not the folder's.
  if (JSON.stringify(made).includes(CANARY)) report("a file outside was read");
  if ("problem" in made) return judgeRefusal(new Error(made.problem), room);
  return true;
}

/** A package with links, in an installation that could have none. */
async function writePackage(prng: Prng, folder: string, outside: string): Promise<void> {
  await mkdir(join(folder, "a"));
  await symlink(outside, join(folder, "link"));
  await symlink(join(outside, "index.js"), join(folder, "linked.js"));
  await writeFile(join(folder, "package.json"), hostileManifest(prng, outside));
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({ extends: outside, compilerOptions: { paths: { "*": [`${outside}/*`] } } }),
  );
  for (const file of ["index.js", "a.js", "a/b.js"]) {
    const isPlain = prng.chance(0.5);
    await writeFile(join(folder, file), isPlain ? "exports.plain = 1;" : hostileModule(prng, outside));
  }
}
