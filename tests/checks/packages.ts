/**
 * Installs tests/packages, where everything is that only tests, checks and benchmarks need,
 * unless what is there was installed of the same lock file. The links tests/node_modules and bench/node_modules lead there.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const FOLDER = path.resolve(import.meta.dirname, "../packages");
/** The compiler that checks. `typescript` there is an older one, for generators that need its API. */
export const TSC = path.join(FOLDER, "node_modules/typescript7/bin/tsc");
/** Among what `npm ci` removes first, so that it stands for an installation that was finished. */
const STAMP = path.join(FOLDER, "node_modules/.installed");

const lockFile = readFileSync(path.join(FOLDER, "package-lock.json"));
const wanted = createHash("sha256").update(lockFile).digest("hex");
if (!existsSync(STAMP) || readFileSync(STAMP, "utf8") !== wanted) {
  process.stderr.write("Installing tests/packages: what only tests, checks and benchmarks need.\n");
  execFileSync("npm", ["ci"], { cwd: FOLDER, stdio: ["ignore", 2, 2] });
  writeFileSync(STAMP, wanted);
}
