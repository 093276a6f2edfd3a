/** Exit codes, and failures as a message, a code and an exit code. */
import { CyrnelError } from "#client/errors.ts";
import { visibleJson, visibleLine } from "#client/visible-text.ts";
import type { Terminal } from "./terminal.ts";

/** 69, 77 and 78 are from sysexits.h. */
export const EXIT = {
  ok: 0,
  /** The script failed, the request was rejected, or the object does not exist. */
  failed: 1,
  /** The command line, or a file it names, is invalid. */
  usage: 2,
  timeout: 3,
  /** The memory or CPU time limit was exceeded. */
  limit: 4,
  violation: 5,
  canceled: 6,
  /** The server is unreachable or unavailable. */
  unavailable: 69,
  /** The key is missing, wrong, or lacks a scope. */
  notAllowed: 77,
  /** Required isolation is not available, or the server's settings are invalid. */
  isolation: 78,
  /** 128 plus the signal number, as in shells. */
  interrupted: 130,
  brokenPipe: 141,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export function exitCodeOfRun({
  exitState,
  reason,
}: {
  exitState: string | null;
  reason: string | null;
}): ExitCode {
  switch (exitState) {
    case "success":
      return EXIT.ok;
    case "timeout":
      return EXIT.timeout;
    case "canceled":
      return EXIT.canceled;
    default:
      break;
  }
  switch (reason) {
    case "memory_limit":
    case "cpu_limit":
      return EXIT.limit;
    case "sandbox_violation":
      return EXIT.violation;
    default:
      return EXIT.failed;
  }
}

/** `code` is machine-readable: one listed in docs/errors.md or docs/cli.md. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: string;
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, exitCode: ExitCode = EXIT.failed, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.exitCode = exitCode;
  }
}

export function usageFailure(message: string, code = "usage"): Failure {
  return new Failure(code, message, EXIT.usage);
}

/** Writes an error to standard error, as a line or as JSON. */
export function writeFailure(
  stderr: Terminal,
  { message, code, exitCode }: Pick<Failure, "message" | "code" | "exitCode">,
  json: boolean,
): void {
  stderr.write(
    json
      ? `${visibleJson({ error: message, code, exitCode })}\n`
      : `${stderr.paint("red", "cyrnel:")} ${visibleLine(message)} [${code}]\n`,
  );
}

const MAX_ISSUES = 3;

/** Turns any thrown value into a Failure. `url` is the server's, if there is one. */
export function toFailure(error: unknown, url?: string): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof CyrnelError) return fromAnswer(error, url);
  if (!(error instanceof Error)) return new Failure("failed", String(error));
  if (isUnreachable(error)) {
    return new Failure(
      "unreachable",
      `No server answers at ${url ?? "the given address"} (${reasonOf(error)}). Start one with cyrnel serve, or set CYRNEL_URL or --url to its address.`,
      EXIT.unavailable,
      { cause: error },
    );
  }
  return new Failure("failed", error.message, EXIT.failed, { cause: error });
}

function fromAnswer(error: CyrnelError, url: string | undefined): Failure {
  if (error.status === 401) {
    // The rest of the server's message explains the HTTP header, which does not help here.
    const [problem = ""] = error.message.split(" Send the header ");
    const message = `${problem.replace(/\.?$/, ".")} Set CYRNEL_API_KEY or pass --key.`;
    return new Failure(error.code, message, exitCodeOf(error), { cause: error });
  }
  const issues = error.issues
    .slice(0, MAX_ISSUES)
    // The server's message often contains the first issue.
    .filter(({ message }) => !error.message.includes(message))
    .map(({ path, message }) => `${path}: ${message}`);
  const details = issues.length === 0 ? "" : ` ${issues.join("; ")}`;
  const from = error.code === "http_error" ? ` (${url ?? "the server"})` : "";
  return new Failure(error.code, `${error.message}${from}${details}${hintFor(error)}`, exitCodeOf(error), {
    cause: error,
  });
}

function hintFor({ status, requestId }: CyrnelError): string {
  return status >= 500 && requestId !== null ? ` Request ${requestId} in the server's log.` : "";
}

function exitCodeOf({ status }: CyrnelError): ExitCode {
  if (status === 401 || status === 403) return EXIT.notAllowed;
  if (status === 429 || status >= 500) return EXIT.unavailable;
  return status === 400 || status === 413 || status === 415 ? EXIT.usage : EXIT.failed;
}

/** fetch throws a TypeError whose cause is the reason. */
function isUnreachable(error: Error): boolean {
  return error instanceof TypeError && error.message === "fetch failed";
}

function reasonOf({ cause }: Error): string {
  const { code, message, errors } = (cause ?? {}) as { code?: string; message?: string; errors?: Error[] };
  return code ?? (message !== undefined && message !== "" ? message : (errors?.[0]?.message ?? "no answer"));
}
