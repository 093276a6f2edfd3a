/**
 * Turns a submitted script into what a realm runs: one JavaScript expression for an async function, with mappings
 * back to the submitted lines, or one syntax error with its position. Preparers parse the sources; this file finds
 * their imports and caches the results.
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Refused } from "../source/errors.ts";
import {
  type FindPackage,
  type Graph,
  type ReadModule,
  readGraph,
  type UsedPackage,
} from "../source/modules/graph.ts";
import type { LinkedSource } from "../source/modules/link.ts";
import type { Linkable } from "../source/modules/linkable.ts";
import type { PreparedScript } from "../source/script.ts";
import { runJob } from "./pool.ts";

export { decodeModule, NoTextError } from "../source/modules/text.ts";

/**
 * `sources` lists file names by their index in the mappings; absent if the submitted text, named script.ts, is the
 * only file.
 */
export type PreparedSource =
  | { ok: true; code: string; mappings: string; sources?: string[]; packages?: UsedPackage[] }
  | Refused;

export interface PrepareOptions {
  /** The script's name in the workspace: its imports are relative to it, and stacks show it. */
  name?: string | undefined;
  readModule?: ReadModule | undefined;
  findPackage?: FindPackage | undefined;
}

type Made = PreparedScript | Linkable | LinkedSource;

const ENTRY_NAME = "script.ts";
const MAX_CACHE_BYTES = 32 * 1024 * 1024;
const cache = new LRUCache<string, Made>({ maxSize: MAX_CACHE_BYTES });
/** Longer sources are cached by their digest. */
const MAX_KEY_CHARS = 4096;
const preparing = new Map<string, Promise<Made>>();

export async function prepareSource(
  submitted: string,
  { name = ENTRY_NAME, readModule, findPackage }: PrepareOptions = {},
): Promise<PreparedSource> {
  const key = submitted.length <= MAX_KEY_CHARS ? submitted : `sha256 ${digest(submitted)}`;
  const prepared = await once(`script ${key}`, () => runJob({ kind: "script", text: submitted }));
  if (!("imports" in prepared)) {
    return prepared.ok && name !== ENTRY_NAME ? { ...prepared, sources: [name] } : prepared;
  }
  const sources = { readModule: readModule ?? null, findPackage: findPackage ?? null };
  const graph = await readGraph(prepared, name, sources, prepareFile);
  return "error" in graph ? graph : linkGraph(key, name, graph);
}

/** The cache key is the text, not the name, so cached errors do not name the file. */
async function prepareFile(name: string, text: string): Promise<Linkable | Refused> {
  const loader = /\.[cm]?js$/i.test(name) ? "js" : "ts";
  return once(`file ${loader} ${digest(text)}`, () => runJob({ kind: "file", loader, text }));
}

/** Reads the files each time; the cache key includes all of their texts. */
async function linkGraph(key: string, name: string, graph: Graph): Promise<PreparedSource> {
  const { nodes, packages } = graph;
  const linked = await once(`linked ${name} ${graph.digest} ${key}`, () => runJob({ kind: "link", nodes }));
  return linked.ok && packages.length > 0 ? { ...linked, packages } : linked;
}

/** Also caches the rejection of a source that exceeds a limit. */
async function once<Own extends Made>(
  key: string,
  make: () => Promise<Own | Refused>,
): Promise<Own | Refused> {
  const known = cache.get(key) ?? preparing.get(key);
  if (known !== undefined) return known as Promise<Own>;
  const making = make().finally(() => preparing.delete(key));
  preparing.set(key, making);
  const made = await making;
  cache.set(key, made, { size: sizeOf(made) + 2 * key.length });
  return made;
}

function sizeOf(made: Made): number {
  return 2 * ("error" in made ? made.error.message.length : made.code.length + made.mappings.length);
}

function digest(text: string): string {
  return hash("sha256", text, "base64");
}
