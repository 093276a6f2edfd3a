/**
 * From what an agent submits to what a realm runs: one JavaScript expression for an async function, and mappings back
 * to the submitted lines; or one syntax error with its place. Sources are parsed by preparers (runner/preparer/), never by this program;
 * it finds what they import, and remembers what they were made into.
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

/** For readers of modules. */
export { decodeModule, NoTextError } from "../source/modules/text.ts";

/**
 * `sources`: names by index of the mappings; absent: the submitted text is all, under the name script.ts. `packages`: that it imports.
 */
export type PreparedSource =
  | { ok: true; code: string; mappings: string; sources?: string[]; packages?: UsedPackage[] }
  | Refused;

export interface PrepareOptions {
  /** The script's own name in the workspace: imports are relative to it, and stacks show it. */
  name?: string | undefined;
  /** Answers imported files; without it, there are none. */
  readModule?: ReadModule | undefined;
  /** Finds packages; without it, there are none. */
  findPackage?: FindPackage | undefined;
}

type Made = PreparedScript | Linkable | LinkedSource;

const ENTRY_NAME = "script.ts";
const MAX_CACHE_BYTES = 32 * 1024 * 1024;
const cache = new LRUCache<string, Made>({ maxSize: MAX_CACHE_BYTES });
/** A longer source is known by its digest. */
const MAX_KEY_CHARS = 4096;
/** Jobs under way. */
const preparing = new Map<string, Promise<Made>>();

/** Prepares a source of any form; the same source is answered from a cache. Rejects only for faults of ours. */
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

/** A file is known again by its text, whatever its name. Its errors do not name it. */
async function prepareFile(name: string, text: string): Promise<Linkable | Refused> {
  const loader = /\.[cm]?js$/i.test(name) ? "js" : "ts";
  return once(`file ${loader} ${digest(text)}`, () => runJob({ kind: "file", loader, text }));
}

/** The files are read each time; what they are made into is known by all of their texts. */
async function linkGraph(key: string, name: string, graph: Graph): Promise<PreparedSource> {
  const { nodes, packages } = graph;
  const linked = await once(`linked ${name} ${graph.digest} ${key}`, () => runJob({ kind: "link", nodes }));
  return linked.ok && packages.length > 0 ? { ...linked, packages } : linked;
}

/** The answer for a source that costs too much is remembered, too. */
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
