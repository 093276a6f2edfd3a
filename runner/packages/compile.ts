/** Runs esbuild over a package, and again without the files that it cannot read. */
import { join } from "node:path";
import { type BuildOptions, build, type Message, type Metafile } from "esbuild";
import { TRANSFORM_OPTIONS } from "../source/transpile.ts";
import { createPlugin, ENTRY, type Found, Refusal, type ResolveAll, SHIMS } from "./plugin.ts";

const MAX_ATTEMPTS = 6;
const OPTIONS: BuildOptions = {
  bundle: true,
  metafile: true,
  format: "cjs",
  platform: "browser",
  conditions: ["worker", "browser", "module", "production"],
  mainFields: ["browser", "module", "main"],
  target: TRANSFORM_OPTIONS.target,
  // The engine would ask the host for a remaining `import()`, so it becomes a `require` call.
  supported: { "dynamic-import": false },
  charset: "ascii",
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "none",
  define: {
    "process.env.NODE_ENV": '"production"',
    process: "cyrnelNode.process",
    Buffer: "cyrnelNode.Buffer",
    global: "globalThis",
    // Packages are built as for a worker, where the global object is `self`; scripts do not have this name.
    self: "globalThis",
    // Packages detect the global object by this; otherwise they create code from strings.
    "self.self": "globalThis",
    __dirname: '"/"',
    __filename: '"/index.js"',
    "import.meta.url": '"file:///index.js"',
  },
  inject: [SHIMS.node],
  sourcemap: "external",
  sourcesContent: false,
  tsconfigRaw: "{}",
  logLevel: "silent",
};

export interface Compiled {
  text: string;
  map: string;
  metafile: Metafile;
  found: Found;
}

export interface CompileInput {
  base: string;
  resolveDir: string;
  listEntries(resolveAll: ResolveAll): Promise<string>;
  /** True if the entry itself is the first module, which may be an ES module. */
  isFirst?: boolean;
  /** Reasons by unreadable file; grows. Requiring such a file throws. */
  broken: Map<string, string>;
}

/** @throws Refusal */
export async function compile({
  base,
  resolveDir,
  listEntries,
  broken,
  isFirst = false,
}: CompileInput): Promise<Compiled> {
  for (let attempt = 1; ; attempt++) {
    const found: Found = { files: 0, bytes: 0, missing: new Set(), refused: null };
    const made = await attemptBuild({
      ...OPTIONS,
      stdin: {
        contents: isFirst
          ? await listEntries(async () => new Map())
          : `module.exports=require(${JSON.stringify(ENTRY)})`,
        resolveDir,
      },
      absWorkingDir: base,
      outfile: join(base, "cyrnel-bundle.js"),
      plugins: [createPlugin({ base, broken, resolveDir, found, listEntries })],
    });
    if (found.refused !== null) throw new Refusal(found.refused);
    if (!("errors" in made)) return { ...made, found };
    const added = made.errors.filter(({ location }) => location && !broken.has(location.file));
    if (added.length === 0 || attempt === MAX_ATTEMPTS) throw new Refusal(describe(made.errors));
    for (const { location, text } of added) broken.set(location?.file ?? "", text);
  }
}

async function attemptBuild(options: BuildOptions): Promise<Omit<Compiled, "found"> | { errors: Message[] }> {
  try {
    const { outputFiles, metafile } = await build({ ...options, write: false, metafile: true });
    const read = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? "";
    return { text: read(".js"), map: read(".map"), metafile };
  } catch (error) {
    const { errors } = error as { errors?: Message[] };
    if (errors === undefined) throw error;
    return { errors };
  }
}

function describe([first]: readonly Message[]): string {
  if (first === undefined) return "It cannot be bundled.";
  const { text, location } = first;
  const place = location ? ` (${location.file}:${location.line})` : "";
  return `It cannot be bundled: ${text}${place}.`;
}
