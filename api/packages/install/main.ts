/**
 * Installs one package into one folder. Node lets this process write only to that folder and denies it programs,
 * addons, threads and network; it reaches the registry through its pipes. Executes no package code.
 */
import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { Agent } from "node:http";
import { Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Node } from "@npmcli/arborist";
import pacote from "pacote";
import { z } from "zod";
import { type ArchiveBudget, createArchiveBudget } from "#api/bounds/unpack-archive.ts";
import { hasTypes, keepDeclarations, resolveTypes } from "./declarations.ts";
import { Refused } from "./lock.ts";
import {
  type InstalledTree,
  type InstallJob,
  type InstallMessage,
  type InstallStep,
  REGISTRY_HOST,
  REGISTRY_PIPES,
  TARBALL_PATH,
  type TreeMember,
} from "./messages.ts";
import {
  checkAdvisories,
  checkPublished,
  nameOf,
  npmOptions,
  type Published,
  type ResolvedTree,
  resolveTree,
} from "./tree.ts";
import { unpackTarball } from "./unpack.ts";

const MAX_AT_ONCE = 4;
const MAX_LICENSE_CHARACTERS = 200;

const manifestSchema = z.looseObject({
  name: z.string(),
  version: z.string(),
  description: z.unknown().optional(),
  homepage: z.unknown().optional(),
  license: z.unknown().optional(),
  licenses: z.unknown().optional(),
  scripts: z.record(z.string(), z.unknown()).catch({}).default({}),
  gypfile: z.unknown().optional(),
});
type Manifest = z.infer<typeof manifestSchema>;
type Sizes = InstalledTree["sizes"];

/** Escapes U+2028 and U+2029, which some readers treat as line ends and a description may contain. */
function send(message: InstallMessage): void {
  const text = JSON.stringify(message).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  process.stdout.write(`${text}\n`);
}

function step(name: InstallStep, done = 0, total: number | null = null): void {
  send({ type: "step", step: name, done, total });
}

async function install(job: InstallJob): Promise<void> {
  const agent = openAgent();
  const options = npmOptions(job, agent);
  step("resolving");
  const resolved = await resolveTree(job, options);
  step("checking", 0, resolved.members.length);
  const published = await checkPublished(job, resolved.members, options);
  const advisories = await checkAdvisories(job, resolved.members, agent);
  const budget = createArchiveBudget(job.limits.maxUnpackedBytes, job.limits.maxFiles);
  const { tree, sizes, manifest } = await download(job, resolved, published, { options, budget });
  const types = await addTypes(job, { resolved, manifest, sizes }, { options, budget, agent });
  send({
    type: "tree",
    tree: {
      version: manifest.version,
      description: shorten(manifest.description, 1000) ?? "",
      homepage: shorten(manifest.homepage, 500),
      tree: [...tree, ...types.tree],
      advisories: advisories && [...advisories, ...(types.advisories ?? [])],
      leftOut: [...resolved.leftOut, ...types.leftOut],
      sizes,
    },
  });
}

interface Downloading {
  options: Record<string, unknown>;
  budget: ArchiveBudget;
}

async function addTypes(
  job: InstallJob,
  { resolved, manifest, sizes }: { resolved: ResolvedTree; manifest: Manifest; sizes: Sizes },
  { options, budget, agent }: Downloading & { agent: Agent },
) {
  const main = resolved.members[0]?.location ?? "";
  if (await hasTypes(join(job.folder, main), manifest)) return { tree: [], advisories: [], leftOut: [] };
  const taken = new Set(resolved.members.map(({ location }) => location));
  const types = await resolveTypes(job, { version: manifest.version, taken }, options, agent);
  if (types.members.length === 0) return { ...types, tree: [] };
  const added = await download(job, types, types.published, { options, budget });
  for (const { path } of added.tree) await keepDeclarations(join(job.folder, path));
  for (const size of ["downloaded", "unpacked", "files"] as const) sizes[size] += added.sizes[size];
  return { ...types, tree: added.tree };
}

function openAgent(): Agent {
  const unused = [...REGISTRY_PIPES];
  const count = unused.length;
  const agent = new Agent({
    keepAlive: true,
    maxSockets: count,
    maxTotalSockets: count,
    maxFreeSockets: count,
  });
  agent.createConnection = () => {
    const fd = unused.shift();
    if (fd === undefined) throw new Refused("The registry broke off too many responses.");
    return new Socket({ fd, readable: true, writable: true });
  };
  return agent;
}

async function download(
  job: InstallJob,
  { members, leftOut }: ResolvedTree,
  published: Map<string, Published>,
  { options, budget }: Downloading,
) {
  const sizes: Sizes = { downloaded: 0, unpacked: 0, files: 0 };
  const tree: TreeMember[] = [];
  let first: Manifest | null = null;
  const waiting = [...members.entries()];
  let done = 0;
  async function takeTurns(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, node] = next;
      const tarball = await fetchTarball(node, options);
      sizes.downloaded += tarball.length;
      const { member, manifest } = await unpackMember(job, node, tarball, budget, published);
      if (member === null) {
        leftOut.push({ name: node.name, reason: "needs a native addon" });
        await rm(join(job.folder, node.location), { recursive: true, force: true });
      } else {
        tree[index] = member;
        sizes.unpacked += member.bytes;
        sizes.files += member.files;
      }
      if (index === 0) first = manifest;
      done += 1;
      step("downloading", done, members.length);
    }
  }
  step("downloading", 0, members.length);
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, takeTurns));
  return { tree: tree.filter((one) => one !== undefined), sizes, manifest: first as unknown as Manifest };
}

async function fetchTarball(node: Node, options: Record<string, unknown>): Promise<Buffer> {
  const { integrity } = node;
  const place = `http://${REGISTRY_HOST}${TARBALL_PATH}?url=${encodeURIComponent(node.resolved ?? "")}`;
  // The library checks the integrity before it returns anything; the entire installation relies on that.
  const tarball = await pacote.tarball(place, { ...options, allowRemote: "all", integrity });
  const isWhole = (integrity ?? "").split(/\s+/).some((hash) => {
    const [algorithm = "", digest] = hash.split("?")[0]?.split(/-(.*)/s) ?? [];
    return (
      /^sha(?:256|384|512)$/.test(algorithm) &&
      createHash(algorithm).update(tarball).digest("base64") === digest
    );
  });
  if (!isWhole)
    throw new Refused(`The tarball of ${calledOf(node)} does not have the integrity ${integrity}.`);
  return tarball;
}

async function unpackMember(
  { folder }: InstallJob,
  node: Node,
  tarball: Buffer,
  budget: ArchiveBudget,
  published: Map<string, Published>,
): Promise<{ member: TreeMember | null; manifest: Manifest }> {
  const called = calledOf(node);
  const place = join(folder, node.location);
  const unpacked = await unpackTarball(tarball, place, budget).catch((error: Error) => {
    throw new Refused(`The tarball of ${called} ${error.message}.`);
  });
  const manifest = await readManifest(place, called);
  if (manifest.name !== nameOf(node) || manifest.version !== node.version) {
    throw new Refused(
      `The tarball of ${called} contains ${manifest.name.slice(0, 214)}@${manifest.version.slice(0, 100)}.`,
    );
  }
  const { at = null, deprecated } = published.get(node.location) ?? {};
  if (unpacked.nativeFile !== null || manifest.gypfile === true) {
    if (node.optional) return { member: null, manifest };
    throw new Refused(
      `${called} needs a native addon (${unpacked.nativeFile ?? "gypfile"}), which scripts cannot load.`,
    );
  }
  const member: TreeMember = {
    name: nameOf(node),
    version: node.version,
    path: node.location,
    integrity: node.integrity ?? "",
    license: licenseOf(manifest),
    publishedAt: at,
    bytes: unpacked.bytes,
    files: unpacked.files,
    installScripts: ["preinstall", "install", "postinstall"].some((name) =>
      Object.hasOwn(manifest.scripts, name),
    ),
    ...(deprecated !== undefined && { deprecated }),
  };
  return { member, manifest };
}

async function readManifest(place: string, called: string): Promise<Manifest> {
  try {
    return manifestSchema.parse(
      JSON.parse((await readFile(join(place, "package.json"), "utf8")).replace(/^\uFEFF/, "")),
    );
  } catch {
    throw new Refused(`The tarball of ${called} has no package.json with a name and a version.`);
  }
}

function licenseOf({ license, licenses }: Manifest): string | null {
  const said = [license ?? licenses].flat().map((one: unknown) => {
    const type = typeof one === "object" && one !== null && "type" in one ? one.type : one;
    return typeof type === "string" ? type : null;
  });
  return shorten(said.filter((one) => one !== null).join(" OR "), MAX_LICENSE_CHARACTERS);
}

function shorten(text: unknown, maxCharacters: number): string | null {
  return typeof text === "string" && text !== "" ? text.slice(0, maxCharacters).toWellFormed() : null;
}

function calledOf(node: Node): string {
  return `${nameOf(node)}@${node.version}`;
}

function explain(error: unknown, { name, range, before, minAgeDays }: InstallJob): string {
  if (error instanceof Refused) return error.message;
  const { code, message } = error as { code?: string; message?: string };
  const shown = String(message ?? error)
    .replaceAll(`http://${REGISTRY_HOST}`, "")
    .slice(0, 500);
  switch (code) {
    case "E404":
      return `The registry does not know ${shown.match(/'([^']*)'/)?.[1] ?? name}.`;
    case "ETARGET":
      return before === null
        ? `There is no version of ${name} that fits: ${shown}`
        : `There is no version of ${name} that fits ${range} and was published at least ${minAgeDays} days ago (CYRNEL_PACKAGE_MIN_AGE_DAYS): ${shown}`;
    case "EINTEGRITY":
      return `The registry's data does not match its announced integrity: ${shown}`;
    case "EBADPLATFORM":
      return `It is made for another platform: ${shown}`;
    default:
      return `npm could not resolve or fetch it${code === undefined ? "" : ` (${code})`}: ${shown}`;
  }
}

const job = JSON.parse(await text(process.stdin)) as InstallJob;
await install(job).catch((error: unknown) => send({ type: "problem", message: explain(error, job) }));
// Messages are already written by now: on Linux, stdout is synchronous for pipes.
process.exitCode = 0;
