/** Entry file of the command, started by the launcher `cyrnel`. Only this file reads the environment, handles signals and exits. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT, toFailure, writeFailure } from "./failure.ts";
import { createProgram, toUsageFailure } from "./program.ts";
import { DEFAULT_URL, type Shell } from "./session.ts";
import { createTerminal } from "./terminal.ts";

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Under npm, Ctrl-C arrives twice: from the terminal and from npm. */
const SAME_SIGNAL_MS = 500;
/** Found both from the sources and from the build, which is one folder deeper. */
const ROOT = join(import.meta.dirname, import.meta.filename.endsWith(".ts") ? ".." : "../..");

async function main(): Promise<never> {
  // The launcher sets it for this Node, not for programs it starts.
  delete process.env.NODE_COMPILE_CACHE;
  const args = process.argv.slice(2);
  const stop = new AbortController();
  const shell = openShell(args, stop.signal);
  stopOnSignals(stop);
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(EXIT.brokenPipe);
      throw error;
    });
  }
  try {
    await createProgram(shell, readVersion()).parseAsync(args, { from: "user" });
  } catch (error) {
    report(error, shell, args);
  }
  await Promise.all([shell.stdout.flushed(), shell.stderr.flushed()]);
  process.exit(shell.exitCode);
}

function openShell(args: readonly string[], signal: AbortSignal): Shell {
  const { env } = process;
  const hasColors = (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
  return {
    url: env.CYRNEL_URL || undefined,
    key: env.CYRNEL_API_KEY?.trim() || undefined,
    // Opened on first use: most commands do not read it.
    get stdin() {
      return process.stdin;
    },
    stdout: createTerminal(process.stdout, hasColors),
    stderr: createTerminal(process.stderr, hasColors),
    args,
    root: ROOT,
    signal,
    exitCode: EXIT.ok,
    become(program, args, more) {
      process.execve?.(program, [program, ...args], { ...(env as Record<string, string>), ...more });
      throw new Error("This system cannot replace the running program (execve is missing).");
    },
  };
}

function stopOnSignals(stop: AbortController): void {
  let stoppedAtMs: number | null = null;
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (stoppedAtMs !== null && performance.now() - stoppedAtMs > SAME_SIGNAL_MS)
        process.exit(EXIT.interrupted);
      stoppedAtMs ??= performance.now();
      stop.abort(new Error(`Stopped by ${signal}.`));
    });
  }
}

function readVersion(): string {
  return (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version;
}

function report(error: unknown, shell: Shell, args: readonly string[]): void {
  const thrown = toUsageFailure(error);
  if (thrown === null) return;
  if (shell.signal.aborted) {
    shell.exitCode = EXIT.interrupted;
    return;
  }
  const failure = toFailure(thrown, readUrl(shell, args));
  shell.exitCode = failure.exitCode;
  writeFailure(shell.stderr, failure, args.includes("--json"));
}

function readUrl(shell: Shell, args: readonly string[]): string {
  const at = args.indexOf("--url");
  const inline = args.find((arg) => arg.startsWith("--url="))?.slice("--url=".length);
  return inline ?? (at >= 0 ? args[at + 1] : undefined) ?? shell.url ?? DEFAULT_URL;
}

void main();
