import type { Program, Statement } from "acorn";
import { moveUpOneLine, type Position } from "../draft.ts";
import { attempt, nodeError, type Refused, sourceError } from "../errors.ts";
import { type Excerpt, placeIn, wrap } from "../excerpt.ts";
import { parseModule } from "../module-body.ts";
import { findRequire } from "../program.ts";
import { type Transpiled, transpile } from "../transpile.ts";
import { findMarkers, hoistImports } from "./imports.ts";
import { type Linkable, makeLinkable } from "./linkable.ts";
import { INSTEAD } from "./names.ts";

type Failure = Extract<Transpiled, { ok: false }>;

/** `hoisted` says where static imports were and which statements mark these places. */
export async function prepareLinkable(
  excerpt: Excerpt,
  transpiled: Extract<Transpiled, { ok: true }>,
  program: Program,
  hoisted?: { positions: Position[]; statements: Statement[]; end: number; markers: Statement[] },
): Promise<Refused | Linkable> {
  const linesBefore = hoisted !== undefined && excerpt.firstLine === 0 ? 1 : 0;
  const placed = {
    ...transpiled,
    mappings: linesBefore === 1 ? moveUpOneLine(transpiled.mappings) : transpiled.mappings,
  };
  const refused = attempt(placed, () => {
    const required = findRequire(program, transpiled.code);
    return required === undefined ? null : requireError(placed, required);
  });
  if (refused !== null) return refused;
  const body = hoisted && { ...hoisted, linesBefore };
  const made = await makeLinkable(transpiled, program, { isEntry: true, ...(body && { body }) });
  return "imports" in made ? made : sourceError(made.message, made.position ?? { line: 1, column: 1 });
}

export function requireError(
  generated: { code: string; mappings: string },
  node: { start: number },
): Refused {
  return nodeError(generated, node, `require is not available: use import. ${INSTEAD}`);
}

/** Null if no imports can be hoisted. */
type HoistedBody = { prepared: Refused | Linkable } | { failure: Failure } | null;

/**
 * Turns a body into a module: its static imports, and the rest as a default export. `calls` is true if the body calls
 * `import()` and may have no static imports.
 */
export async function prepareHoisted(excerpt: Excerpt, calls: boolean): Promise<HoistedBody> {
  const kept = new Set<number>();
  for (;;) {
    const { body, imports } = hoistImports(excerpt.text, kept);
    if (imports.length === 0 && !calls) return null;
    const statements = imports.map(({ statement }) => statement ?? "").join("");
    const transpiled = await transpile(
      wrap({ ...excerpt, text: body }, statements + HOISTED_START, HOISTED_END),
    );
    if (!transpiled.ok) return imports.length === 0 ? null : { failure: transpiled };
    const program = attempt(transpiled, () => parseModule(transpiled.code));
    if ("error" in program) return null;
    const main = program.body.find(({ type }) => type === "ExportDefaultDeclaration");
    const block = (main as { declaration?: { body?: { body?: Statement[]; end: number } } })?.declaration
      ?.body;
    if (block?.body === undefined || program.body.at(-1) !== main) return null;
    const markers = findMarkers(block.body);
    const wrong = imports.filter(({ marker }) => !markers.has(marker));
    for (const { start } of wrong) kept.add(start);
    if (wrong.length > 0) continue;
    const found = imports.map(({ marker }) => markers.get(marker) as Statement);
    const positions = imports
      .filter(({ statement }) => statement !== null)
      .map(({ start }) => placeIn(excerpt, start));
    const own = block.body.filter((statement) => !("directive" in statement) && !found.includes(statement));
    const hoisted = { positions, statements: own, end: block.end - 1, markers: found };
    return { prepared: await prepareLinkable(excerpt, transpiled, program, hoisted) };
  }
}
const HOISTED_START = 'export default async () => {"use strict";';
const HOISTED_END = "\n};";
