/** Transpiles TypeScript with esbuild, and returns errors as positions in the text. */
import { type Message, transform } from "esbuild";
import type { Position } from "./draft.ts";

export type Transpiled =
  | { ok: true; code: string; mappings: string }
  /** Without a position if the error is outside the source's lines. `isFinal`: no other form can succeed. */
  | { ok: false; message: string; position?: Position; isFinal?: true };

export const TRANSFORM_OPTIONS = {
  target: "es2024",
  // The engine supports this syntax; lowering it would hide where errors came from.
  supported: { using: true, "import-attributes": true },
  charset: "ascii",
  sourcefile: "script.ts",
  legalComments: "none",
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
} as const;

export type Loader = "ts" | "tsx" | "js";

/** Turns imported names into members of what `require` returns. */
const LINK_OPTIONS = { format: "cjs", define: { this: "undefined" } } as const;

/** In UTF-16 units. Only lowered syntax, such as decorators, multiplies code. */
const MAX_CODE_CHARS = 8 * 1024 * 1024;
const TOO_LONG = `The source becomes more than ${MAX_CODE_CHARS / 1024 / 1024} MB of JavaScript: it has too much syntax that must be lowered for the engine, such as decorators.`;

/**
 * The engine uses the last such comment: a source map URL in the script itself would map its errors to an unknown
 * file.
 */
const NO_MAP = "\n//# sourceMappingURL=none";

/**
 * Rejects only if the transpiler has ended, never for an error in the source. `linkedFrom` contains the mappings of a
 * text that was transpiled before.
 */
export async function transpile(
  text: string,
  loader: Loader = "ts",
  linkedFrom?: string,
): Promise<Transpiled> {
  try {
    const { code, map } = await transform(
      text + (linkedFrom === undefined ? NO_MAP : inlineMap(linkedFrom)),
      {
        ...TRANSFORM_OPTIONS,
        ...(linkedFrom !== undefined && LINK_OPTIONS),
        loader,
        sourcemap: "external",
        sourcesContent: false,
        logLevel: "silent",
        logLimit: 1,
      },
    );
    if (code.length > MAX_CODE_CHARS) return { ok: false, message: TOO_LONG, isFinal: true };
    const { mappings } = JSON.parse(map) as { mappings: string };
    return { ok: true, code, mappings };
  } catch (error) {
    const [message] = (error as { errors?: Message[] }).errors ?? [];
    if (message === undefined) throw error;
    return describe(message);
  }
}

function inlineMap(mappings: string): string {
  const map = JSON.stringify({ version: 3, sources: [TRANSFORM_OPTIONS.sourcefile], names: [], mappings });
  return `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}`;
}

function describe({ text, location }: Message): Transpiled {
  if (location === null) return { ok: false, message: text };
  const before = Buffer.from(location.lineText).subarray(0, location.column).toString();
  return { ok: false, message: text, position: { line: location.line, column: before.length + 1 } };
}
