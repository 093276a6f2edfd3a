/** Lists the files that this working tree changes. */
import { execFileSync } from "node:child_process";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");

function git(...args: string[]): string[] {
  const options = { cwd: ROOT, encoding: "utf8", stdio: "pipe" } as const;
  return execFileSync("git", args, options).split("\n").filter(Boolean);
}

/** The commit where this branch left main; the last commit, on main itself and where there is no main. */
export function findBase(): string {
  for (const main of ["main", "origin/main"]) {
    try {
      return git("merge-base", "HEAD", main)[0] ?? "HEAD";
    } catch {
      // No such branch here.
    }
  }
  return "HEAD";
}

/** Files that differ from the base and are still there, also those that git does not know yet. */
export function listChangedFiles(): string[] {
  return [
    ...git("diff", "--name-only", "--diff-filter=d", findBase()),
    ...git("ls-files", "--others", "--exclude-standard"),
  ];
}
