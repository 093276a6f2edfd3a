/** Whether a command line is about to run a script on this machine, told before it is parsed: only to begin early. */

type Level = "strict" | "standard" | "development";

/** The level it will ask for; null: begin nothing. A wrong guess costs time and changes nothing else. */
export function guessLocalLevel(args: readonly string[]): Level | null {
  if (args[0] !== "run" || !args.includes("--local")) return null;
  // Another memory limit is another child.
  if (args.some((arg) => /^(-h$|--help|--memory|--watch|--isolation)/.test(arg))) return null;
  return "strict";
}

/** The file with the script; null: told later. A wrong guess costs time here too. */
export function guessScript(args: readonly string[]): string | null {
  const [, path] = args;
  return path === undefined || path.startsWith("-") ? null : path;
}
