import { attempt, nodeError, type Refused, sourceError } from "../errors.ts";
import { parseModule } from "../module-body.ts";
import { findRequire } from "../program.ts";
import { type Loader, transpile } from "../transpile.ts";
import { requireError } from "./entry.ts";
import { type Linkable, makeLinkable } from "./linkable.ts";

const MAX_CODE_CHARS = 256 * 1024;

/** Errors do not name the file. */
export async function prepareFile(loader: Loader, text: string): Promise<Linkable | Refused> {
  const start = { line: 1, column: 1 };
  if (text.length > MAX_CODE_CHARS) {
    return sourceError(
      `A file of code has at most ${MAX_CODE_CHARS / 1024} KiB; this one has more. Split it.`,
      start,
    );
  }
  const source = text.replace(/^\uFEFF/, "").replace(/^#!.*/, "");
  const transpiled = await transpile(source, loader);
  if (!transpiled.ok) {
    const isJsx = /<[\w>]/.test(source) && !transpiled.isFinal && (await transpile(source, "tsx")).ok;
    const message = isJsx ? "JSX is not available: a script has nothing to render." : transpiled.message;
    return sourceError(message, transpiled.position ?? start);
  }
  const program = attempt(transpiled, () => parseModule(transpiled.code));
  if ("error" in program) return program;
  const refused = attempt(transpiled, () => {
    const required = findRequire(program, transpiled.code);
    if (required !== undefined) return requireError(transpiled, required);
    const isPlain = program.body.every(
      ({ type }) => !type.startsWith("Import") && !type.startsWith("Export"),
    );
    const common = isPlain ? COMMON_EXPORT.exec(transpiled.code) : null;
    if (common === null) return null;
    return nodeError(
      transpiled,
      { start: common.index },
      "This is a CommonJS module: write `export` in place of `module.exports` and `exports`.",
    );
  });
  if (refused !== null) return refused;
  const linkable = await makeLinkable(transpiled, program, { isEntry: false });
  if (!("ok" in linkable)) return linkable;
  return sourceError(linkable.message, linkable.position ?? start);
}
const COMMON_EXPORT = /^(?:module\.exports\b|exports\.[\w$]+ *=)/m;
