/** The report of a run, the same for remote and local runs, and its output. */
import type { RunWarning } from "#client/kernel/model.ts";
import { visibleJson, visibleLine } from "#client/visible-text.ts";
import { EXIT, type ExitCode, exitCodeOfRun, type Failure, writeFailure } from "../failure.ts";
import type { Session } from "../session.ts";
import { createSafeStream } from "../terminal.ts";
import type { FolderFile } from "./folder.ts";

export interface RunLimits {
  ref?: string;
  timeoutMs?: number | null;
  memoryMb?: number;
  cpuMs?: number;
  /** JSON data, or undefined without input. */
  input?: unknown;
  files?: Record<string, FolderFile | string>;
  /** The script's name among the files. */
  name?: string;
  artifactsFolder?: string;
  /** Replaces the runtime's package folder. Applies to local runs only. */
  packages?: { folder: string; root: string };
}

/** Runs a script to its end. Rejects if it could not be run; a failed script resolves with a report. */
export type RunScript = (code: string, limits: RunLimits) => Promise<RunEnding>;

export interface RunEnding {
  report: RunReport;
  /** Why an artifact could not be written, or null if all were. */
  failure: Failure | null;
}

export interface RunReport {
  id: number | null;
  exitState: string | null;
  reason: string | null;
  result: unknown;
  error: string | null;
  errorDetail: {
    name: string;
    message: string;
    line?: number | null;
    column?: number | null;
    /** Source file of the position; absent for the script itself. */
    file?: string | undefined;
    stack?: string | null;
  } | null;
  warnings: RunWarning[];
  stdout: string;
  stderr: string;
  /** The script's merged `cyrnel.output`. */
  output: Record<string, unknown>;
  usage: Record<string, number> | null;
}

/** Report of a run whose outcome is unknown. */
export function emptyReport(id: number | null): RunReport {
  return {
    id,
    exitState: null,
    reason: null,
    result: null,
    error: null,
    errorDetail: null,
    warnings: [],
    stdout: "",
    stderr: "",
    output: {},
    usage: null,
  };
}

/** Shows a script's output live: unchanged in a pipe, made safe on a terminal, not at all with --json. */
export function openRunOutput({ json, stdout, stderr }: Session) {
  const safe = { stdout: createSafeStream(), stderr: createSafeStream() };
  const terminals = { stdout, stderr };
  let isLineOpen = false;

  function write(stream: "stdout" | "stderr", text: string, isLast = false): void {
    if (json) return;
    const terminal = terminals[stream];
    const shown = terminal.isTty ? safe[stream](text, isLast) : text;
    if (shown === "") return;
    terminal.write(shown);
    if (terminal.isTty) isLineOpen = !shown.endsWith("\n");
  }

  return {
    stdout: (text: string) => write("stdout", text),
    stderr: (text: string) => write("stderr", text),
    /** Call it before the command writes its own lines. */
    end(): void {
      write("stdout", "", true);
      write("stderr", "", true);
      if (isLineOpen) stderr.write("\n");
      isLineOpen = false;
    },
  };
}

/** Reasons that come from an approver's decision or a missing one, not from a script or server failure. */
const DECIDED = new Set(["approval_denied", "approval_expired", "killed"]);

/** Shows how the script `name` ended, and then whether its artifacts were written. */
export function showEnding(session: Session, { report, failure }: RunEnding, name: string): ExitCode {
  const ended = exitCodeOfRun(report);
  const exitCode = ended === EXIT.ok && failure !== null ? EXIT.failed : ended;
  showReport(session, report, name, exitCode);
  if (failure !== null) {
    const { message, code } = failure;
    writeFailure(session.stderr, { message, code, exitCode }, session.json);
  }
  return exitCode;
}

/** Prints the result to standard output and everything else to standard error. */
function showReport(
  { json, stdout, stderr }: Session,
  report: RunReport,
  name: string,
  exitCode: ExitCode,
): void {
  if (json) {
    stdout.write(`${visibleJson({ ...report, exitCode }, stdout.isTty ? 2 : undefined)}\n`);
    return;
  }
  if (Object.keys(report.output).length > 0) {
    stderr.write(`${stderr.paint("dim", "output")} ${visibleJson(report.output)}\n`);
  }
  for (const { code, message, ...place } of report.warnings) {
    const text = `${message}${formatPlace(place, name)} [${code}]`;
    stderr.write(`${stderr.paint("yellow", "warning:")} ${visibleLine(text)}\n`);
  }
  if (report.exitState === "success") {
    if (report.result !== null && report.result !== undefined) {
      stdout.write(`${visibleJson(report.result, stdout.isTty ? 2 : undefined)}\n`);
    }
  } else {
    const isDecided = DECIDED.has(report.reason ?? "");
    stderr.write(
      `${stderr.paint(isDecided ? "yellow" : "red", "cyrnel:")} ${describeEnding(report, name)}\n`,
    );
  }
}

function describeEnding(report: RunReport, name: string): string {
  const place = formatPlace(report.errorDetail ?? {}, name);
  return `${visibleLine(describeError(report))}${visibleLine(place)} [${report.reason ?? report.exitState ?? "failed"}]`;
}

/** Returns the error as untrusted text, without its position. */
export function describeError({ reason, error, errorDetail, exitState }: RunReport): string {
  const sentence = error ?? `The run ended as ${exitState}.`;
  const isOwnError = reason === "script_error" || reason === "syntax_error";
  return isOwnError && errorDetail ? `${errorDetail.name}: ${sentence}` : sentence;
}

function formatPlace(
  {
    line,
    column,
    file,
  }: Pick<RunWarning, "file"> & { line?: number | null | undefined; column?: number | null | undefined },
  name: string,
): string {
  return line == null ? "" : ` (${file ?? name}:${line}${column == null ? "" : `:${column}`})`;
}
