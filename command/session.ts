/** Context of a command's action: the server, the streams, and how results are shown. */
import type { Command } from "commander";
import { type CyrnelClient, createClient } from "#client/client.ts";
import { visibleJson, visibleLine } from "#client/visible-text.ts";
import { type ExitCode, usageFailure } from "./failure.ts";
import type { Streams } from "./terminal.ts";

export const DEFAULT_URL = "http://127.0.0.1:9371";

/** Parts of the process that only the entry file accesses. */
export interface Shell extends Streams {
  readonly url: string | undefined;
  readonly key: string | undefined;
  readonly args: readonly string[];
  readonly root: string;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  exitCode: ExitCode;
  /**
   * Replaces this program with another one (execve), with these variables added to its environment. Does not return.
   */
  become(program: string, args: readonly string[], environment: Record<string, string>): never;
}

export interface Session extends Streams {
  readonly shell: Shell;
  readonly json: boolean;
  readonly url: string;
  readonly key: string | undefined;
  readonly signal: AbortSignal;
  readonly client: CyrnelClient;
  /** Prints the value: as JSON with `--json`, otherwise as `describe` formats it. */
  print<T>(value: T, describe: (value: T) => string): void;
  /** Waits for `work`, with a spinner on a terminal. */
  during<T>(text: string | (() => string), work: Promise<T>): Promise<T>;
}

interface GlobalOptions {
  url?: string;
  key?: string;
  json?: boolean;
}

/** Creates a commander action that calls `run` with the session, the arguments in order, and the options. */
export function act<A extends unknown[]>(
  shell: Shell,
  run: (session: Session, ...given: A) => Promise<ExitCode | undefined> | Promise<void>,
) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.pop() as Command;
    const session = openSession(shell, command.optsWithGlobals<GlobalOptions>());
    const exitCode = await run(session, ...(given as A));
    if (exitCode !== undefined) shell.exitCode = exitCode;
  };
}

function openSession(shell: Shell, { url: givenUrl, key: givenKey, json = false }: GlobalOptions): Session {
  const url = givenUrl ?? shell.url ?? DEFAULT_URL;
  const key = givenKey ?? shell.key;
  const { stdout, stderr, signal } = shell;
  let client: CyrnelClient | null = null;
  return {
    shell,
    json,
    url,
    key,
    get stdin() {
      return shell.stdin;
    },
    stdout,
    stderr,
    signal,
    get client() {
      client ??= connect(url, key);
      return client;
    },
    print(value, describe) {
      stdout.write(json ? `${visibleJson(value, stdout.isTty ? 2 : undefined)}\n` : describe(value));
    },
    async during(text, work) {
      return stderr.isTty && !json ? spin(text, work) : work;
    },
  };
}

function connect(url: string, key: string | undefined): CyrnelClient {
  try {
    return createClient({ url, ...(key !== undefined && { key }) });
  } catch (error) {
    throw usageFailure((error as Error).message, "invalid_url");
  }
}

/** Shorter waits show no spinner. */
const MIN_SPINNER_MS = 250;

/** Writes a spinner with the elapsed time to standard error, and removes it when `work` has ended. */
async function spin<T>(text: string | (() => string), work: Promise<T>): Promise<T> {
  const { default: createSpinner } = await import("yocto-spinner");
  const describe = () => visibleLine(typeof text === "string" ? text : text());
  const spinner = createSpinner({ text: describe(), stream: process.stderr, handleSignals: false });
  const startedAt = performance.now();
  const delay = setTimeout(() => spinner.start(), MIN_SPINNER_MS);
  const tick = setInterval(() => {
    spinner.text = `${describe()} ${Math.round((performance.now() - startedAt) / 1000)} s`;
  }, 1000);
  try {
    return await work;
  } finally {
    clearTimeout(delay);
    clearInterval(tick);
    spinner.stop();
  }
}
