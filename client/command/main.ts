/**
 * `cyrnel`: the command line. Alone here in reading the environment, handling signals and exiting. Started by cyrnel.cjs with
 * the Node that the package pins.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "./exit-codes.ts";
import { toFailure } from "./failure.ts";
import { safeJson, safeLine } from "./output/safe-text.ts";
import { createProgram, toUsageFailure } from "./program.ts";
import { guessLocalLevel } from "./run/hint.ts";
import { DEFAULT_URL, type Shell } from "./session.ts";
import { createTerminal } from "./terminal.ts";

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Under npm, Ctrl-C arrives twice: from the terminal and from npm. */
const SAME_SIGNAL_MS = 500;
/** Both from the sources and from the build, which is one folder deeper. */
const root = join(import.meta.dirname, import.meta.filename.endsWith(".ts") ? "../.." : "../../..");
const { env } = process;
const hasColors = (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
const stop = new AbortController();

const shell: Shell = {
  url: env.CYRNEL_URL || undefined,
  key: env.CYRNEL_API_KEY?.trim() || undefined,
  stdin: process.stdin,
  stdout: createTerminal(process.stdout, hasColors),
  stderr: createTerminal(process.stderr, hasColors),
  root,
  signal: stop.signal,
  exitCode: EXIT.ok,
  become(program, args, more) {
    process.execve?.(program, [program, ...args], { ...(env as Record<string, string>), ...more });
    throw new Error("This system cannot turn one program into another.");
  },
};

let stoppedAtMs: number | null = null;
for (const signal of STOP_SIGNALS) {
  process.on(signal, () => {
    if (stoppedAtMs !== null && performance.now() - stoppedAtMs > SAME_SIGNAL_MS)
      process.exit(EXIT.interrupted);
    stoppedAtMs ??= performance.now();
    stop.abort(new Error(`Stopped by ${signal}.`));
  });
}
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(EXIT.brokenPipe);
    throw error;
  });
}

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const args = process.argv.slice(2);
try {
  await createProgram(shell, version, args[0] === "run").parseAsync(args, { from: "user" });
} catch (error) {
  report(error);
}
if (guessLocalLevel(args) !== null) {
  const { abandonAhead } = await import("../local/ahead.ts");
  await abandonAhead();
}
await Promise.all([shell.stdout.flushed(), shell.stderr.flushed()]);
process.exit(shell.exitCode);

function report(error: unknown): void {
  const thrown = toUsageFailure(error);
  if (thrown === null) return;
  if (stop.signal.aborted) {
    shell.exitCode = EXIT.interrupted;
    return;
  }
  const { message, code, exitCode } = toFailure(thrown, readUrl());
  shell.exitCode = exitCode;
  shell.stderr.write(
    args.includes("--json")
      ? `${safeJson({ error: message, code, exitCode })}\n`
      : `${shell.stderr.paint("red", "cyrnel:")} ${safeLine(message)} [${code}]\n`,
  );
}

/** Which server was asked, for a sentence about it. */
function readUrl(): string {
  const at = args.indexOf("--url");
  const inline = args.find((arg) => arg.startsWith("--url="))?.slice("--url=".length);
  return inline ?? (at >= 0 ? args[at + 1] : undefined) ?? shell.url ?? DEFAULT_URL;
}
