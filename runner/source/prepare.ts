/**
 * From what an agent submits to what a realm runs: one JavaScript expression for an async function, and mappings back
 * to the submitted lines; or one syntax error with its place. Nothing of the source is executed here.
 */
import { hash } from "node:crypto";
import { BODY_END, BODY_START, completeBody, parseBody } from "./body.ts";
import { createBoundedCache } from "./bounded-cache.ts";
import { moveUpOneLine } from "./draft.ts";
import { attempt, type Refused, refuse } from "./errors.ts";
import { type Excerpt, endOf, wrap } from "./excerpt.ts";
import { extractFence, startsWithFence } from "./fence.ts";
import { completeModule, parseModule } from "./module-body.ts";
import { prepareHoisted, prepareLinkable, refuseRequire } from "./modules/entry.ts";
import {
  type FindPackage,
  type ReadModule,
  readGraph,
  type Sources,
  type UsedPackage,
} from "./modules/graph.ts";
import { listDynamicSites, readStaticSite } from "./modules/imports.ts";
import { link } from "./modules/link.ts";
import type { Linkable } from "./modules/linkable.ts";
import { callsTemplate, findRequire, replaceImportCalls } from "./program.ts";
import { type Transpiled, transpile } from "./transpile.ts";
import { withoutTypeImports, withoutTypeStatement } from "./type-imports.ts";

/** For readers of modules. */
export { decodeModule, NoTextError } from "./modules/text.ts";

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

const ENTRY_NAME = "script.ts";
const MAX_CACHE_BYTES = 16 * 1024 * 1024;
const cache = createBoundedCache<PreparedSource | Linkable>(MAX_CACHE_BYTES);
/** A longer source is known by its digest. */
const MAX_KEY_CHARS = 4096;
/** Of all modules together, linked. In UTF-16 units. */
const MAX_LINKED_CHARS = 8 * 1024 * 1024;
/** Preparations under way. */
const preparing = new Map<string, Promise<PreparedSource | Linkable>>();

/** Prepares a source of any form; the same source is answered from a cache. Rejects only for faults of ours. */
export async function prepareSource(
  submitted: string,
  { name = ENTRY_NAME, readModule, findPackage }: PrepareOptions = {},
): Promise<PreparedSource> {
  const key = submitted.length <= MAX_KEY_CHARS ? submitted : `sha256 ${hash("sha256", submitted, "base64")}`;
  const prepared = await prepareOnce(key, submitted);
  if ("imports" in prepared) {
    const sources = { readModule: readModule ?? null, findPackage: findPackage ?? null };
    return linkImports(key, prepared, name, sources);
  }
  return prepared.ok && name !== ENTRY_NAME ? { ...prepared, sources: [name] } : prepared;
}

async function prepareOnce(key: string, submitted: string): Promise<PreparedSource | Linkable> {
  const known = cache.get(key) ?? preparing.get(key);
  if (known !== undefined) return known;
  const preparation = prepareFor(key, submitted).finally(() => preparing.delete(key));
  preparing.set(key, preparation);
  return preparation;
}

async function prepareFor(key: string, submitted: string): Promise<PreparedSource | Linkable> {
  const prepared = await prepare(submitted);
  cache.set(key, prepared, sizeOf(prepared) + key.length);
  return prepared;
}

function sizeOf(prepared: PreparedSource | Linkable): number {
  return (
    2 *
    ("error" in prepared ? prepared.error.message.length : prepared.code.length + prepared.mappings.length)
  );
}

/** The files are read each time; what they are made into is known by all of their texts. */
async function linkImports(
  key: string,
  entry: Linkable,
  name: string,
  sources: Sources,
): Promise<PreparedSource> {
  const graph = await readGraph(entry, name, sources);
  if ("error" in graph) return graph;
  const linkedKey = `linked ${name} ${graph.digest} ${key}`;
  const known = cache.get(linkedKey);
  if (known !== undefined && "ok" in known) return known;
  const { packages } = graph;
  const linked: PreparedSource = {
    ok: true,
    ...link(graph.modules),
    ...(packages.length > 0 && { packages }),
  };
  if (linked.code.length > MAX_LINKED_CHARS) {
    const message = `The script and what it imports become more than ${MAX_LINKED_CHARS / 1024 / 1024} MB of JavaScript.`;
    return refuse(message, { line: 1, column: 1 });
  }
  cache.set(linkedKey, linked, sizeOf(linked) + linkedKey.length);
  return linked;
}

async function prepare(submitted: string): Promise<PreparedSource | Linkable> {
  const text = submitted.replace(/^\uFEFF/, "").replace(/^#!.*/, "");
  const whole = { text, firstLine: 0 };
  if (!FENCE_LINE.test(text)) return prepareExcerpt(whole);
  if (!startsWithFence(text)) {
    const prepared = await prepareExcerpt(whole);
    if (!("error" in prepared)) return prepared;
  }
  const fence = extractFence(text);
  if (fence.kind === "refused") return refuse(fence.message, { line: fence.line + 1, column: 1 });
  return prepareExcerpt(fence.kind === "none" ? whole : { text: fence.body, firstLine: fence.firstLine });
}
const FENCE_LINE = /^ {0,3}(?:```|~~~)/m;

/** Statements about types that are taken out of one body; each is another try. */
const MAX_TYPE_STATEMENTS = 50;

async function prepareExcerpt(excerpt: Excerpt, taken = 0): Promise<PreparedSource | Linkable> {
  // Only a hint: the words may stand in a string or a comment. A body is tried if it turns out to be no module.
  const asModule = MODULE_HINT.test(excerpt.text) ? await prepareModule(excerpt) : undefined;
  if (asModule?.kind === "decided") return asModule.prepared;
  if (asModule?.failure?.isFinal) return refuseAt(excerpt, asModule.failure);
  const hoisted = asModule?.failure === undefined ? null : await prepareHoisted(excerpt, false);
  if (hoisted !== null && "prepared" in hoisted) return hoisted.prepared;
  const body = hoisted?.failure ?? (await transpile(wrapBody(excerpt)));
  if (body.ok) return prepareBody(excerpt, body);
  if (body.isFinal) return refuseAt(excerpt, body);
  let text = withoutTypeImports(excerpt.text);
  if (text === excerpt.text && body.position && taken < MAX_TYPE_STATEMENTS) {
    text = withoutTypeStatement(text, lineIndex(excerpt, body), body.position.column - 1);
  }
  if (text !== excerpt.text) return prepareExcerpt({ ...excerpt, text }, taken + 1);
  return refuseAt(excerpt, await explainFailure(excerpt, body, asModule?.failure, hoisted !== null));
}
/** `namespace` is only allowed outside of functions, so outside of the wrapper of a body. */
const MODULE_HINT = /(?:^|[;}])[ \t]*(?:export|import|namespace|module)\b/m;

/** The error for what an agent most likely meant. `body` and `module`: what transpiling it as either said; `isHoisted`: as a body without its imports. */
async function explainFailure(
  excerpt: Excerpt,
  body: Failure,
  module: Failure | undefined,
  isHoisted: boolean,
): Promise<Failure> {
  const line = sourceLine(excerpt, body);
  const found = MODULE_STATEMENT.exec(line);
  const word = found?.groups?.word ?? "";
  const at = (found?.index ?? 0) + (found?.[0].length ?? 0) - word.length;
  if (word === "import") {
    const message =
      'This import cannot be read here: write import { x } from "./lib/x.ts"; at the top level of the script.';
    return moveTo(body, at, message);
  }
  if (word === "export" && module?.message.startsWith(TOP_LEVEL_RETURN)) {
    return moveTo(body, at, "export cannot be combined with a top-level return: use one of them.");
  }
  const isReturning = module?.message.startsWith(TOP_LEVEL_RETURN);
  const failure = module === undefined || (isReturning && isHoisted) ? body : module;
  if (failure.message.startsWith(TOP_LEVEL_RETURN)) {
    const message =
      "namespace cannot be combined with both top-level await and return: use a plain object instead.";
    return { ...failure, message };
  }
  if (!(await transpile(wrapBody(excerpt), "tsx")).ok) return failure;
  return moveTo(body, line.search(/<[\w>]/), "JSX is not available: a script has nothing to render.");
}
const MODULE_STATEMENT = /(?:^|[;}])\s*(?<word>import|export)\b/;
const TOP_LEVEL_RETURN = "Top-level return";

function moveTo(failure: Failure, index: number, message: string): Failure {
  const { line, column } = failure.position ?? { line: 1, column: 1 };
  return { ok: false, message, position: { line, column: index < 0 ? column : index + 1 } };
}

function sourceLine(excerpt: Excerpt, failure: Failure): string {
  return excerpt.text.split("\n")[lineIndex(excerpt, failure)] ?? "";
}

/** 0-based, of the excerpt. */
function lineIndex({ firstLine }: Excerpt, { position }: Failure): number {
  return (position?.line ?? 0) - Math.max(1, firstLine) - 1;
}

type Failure = Extract<Transpiled, { ok: false }>;
type ModuleAttempt =
  | { kind: "decided"; prepared: PreparedSource | Linkable }
  | { kind: "undecided"; failure?: Failure };

/** With its place as if the source stood in the wrapper of a body. */
function asOfBody({ firstLine }: Excerpt, failure: Failure): Failure {
  const { position } = failure;
  if (position === undefined || firstLine > 0) return failure;
  return { ...failure, position: { ...position, line: position.line + 1 } };
}

async function prepareModule(excerpt: Excerpt): Promise<ModuleAttempt> {
  const transpiled = await transpile("\n".repeat(excerpt.firstLine) + excerpt.text);
  if (!transpiled.ok) return { kind: "undecided", failure: asOfBody(excerpt, transpiled) };
  const result = attempt(transpiled, () => {
    const program = parseModule(transpiled.code);
    if (program.body.some(readStaticSite)) return { program };
    const required = findRequire(program, transpiled.code);
    if (required !== undefined) return refuseRequire(transpiled, required);
    const isModule = program.body.some(({ type }) => type.startsWith("Export"));
    if (!isModule && !NAMESPACE.test(excerpt.text)) return undefined;
    if (listDynamicSites(program, transpiled.code).length > 0) return { program };
    return prepared(completeModule(replaceImportCalls(transpiled, program), program));
  });
  if (result === undefined) return { kind: "undecided" };
  if (!("program" in result)) return { kind: "decided", prepared: result };
  return { kind: "decided", prepared: await prepareLinkable(excerpt, transpiled, result.program) };
}
const NAMESPACE = /^[ \t]*(?:namespace|module)\s+[\w.]+\s*\{/m;

function prepared({ code, mappings }: { code: string; mappings: string }): PreparedSource {
  return { ok: true, code, mappings };
}

function wrapBody(excerpt: Excerpt): string {
  return wrap(excerpt, BODY_START, BODY_END);
}

async function prepareBody(
  excerpt: Excerpt,
  transpiled: Extract<Transpiled, { ok: true }>,
): Promise<PreparedSource | Linkable> {
  const mappings = excerpt.firstLine === 0 ? moveUpOneLine(transpiled.mappings) : transpiled.mappings;
  const draft = { code: transpiled.code, mappings };
  const result = attempt(draft, () => {
    const { program, wrapper } = parseBody(draft.code);
    const required = findRequire(program, draft.code);
    if (required !== undefined) return refuseRequire(draft, required);
    if (FENCE_LINE.test(excerpt.text) && callsTemplate(program))
      return refuse("Found a code fence.", { line: 1, column: 1 });
    if (listDynamicSites(program, draft.code).length > 0) return "imports";
    return prepared(completeBody(replaceImportCalls(draft, program), wrapper));
  });
  if (result === "imports") {
    const hoisted = await prepareHoisted(excerpt, true);
    if (hoisted !== null && "prepared" in hoisted) return hoisted.prepared;
    return refuseAt(
      excerpt,
      hoisted?.failure ?? { ok: false, message: "The imports of this source cannot be read." },
    );
  }
  const end = endOf(excerpt);
  // What closes the wrapper may stand behind the source, on the wrapper's own line.
  return result.ok || result.error.line <= end.line ? result : refuse(result.error.message, end);
}

/** A failure of transpiling a wrapped source, at its place in the submitted text. */
function refuseAt(excerpt: Excerpt, { message, position }: Failure): PreparedSource {
  const line = (position?.line ?? 1) - (excerpt.firstLine === 0 ? 1 : 0);
  const end = endOf(excerpt);
  if (line <= end.line)
    return refuse(message, { line: Math.max(1, line), column: line < 1 ? 1 : (position?.column ?? 1) });
  return refuse("The source ends unexpectedly: brackets, quotes or a comment are not balanced.", end);
}
