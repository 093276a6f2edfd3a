/** What one command works with: the server, the streams, and how its answer is shown. */
import { type CyrnelClient, createClient } from "#client/client.ts";
import type { ExitCode } from "./exit-codes.ts";
import { usageFailure } from "./failure.ts";
import { safeJson } from "./output/safe-text.ts";
import type { Streams } from "./terminal.ts";

export const DEFAULT_URL = "http://127.0.0.1:9371";

/** Of the program: the entry file fills it in, alone. */
export interface Shell extends Streams {
  /** From the environment. */
  readonly url: string | undefined;
  readonly key: string | undefined;
  /** The folder of the package. */
  readonly root: string;
  /** Aborts at Ctrl-C and at a SIGTERM. */
  readonly signal: AbortSignal;
  /** What the program will end with. */
  exitCode: ExitCode;
  /** Turns this program into another one, with these variables added to its environment. Does not return. */
  become(program: string, args: readonly string[], environment: Record<string, string>): never;
}

export interface Session extends Streams {
  readonly shell: Shell;
  readonly json: boolean;
  readonly url: string;
  readonly key: string | undefined;
  readonly signal: AbortSignal;
  readonly client: CyrnelClient;
  /** The answer of a command: JSON if it was asked for, else what `describe` makes of it. */
  print<T>(value: T, describe: (value: T) => string): void;
  /** Shows on a terminal that something goes on, and how far it is where `text` says so; in a pipe nothing. */
  during<T>(text: string | (() => string), work: Promise<T>): Promise<T>;
}

export interface GlobalOptions {
  url?: string;
  key?: string;
  json?: boolean;
}

/** @throws Failure for an address that is none. */
export function openSession(
  shell: Shell,
  { url: givenUrl, key: givenKey, json = false }: GlobalOptions,
): Session {
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
      stdout.write(json ? `${safeJson(value, stdout.isTty ? 2 : undefined)}\n` : describe(value));
    },
    async during(text, work) {
      if (!stderr.isTty || json) return work;
      const { startSpinner } = await import("./output/spinner.ts");
      return startSpinner(text, work);
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
