/**
 * Applies the patches of this folder to node_modules: npm runs it after each installation. Patched files replace the
 * installed ones, because several checkouts may share those by hard links. Plain JavaScript, as Node 20 runs it too.
 */
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { applyPatch, parsePatch, reversePatch } from "diff";

const FOLDER = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.dirname(FOLDER);

for (const name of readdirSync(FOLDER).filter((entry) => entry.endsWith(".patch"))) {
  for (const patch of parsePatch(readFileSync(path.join(FOLDER, name), "utf8"))) {
    const file = path.join(ROOT, patch.newFileName.replace(/^b\//, ""));
    const installed = readFileSync(file, "utf8");
    const patched = applyPatch(installed, patch);
    if (patched !== false) {
      writeFileSync(`${file}.patched`, patched);
      renameSync(`${file}.patched`, file);
    } else if (applyPatch(installed, reversePatch(patch)) === false) {
      throw new Error(`patches/${name} does not fit ${file}: make the patch anew for the installed version.`);
    }
  }
}
