/**
 * Installs tests/packages, where everything is that only tests, checks and benchmarks need, unless what is there was
 * installed of the same lock file. Tests find it through the link tests/node_modules.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const FOLDER = path.resolve(import.meta.dirname, "../packages");
/** Inside of what `npm ci` removes, so that it is there only after an installation that was finished. */
const STAMP = path.join(FOLDER, "node_modules/.installed");

export function installTestPackages(): void {
  const wanted = createHash("sha256")
    .update(readFileSync(path.join(FOLDER, "package-lock.json")))
    .digest("hex");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return;
  process.stdout.write("Installing tests/packages: what only tests and checks need.\n");
  execFileSync("npm", ["ci"], { cwd: FOLDER, stdio: "inherit" });
  writeFileSync(STAMP, wanted);
}
