/**
 * Hostile names and specifiers against what takes them: the check of names, a run's workspace, what clients may submit, the tar of
 * artifacts, and the imports of a script. No one of them may reach outside of the workspace, throw anything but its refusal,
 * or take what the others refuse.
 */
import { setTimeout } from "node:timers/promises";
import { extract, pack } from "tar-stream";
import { givenFilesSchema } from "#api/processes/model/files.ts";
import { checkFileName } from "#kernel/file-names.ts";
import { prepareSource } from "#runner/preparer/prepare.ts";
import { readSpecifier } from "#runner/source/modules/names.ts";
import { Workspace } from "#runner/workspace/workspace.ts";
import { createPrng, type Prng } from "../bridge-fuzz/prng.ts";
import { hostileName, hostileSpecifier, mayNameAFile } from "./names.ts";

export interface NameCampaign {
  names: number;
  /** Valid file names among them. */
  taken: number;
  specifiers: number;
  /** Names among them that lead to a file or a module. */
  found: number;
  /** Failures, each with the seed that replays it. */
  faults: string[];
}

const NAMES_PER_WORKSPACE = 50;
/** A whole preparation takes a millisecond: only some specifiers get one. */
const PREPARED_OF = 200;
const MAX_FAULTS = 10;
const GIVEN = new Map([
  ["lib/a.ts", "export const a = 1"],
  ["a.json", "{}"],
  ["index.ts", "export const b = 1"],
]);

/** Judges `count` names and as many specifiers, made from seeds from `firstSeed` on. */
export async function fuzzNames(count: number, firstSeed: number): Promise<NameCampaign> {
  const campaign: NameCampaign = { names: 0, taken: 0, specifiers: 0, found: 0, faults: [] };
  for (let seed = firstSeed; campaign.names < count && campaign.faults.length < MAX_FAULTS; seed++) {
    const prng = createPrng(seed);
    const report = (fault: string) => campaign.faults.push(`seed ${seed}: ${fault}`);
    const names = Array.from({ length: NAMES_PER_WORKSPACE }, () => hostileName(prng));
    for (const name of names) judgeName(name, report);
    const kept = await judgeWorkspace(names, report);
    await judgeTar(kept, report);
    for (let index = 0; index < NAMES_PER_WORKSPACE; index++) judgeSpecifier(prng, campaign, report);
    if (seed % (PREPARED_OF / NAMES_PER_WORKSPACE) === 0) await judgeImport(prng, report);
    campaign.names += names.length;
    campaign.taken += kept.length;
  }
  return campaign;
}

function judgeName(name: string, report: (fault: string) => void): void {
  const wrong = checkFileName(name);
  if ((wrong === null) !== mayNameAFile(name)) report(`${JSON.stringify(name)} ${wrong ?? "was taken"}`);
  const given = givenFilesSchema.safeParse(Object.fromEntries([[name, { text: "" }]]));
  // A record has no such key: what JSON has under it is dropped before.
  if (given.success !== (wrong === null) && name !== "__proto__")
    report(`clients may give ${JSON.stringify(name)}`);
}

/** What was taken, as the run leaves it. */
async function judgeWorkspace(names: string[], report: (fault: string) => void): Promise<string[]> {
  await using workspace = new Workspace({ files: [], maxBytes: 1_000_000, maxFiles: 1000 });
  for (const [index, name] of names.entries()) {
    const data = Buffer.from(`${index}`);
    try {
      await workspace.write({ name, data, mode: "replace", more: false, write: index + 1 });
      if (!mayNameAFile(name)) report(`a run may write ${JSON.stringify(name)}`);
      if (Buffer.compare(await workspace.read(name, 0, 10), data) !== 0)
        report(`${JSON.stringify(name)} is read as another`);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "invalid_file_name")
        report(`${JSON.stringify(name)}: ${error}`);
    }
  }
  const kept = workspace.artifacts().map(({ name }) => name);
  for (const name of kept) {
    if (kept.some((other) => other.startsWith(`${name}/`)))
      report(`${JSON.stringify(name)} is a file and a folder`);
  }
  return kept;
}

/** Every name comes out of the archive as it went in. */
async function judgeTar(names: string[], report: (fault: string) => void): Promise<void> {
  const archive = pack();
  for (const name of names) archive.entry({ name }, "x");
  archive.finalize();
  const found: string[] = [];
  for await (const entry of archive.pipe(extract())) {
    found.push(entry.header.name);
    entry.resume();
  }
  if (found.join("\0") !== names.join("\0"))
    report(`an archive of ${JSON.stringify(names)} has ${JSON.stringify(found)}`);
}

function judgeSpecifier(prng: Prng, campaign: NameCampaign, report: (fault: string) => void): void {
  const specifier = hostileSpecifier(prng);
  const from = prng.pick(["script.ts", "lib/a.ts", "a/b/c/d.ts"]);
  campaign.specifiers++;
  const read = readSpecifier(specifier, from);
  if (read.is === "refused") {
    if (read.message.length > 3000) report(`a refusal of ${read.message.length} characters`);
    return;
  }
  campaign.found++;
  if (read.is !== "file") return;
  for (const path of read.paths) {
    if (path.split("/").includes("..") || path.startsWith("/") || /[\0\\]/.test(path)) {
      report(`${JSON.stringify(specifier)} in ${from} looks for ${JSON.stringify(path)}`);
    }
  }
}

/** A whole script that imports it: what is asked of the workspace is a name, and nothing is found that was not given. */
async function judgeImport(prng: Prng, report: (fault: string) => void): Promise<void> {
  const specifier = hostileSpecifier(prng);
  const form = prng.pick([
    "import * as x from #;",
    "await import(#);",
    "export * from #;",
    "import x from # with { type: 'json' };",
  ]);
  const source = form.replace("#", () => JSON.stringify(specifier));
  const asked: string[] = [];
  const readModule = async (name: string) => {
    asked.push(name);
    await setTimeout();
    return GIVEN.get(name) ?? null;
  };
  const prepared = await prepareSource(source, { readModule }).catch((error) => error as Error);
  if (prepared instanceof Error) report(`${source}: ${prepared.stack}`);
  for (const name of asked) {
    if (name.startsWith("/") || name.split("/").includes(".."))
      report(`${source} asks for ${JSON.stringify(name)}`);
  }
}
