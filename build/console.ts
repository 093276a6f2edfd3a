/**
 * Builds the console: one page, files with a hash in their names, no external resources, each file also compressed
 * with brotli.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { build, type Metafile } from "esbuild";

const WEB = path.join(import.meta.dirname, "../web");
const SITE = path.join(import.meta.dirname, "../dist/console");
/** Input files that esbuild does not see. */
const OTHER_INPUTS = ["web/index.html", "web/icons-license.md"];
const COMPRESSED = /\.(js|css|svg|html|md)$/;
const BROTLI_QUALITY = 11;
const FONTS = ["inter", "jetbrains-mono"].map(
  (name) => `@fontsource-variable/${name}/files/${name}-latin-wght-normal.woff2`,
);
const compress = promisify(brotliCompress);

export async function buildConsole(): Promise<string[]> {
  const fresh = `${SITE}.${process.pid}`;
  await mkdir(fresh, { recursive: true });
  const { inputs } = await buildSite(WEB, fresh);
  await rm(SITE, { recursive: true, force: true });
  await rename(fresh, SITE);
  return [...Object.keys(inputs).map((input) => path.join("web", input)), ...OTHER_INPUTS];
}

/** Builds the sources in `web` into `site`: index.html and console/. */
export async function buildSite(web: string, site: string): Promise<Metafile> {
  const assets = path.join(site, "console");
  const { metafile } = await build({
    absWorkingDir: web,
    entryPoints: ["main.tsx", "styles/index.css", "icon.svg", ...FONTS],
    outdir: assets,
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2023",
    minify: true,
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
    jsx: "automatic",
    jsxImportSource: "preact",
    // Inlining these as data: URLs would need a weaker content security policy.
    loader: { ".woff2": "copy", ".svg": "copy" },
    conditions: ["browser", "module", "import", "default"],
    alias: {
      "markdown-to-jsx/react": path.join(web, "forms/no-markdown.ts"),
      react: "preact/compat",
      "react-dom": "preact/compat",
      "react/jsx-runtime": "preact/jsx-runtime",
    },
  });
  await writeFile(path.join(site, "index.html"), await fillPage(web, site, metafile));
  await writeFile(path.join(assets, "licenses.md"), await listLicenses(web, metafile));
  for (const file of (await listFiles(site)).filter((name) => COMPRESSED.test(name))) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
    await writeFile(`${file}.br`, await compress(await readFile(file), { params }));
  }
  return metafile;
}

/** Inserts the names of the built files: `{{main.tsx}}` becomes the name of main.tsx's bundle. */
async function fillPage(web: string, site: string, { outputs }: Metafile): Promise<string> {
  const names = new Map<string, string>();
  const toUrl = (output: string) => `./${path.relative(site, path.join(web, output))}`;
  for (const [output, { entryPoint, imports }] of Object.entries(outputs)) {
    if (entryPoint === undefined) continue;
    names.set(path.basename(entryPoint), toUrl(output));
    if (entryPoint !== "main.tsx") continue;
    // The browser loads these with the page instead of after parsing the script.
    const first = imports.filter(({ kind }) => kind === "import-statement");
    const preloads = first.map((one) => `<link rel="modulepreload" crossorigin href="${toUrl(one.path)}" />`);
    names.set("preloads", preloads.join("\n    "));
  }
  const page = await readFile(path.join(web, "index.html"), "utf8");
  return page.replaceAll(/\{\{([\w.-]+)\}\}/g, (_, name: string) => {
    const found = names.get(name);
    if (found === undefined) throw new Error(`web/index.html names ${name}, which the build has not made.`);
    return found;
  });
}

/** Collects the licence of each package in the bundle. */
async function listLicenses(web: string, { inputs }: Metafile): Promise<string> {
  const folders = new Set<string>();
  for (const input of Object.keys(inputs)) {
    const found = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path.join(web, input))?.[0];
    if (found !== undefined) folders.add(found);
  }
  const parts = ["# Licenses\n\nThe console contains code of these packages.\n"];
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^(licen[cs]e|copying)(\.|$)/i.test(entry));
    const text = file === undefined ? "" : (await readFile(path.join(folder, file), "utf8")).trim();
    parts.push(`## ${name} - ${version} (${license})\n\n${text}\n`);
  }
  parts.push(await readFile(path.join(web, "icons-license.md"), "utf8"));
  return parts.join("\n");
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => path.join(parentPath, name));
}
