/**
 * Turns a submitted script of any form into one expression for an async function with mappings to its lines, or into
 * one syntax error. Executes nothing.
 */
import { BODY_END, BODY_START, completeBody, parseBody } from "./body.ts";
import { moveUpOneLine } from "./draft.ts";
import { attempt, type Refused, sourceError } from "./errors.ts";
import { type Excerpt, endOf, wrap } from "./excerpt.ts";
import { extractFence, startsWithFence } from "./fence.ts";
import { completeModule, parseModule } from "./module-body.ts";
import { prepareHoisted, prepareLinkable, requireError } from "./modules/entry.ts";
import { listDynamicSites, readStaticSite } from "./modules/imports.ts";
import type { Linkable } from "./modules/linkable.ts";
import { callsTemplate, findRequire, replaceImportCalls } from "./program.ts";
import { type Transpiled, transpile } from "./transpile.ts";
import { withoutTypeImports, withoutTypeStatement } from "./type-imports.ts";

export type PreparedScript = { ok: true; code: string; mappings: string } | Refused;

export async function prepareScript(submitted: string): Promise<PreparedScript | Linkable> {
  const text = submitted.replace(/^\uFEFF/, "").replace(/^#!.*/, "");
  const whole = { text, firstLine: 0 };
  if (!FENCE_LINE.test(text)) return prepareExcerpt(whole);
  if (!startsWithFence(text)) {
    const prepared = await prepareExcerpt(whole);
    if (!("error" in prepared)) return prepared;
  }
  const fence = extractFence(text);
  if (fence.kind === "refused") return sourceError(fence.message, { line: fence.line + 1, column: 1 });
  return prepareExcerpt(fence.kind === "none" ? whole : { text: fence.body, firstLine: fence.firstLine });
}
const FENCE_LINE = /^ {0,3}(?:```|~~~)/m;

/** Each type statement removed from a body costs another attempt. */
const MAX_TYPE_STATEMENTS = 50;

async function prepareExcerpt(excerpt: Excerpt, taken = 0): Promise<PreparedScript | Linkable> {
  // Only a hint: the words may be part of a string or comment. If the text is not a module, it is tried as a body.
  const asModule = MODULE_HINT.test(excerpt.text) ? await prepareModule(excerpt) : undefined;
  if (asModule?.kind === "decided") return asModule.prepared;
  if (asModule?.failure?.isFinal) return errorAt(excerpt, asModule.failure);
  const hoisted = asModule?.failure === undefined ? null : await prepareHoisted(excerpt, false);
  if (hoisted !== null && "prepared" in hoisted) return hoisted.prepared;
  const body = hoisted?.failure ?? (await transpile(wrapBody(excerpt)));
  if (body.ok) return prepareBody(excerpt, body);
  if (body.isFinal) return errorAt(excerpt, body);
  let text = withoutTypeImports(excerpt.text);
  if (text === excerpt.text && body.position && taken < MAX_TYPE_STATEMENTS) {
    text = withoutTypeStatement(text, lineIndex(excerpt, body), body.position.column - 1);
  }
  if (text !== excerpt.text) return prepareExcerpt({ ...excerpt, text }, taken + 1);
  return errorAt(excerpt, await explainFailure(excerpt, body, asModule?.failure, hoisted !== null));
}
/** Includes `namespace`, which is not allowed inside a function and therefore not in a body's wrapper. */
const MODULE_HINT = /(?:^|[;}])[ \t]*(?:export|import|namespace|module)\b/m;

/** Selects the error for the form that the author most likely meant. */
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

function lineIndex({ firstLine }: Excerpt, { position }: Failure): number {
  return (position?.line ?? 0) - Math.max(1, firstLine) - 1;
}

type Failure = Extract<Transpiled, { ok: false }>;
type ModuleAttempt =
  | { kind: "decided"; prepared: PreparedScript | Linkable }
  | { kind: "undecided"; failure?: Failure };

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
    if (required !== undefined) return requireError(transpiled, required);
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

function prepared({ code, mappings }: { code: string; mappings: string }): PreparedScript {
  return { ok: true, code, mappings };
}

function wrapBody(excerpt: Excerpt): string {
  return wrap(excerpt, BODY_START, BODY_END);
}

async function prepareBody(
  excerpt: Excerpt,
  transpiled: Extract<Transpiled, { ok: true }>,
): Promise<PreparedScript | Linkable> {
  const mappings = excerpt.firstLine === 0 ? moveUpOneLine(transpiled.mappings) : transpiled.mappings;
  const draft = { code: transpiled.code, mappings };
  const result = attempt(draft, () => {
    const { program, wrapper } = parseBody(draft.code);
    const required = findRequire(program, draft.code);
    if (required !== undefined) return requireError(draft, required);
    if (FENCE_LINE.test(excerpt.text) && callsTemplate(program))
      return sourceError("Found a code fence.", { line: 1, column: 1 });
    if (listDynamicSites(program, draft.code).length > 0) return "imports";
    return prepared(completeBody(replaceImportCalls(draft, program), wrapper));
  });
  if (result === "imports") {
    const hoisted = await prepareHoisted(excerpt, true);
    if (hoisted !== null && "prepared" in hoisted) return hoisted.prepared;
    return errorAt(
      excerpt,
      hoisted?.failure ?? { ok: false, message: "The imports of this source cannot be read." },
    );
  }
  const end = endOf(excerpt);
  // The wrapper's end is on its own line after the source.
  return result.ok || result.error.line <= end.line ? result : sourceError(result.error.message, end);
}

function errorAt(excerpt: Excerpt, { message, position }: Failure): PreparedScript {
  const line = (position?.line ?? 1) - (excerpt.firstLine === 0 ? 1 : 0);
  const end = endOf(excerpt);
  if (line <= end.line)
    return sourceError(message, { line: Math.max(1, line), column: line < 1 ? 1 : (position?.column ?? 1) });
  return sourceError("The source ends unexpectedly: brackets, quotes or a comment are not balanced.", end);
}
