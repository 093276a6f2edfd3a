/** TypeScript to JavaScript by esbuild, and its errors as positions in the text it was given. */
import { type Message, transform } from "esbuild";
import type { Position } from "./mappings.ts";

export type Transpiled =
  | { ok: true; code: string; mappings: string }
  /** No position when the error is not in the source's own lines. */
  | { ok: false; message: string; position?: Position };

/** Never rejects for what is in the source. */
export async function transpile(source: string, loader: "ts" | "tsx" = "ts"): Promise<Transpiled> {
  try {
    const { code, map } = await transform(source, {
      loader,
      target: "es2024",
      // Run as it is: this engine has it, and the lowered form hides where an error came from.
      supported: { using: true },
      charset: "ascii",
      sourcemap: "external",
      sourcesContent: false,
      sourcefile: "script.ts",
      legalComments: "none",
      logLevel: "silent",
      logLimit: 1,
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    });
    return { ok: true, code, mappings: (JSON.parse(map) as { mappings: string }).mappings };
  } catch (error) {
    const [message] = (error as { errors?: Message[] }).errors ?? [];
    if (message === undefined) throw error;
    return describe(message);
  }
}

function describe({ text, location }: Message): Transpiled {
  if (location === null) return { ok: false, message: text };
  const before = Buffer.from(location.lineText).subarray(0, location.column).toString();
  return { ok: false, message: text, position: { line: location.line, column: before.length + 1 } };
}
