/**
 * Builds the console into web/dist/site, unless what is there was built of the same sources. Also writes each file in brotli
 * for the server to send. Run by `npm run build`; takes no arguments.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { build } from "vite";

const ROOT = import.meta.dirname;
const SITE = path.join(ROOT, "dist/site");
const STAMP = path.join(SITE, "sources.sha256");
/** Besides web/ itself: what it imports, and what decides about versions. */
const SOURCES = ["../client", "../package-lock.json"];
const COMPRESSED = /\.(js|css|svg|html|md)$/;
const BROTLI_QUALITY = 11;
const compress = promisify(brotliCompress);

async function hashSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const source of [".", ...SOURCES]) {
    for (const file of await listFiles(path.resolve(ROOT, source))) {
      hash
        .update(`${path.relative(ROOT, file)}\0`)
        .update(await readFile(file))
        .update("\0");
    }
  }
  return hash.digest("hex");
}

async function listFiles(place: string): Promise<string[]> {
  if (place.endsWith(".json")) return [place];
  const entries = await readdir(place, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter((file) => !file.startsWith(path.join(ROOT, "dist/")) || place !== ROOT)
    .sort();
}

const sources = await hashSources();
const isBuilt = existsSync(STAMP) && (await readFile(STAMP, "utf8")) === sources;
if (!isBuilt) {
  const fresh = `${SITE}.${process.pid}`;
  await build({ configFile: path.join(ROOT, "vite.config.ts"), build: { outDir: fresh } });
  // Vite lists the packages; the icons are in parts/icons.tsx.
  const icons = await readFile(path.join(ROOT, "icons-license.md"), "utf8");
  await appendFile(path.join(fresh, "console/licenses.md"), `\n${icons}`);
  for (const file of (await listFiles(fresh)).filter((name) => COMPRESSED.test(name))) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
    await writeFile(`${file}.br`, await compress(await readFile(file), { params }));
  }
  await writeFile(path.join(fresh, "sources.sha256"), sources);
  await rm(SITE, { recursive: true, force: true });
  await rename(fresh, SITE);
}
