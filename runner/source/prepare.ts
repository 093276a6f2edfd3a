/**
 * From what an agent submits to what a realm runs: one JavaScript expression for an async function, and mappings back
 * to the submitted lines; or one syntax error with its place. Nothing of the source is executed here.
 */
import { hash } from "node:crypto";
import { BODY_END, BODY_START, completeBody, EscapedWrapper, parseBody } from "./body.ts";
import { findSource, moveUpOneLine, type Position } from "./draft.ts";
import { extractFence, startsWithFence } from "./fence.ts";
import { completeModule, findImport, parseModule } from "./module-body.ts";
import { callsTemplate, findRequire, replaceImportCalls } from "./program.ts";
import { type Transpiled, transpile } from "./transpile.ts";
import { withoutTypeImports, withoutTypeStatement } from "./type-imports.ts";

/** Lines and columns are 1-based and count in the submitted text; columns in UTF-16 units. */
export interface SourceError {
  name: "SyntaxError";
  message: string;
  line: number;
  column: number;
}

export type PreparedSource = { ok: true; code: string; mappings: string } | { ok: false; error: SourceError };

const MAX_CACHE_BYTES = 16 * 1024 * 1024;
const cache = createBoundedCache<PreparedSource>(MAX_CACHE_BYTES);
/** A longer source is known by its digest. */
const MAX_KEY_CHARS = 4096;
/** Preparations under way. */
const preparing = new Map<string, Promise<PreparedSource>>();

const INSTEAD =
  "a script has no modules. Call services through tools.<service>.<tool>(parameters), and use the globals there are: URL, crypto, TextEncoder, structuredClone and the rest of ECMAScript.";

/** Prepares a source of any form; the same source is answered from a cache. Rejects only for faults of ours. */
export async function prepareSource(submitted: string): Promise<PreparedSource> {
  const key = submitted.length <= MAX_KEY_CHARS ? submitted : `sha256 ${hash("sha256", submitted, "base64")}`;
  const known = cache.get(key) ?? preparing.get(key);
  if (known !== undefined) return known;
  const preparation = prepareFor(key, submitted).finally(() => preparing.delete(key));
  preparing.set(key, preparation);
  return preparation;
}

async function prepareFor(key: string, submitted: string): Promise<PreparedSource> {
  const prepared = await prepare(submitted);
  const size = prepared.ok ? prepared.code.length + prepared.mappings.length : prepared.error.message.length;
  cache.set(key, prepared, size * 2 + key.length);
  return prepared;
}

/** A source cut out of the submitted text: `firstLine` is the 0-based line it starts at. */
interface Excerpt {
  text: string;
  firstLine: number;
}

async function prepare(submitted: string): Promise<PreparedSource> {
  const text = submitted.replace(/^\uFEFF/, "").replace(/^#!.*/, "");
  const whole = { text, firstLine: 0 };
  if (!FENCE_LINE.test(text)) return prepareExcerpt(whole);
  if (!startsWithFence(text)) {
    const prepared = await prepareExcerpt(whole);
    if (prepared.ok) return prepared;
  }
  const fence = extractFence(text);
  if (fence.kind === "refused") return refuse(fence.message, { line: fence.line + 1, column: 1 });
  return prepareExcerpt(fence.kind === "none" ? whole : { text: fence.body, firstLine: fence.firstLine });
}
const FENCE_LINE = /^ {0,3}(?:```|~~~)/m;

/** Statements about types that are taken out of one body; each is another try. */
const MAX_TYPE_STATEMENTS = 50;

async function prepareExcerpt(excerpt: Excerpt, taken = 0): Promise<PreparedSource> {
  // Only a hint: the words may stand in a string or a comment. A body is tried if it turns out to be no module.
  const asModule = MODULE_HINT.test(excerpt.text) ? await prepareModule(excerpt) : undefined;
  if (asModule?.kind === "decided") return asModule.prepared;
  if (asModule?.failure?.isFinal) return refuseAt(excerpt, asModule.failure);
  const body = await transpile(wrapBody(excerpt));
  if (body.ok) return prepareBody(excerpt, body);
  if (body.isFinal) return refuseAt(excerpt, body);
  let text = withoutTypeImports(excerpt.text);
  if (text === excerpt.text && body.position && taken < MAX_TYPE_STATEMENTS) {
    text = withoutTypeStatement(text, lineIndex(excerpt, body), body.position.column - 1);
  }
  if (text !== excerpt.text) return prepareExcerpt({ ...excerpt, text }, taken + 1);
  return refuseAt(excerpt, await explainFailure(excerpt, body, asModule?.failure));
}
/** `namespace` is only allowed outside of functions, so outside of the wrapper of a body. */
const MODULE_HINT = /(?:^|[;}])[ \t]*(?:export|import|namespace|module)\b/m;

/** The error for what an agent most likely meant. `body` and `module`: what transpiling it as either said. */
async function explainFailure(
  excerpt: Excerpt,
  body: Failure,
  module: Failure | undefined,
): Promise<Failure> {
  const line = sourceLine(excerpt, body);
  const found = MODULE_STATEMENT.exec(line);
  const word = found?.groups?.word ?? "";
  const at = (found?.index ?? 0) + (found?.[0].length ?? 0) - word.length;
  if (word === "import") return moveTo(body, at, `import is not available: ${INSTEAD}`);
  if (word === "export" && module?.message.startsWith(TOP_LEVEL_RETURN)) {
    return moveTo(body, at, "export cannot be combined with a top-level return: use one of them.");
  }
  const failure = module ?? body;
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
type ModuleAttempt = { kind: "decided"; prepared: PreparedSource } | { kind: "undecided"; failure?: Failure };

async function prepareModule(excerpt: Excerpt): Promise<ModuleAttempt> {
  const transpiled = await transpile("\n".repeat(excerpt.firstLine) + excerpt.text);
  if (!transpiled.ok) return { kind: "undecided", failure: transpiled };
  const result = attempt(transpiled, () => {
    const program = parseModule(transpiled.code);
    const found = findImport(program);
    if (found !== undefined) return refuseNode(transpiled, found, `import is not available: ${INSTEAD}`);
    const required = findRequire(program, transpiled.code);
    if (required !== undefined)
      return refuseNode(transpiled, required, `require is not available: ${INSTEAD}`);
    const isModule = program.body.some(({ type }) => type.startsWith("Export"));
    return isModule || NAMESPACE.test(excerpt.text)
      ? prepared(completeModule(replaceImportCalls(transpiled, program), program))
      : undefined;
  });
  return result === undefined ? { kind: "undecided" } : { kind: "decided", prepared: result };
}
const NAMESPACE = /^[ \t]*(?:namespace|module)\s+[\w.]+\s*\{/m;

function prepared({ code, mappings }: { code: string; mappings: string }): PreparedSource {
  return { ok: true, code, mappings };
}

/** The line before the source holds the wrapper: in a fenced block the fence's own, else an extra one. */
function wrapBody({ text, firstLine }: Excerpt): string {
  return `${"\n".repeat(Math.max(0, firstLine - 1))}${BODY_START}\n${text}${BODY_END}`;
}

function prepareBody(excerpt: Excerpt, transpiled: Extract<Transpiled, { ok: true }>): PreparedSource {
  const mappings = excerpt.firstLine === 0 ? moveUpOneLine(transpiled.mappings) : transpiled.mappings;
  const draft = { code: transpiled.code, mappings };
  const result = attempt(draft, () => {
    const { program, wrapper } = parseBody(draft.code);
    const required = findRequire(program, draft.code);
    if (required !== undefined) return refuseNode(draft, required, `require is not available: ${INSTEAD}`);
    if (FENCE_LINE.test(excerpt.text) && callsTemplate(program))
      return refuse("Found a code fence.", { line: 1, column: 1 });
    return prepared(completeBody(replaceImportCalls(draft, program), wrapper));
  });
  const end = endOf(excerpt);
  // What closes the wrapper may stand behind the source, on the wrapper's own line.
  return result.ok || result.error.line <= end.line ? result : refuse(result.error.message, end);
}

/** Turns what the parser throws into an error with its submitted place. */
function attempt<T>(generated: { code: string; mappings: string }, parse: () => T): T | PreparedSource {
  try {
    return parse();
  } catch (error) {
    if (error instanceof EscapedWrapper) return refuseNode(generated, { start: error.index }, error.message);
    // Parsing and walking recurse.
    if (error instanceof RangeError)
      return refuse("The source is nested too deeply.", { line: 1, column: 1 });
    if (!(error instanceof SyntaxError)) throw error;
    const { pos } = error as SyntaxError & { pos: number };
    return refuseNode(generated, { start: pos }, error.message.replace(/ \(\d+:\d+\)$/, ""));
  }
}

function refuseNode(
  generated: { code: string; mappings: string },
  node: { start: number },
  message: string,
): PreparedSource {
  const before = generated.code.slice(0, node.start).split("\n");
  const place = { line: before.length, column: before.at(-1)?.length ?? 0 };
  return refuse(message, findSource(generated.mappings, place) ?? { line: 1, column: 1 });
}

/** The place after an excerpt. */
function endOf({ text, firstLine }: Excerpt): Position {
  const lines = text.split("\n");
  return { line: firstLine + lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

/** A failure of transpiling a wrapped source, at its place in the submitted text. */
function refuseAt(excerpt: Excerpt, { message, position }: Failure): PreparedSource {
  const line = (position?.line ?? 1) - (excerpt.firstLine === 0 ? 1 : 0);
  const end = endOf(excerpt);
  if (line <= end.line)
    return refuse(message, { line: Math.max(1, line), column: line < 1 ? 1 : (position?.column ?? 1) });
  return refuse("The source ends unexpectedly: brackets, quotes or a comment are not balanced.", end);
}

function refuse(message: string, position: Position): PreparedSource {
  return { ok: false, error: { name: "SyntaxError", message, ...position } };
}

interface BoundedCache<V> {
  get(key: string): V | undefined;
  /** `bytes`: what the entry occupies, about. One larger than the whole cache is not kept. */
  set(key: string, value: V, bytes: number): void;
}

/** A cache that forgets what was not asked for the longest. */
export function createBoundedCache<V>(maxBytes: number): BoundedCache<V> {
  const entries = new Map<string, { value: V; bytes: number }>();
  let heldBytes = 0;
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, bytes) {
      if (bytes > maxBytes) return;
      heldBytes += bytes - (entries.get(key)?.bytes ?? 0);
      entries.delete(key);
      entries.set(key, { value, bytes });
      for (const [oldest, entry] of entries) {
        if (heldBytes <= maxBytes) break;
        entries.delete(oldest);
        heldBytes -= entry.bytes;
      }
    },
  };
}
