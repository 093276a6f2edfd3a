/**
 * Runs several scripts in one command: finds them, runs them concurrently in one runtime, and reports them together.
 */
import { randomUUID } from "node:crypto";
import { globSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Readable } from "node:stream";
import type { RunWarning } from "#client/kernel/model.ts";
import { EXIT, type ExitCode, exitCodeOfRun, type Failure, toFailure, usageFailure } from "../failure.ts";
import type { Session } from "../session.ts";
import { killedReport } from "./remote.ts";
import { describeError, emptyReport, type RunEnding, type RunReport } from "./report.ts";
import {
  describeEntry,
  describeTotals,
  listAnnotations,
  type Problem,
  REPORTS,
  type SuiteEntry,
} from "./reporters.ts";

export const REPORTERS = ["github", "junit", "json", "tap"] as const;
export type Reporter = (typeof REPORTERS)[number];

const MAX_SCRIPTS = 1_000;
/** Number of characters kept from the end of each of a run's streams. */
const MAX_KEPT = 64 * 1024;
const IGNORED = ["node_modules", ".git"];

/**
 * Returns the given paths and the files that patterns match, sorted. Skips declaration files, which contain nothing
 * to run.
 */
export function findScripts(patterns: readonly string[], isPattern: (text: string) => boolean): string[] {
  const found = patterns.flatMap((pattern) => {
    if (pattern === "-") throw usageFailure("Standard input (-) cannot be one of several scripts.");
    if (!isPattern(pattern)) return [pattern];
    const entries = globSync(pattern, { withFileTypes: true, exclude: ({ name }) => IGNORED.includes(name) });
    const files = entries
      .filter((entry) => entry.isFile() && !/\.d\.[cm]?ts$/.test(entry.name))
      .map(({ parentPath, name }) => relative("", join(parentPath, name)));
    if (files.length === 0) throw usageFailure(`No file matches ${pattern}.`, "no_such_file");
    return files.sort();
  });
  const scripts = [...new Set(found)];
  if (scripts.length > MAX_SCRIPTS) {
    throw usageFailure(
      `One command runs at most ${MAX_SCRIPTS} scripts; the patterns match ${scripts.length}.`,
    );
  }
  return scripts;
}

/** Returns a session for concurrent runs: they write nothing to the terminal and never prompt. */
export function silence(session: Session): Session {
  return Object.create(session, {
    json: { value: true },
    stdin: { value: Readable.from([]) },
    during: { value: (_text: unknown, work: unknown) => work },
  });
}

/** Returns the artifacts folder for one of several scripts. */
export function artifactsOf(folder: string, script: string): string {
  const inside = relative("", script);
  if (!inside.startsWith("..")) return join(folder, inside);
  throw usageFailure(
    `--artifacts with several scripts needs scripts below the current folder; found ${script}.`,
  );
}

export interface SuiteRun extends RunEnding {
  paths: readonly string[];
}

export interface SuiteOptions {
  scripts: readonly string[];
  jobs: number;
  reporters: readonly Reporter[];
  reportFile: string | undefined;
}

/** Runs every script and returns the highest exit code. */
export async function runSuite(
  session: Session,
  { scripts, jobs, ...output }: SuiteOptions,
  runOne: (script: string) => Promise<SuiteRun>,
): Promise<ExitCode> {
  const shown = openReport(session, output);
  const startedAt = performance.now();
  const entries: SuiteEntry[] = [];
  let next = 0;
  async function work(): Promise<void> {
    for (let at = next++; at < scripts.length; at = next++) {
      const entry = await runEntry(session, scripts[at] as string, runOne);
      entries[at] = entry;
      shown.add(entry);
    }
  }
  try {
    await Promise.all(Array.from({ length: jobs }, work));
  } finally {
    shown.end(entries, performance.now() - startedAt);
  }
  return Math.max(...entries.map(({ exitCode }) => exitCode)) as ExitCode;
}

async function runEntry(
  session: Session,
  script: string,
  runOne: (script: string) => Promise<SuiteRun>,
): Promise<SuiteEntry> {
  const startedAt = performance.now();
  const run = session.signal.aborted ? notRun(killedReport(null)) : await tryRun(session, script, runOne);
  const { report, failure, paths, exitCode } = run;
  const { stdout, stderr } = report;
  const kept = { ...report, stdout: keepEnd(stdout), stderr: keepEnd(stderr) };
  const wallMs = Math.round(performance.now() - startedAt);
  return { script, report: kept, exitCode, wallMs, problems: listProblems(script, report, failure, paths) };
}

type Tried = SuiteRun & { exitCode: ExitCode };

const notRun = (report: RunReport, exitCode: ExitCode = exitCodeOfRun(report)): Tried => ({
  report,
  failure: null,
  paths: [],
  exitCode,
});

async function tryRun(
  session: Session,
  script: string,
  runOne: (script: string) => Promise<SuiteRun>,
): Promise<Tried> {
  try {
    const run = await runOne(script);
    const ended = exitCodeOfRun(run.report);
    return { ...run, exitCode: ended === EXIT.ok && run.failure !== null ? EXIT.failed : ended };
  } catch (error) {
    if (session.signal.aborted) return notRun(killedReport(null));
    const { code, message, exitCode } = toFailure(error, session.url);
    return notRun({ ...emptyReport(null), exitState: "failed", reason: code, error: message }, exitCode);
  }
}

function keepEnd(text: string): string {
  return text.length <= MAX_KEPT ? text : `[the beginning was cut off]\n${text.slice(-MAX_KEPT)}`;
}

function listProblems(
  script: string,
  report: RunReport,
  failure: Failure | null,
  paths: readonly string[],
): Problem[] {
  const problems: Problem[] = [];
  if (report.exitState !== "success") {
    const code = report.reason ?? report.exitState ?? "failed";
    const place = locate(script, paths, report.errorDetail ?? {});
    problems.push({ level: "error", message: describeError(report), code, ...place });
  }
  if (failure !== null) {
    problems.push({ level: "error", message: failure.message, code: failure.code, file: script });
  }
  for (const { message, code, ...place } of report.warnings) {
    problems.push({ level: "warning", message, code, ...locate(script, paths, place) });
  }
  return problems;
}

/**
 * Returns the position with the file's path on disk. A run names imported files relative to a folder that contains all
 * of them, so the shortest path that ends with the name is the right one. An unknown name, which a script may have made
 * up, is replaced by the script's own path.
 */
function locate(
  script: string,
  paths: readonly string[],
  {
    file,
    line,
    column,
  }: Partial<Record<"line" | "column", number | null | undefined>> & Pick<RunWarning, "file">,
): Pick<Problem, "file" | "line" | "column"> {
  const known = [script, ...paths]
    .filter((path) => file === undefined || `/${path}`.endsWith(`/${file}`))
    .sort((a, b) => (file === undefined ? 0 : a.length - b.length))[0];
  if (known === undefined) return { file: script };
  return {
    file: relative("", known),
    ...(line != null && { line }),
    ...(line != null && column != null && { column }),
  };
}

/** @throws Failure for reporters that cannot be combined */
function openReport(session: Session, { reporters, reportFile }: Omit<SuiteOptions, "scripts" | "jobs">) {
  const { json, stdout, stderr } = session;
  const asked = reporters.filter((reporter) => reporter !== "github");
  const [main = json ? "json" : undefined, another] = asked;
  const isForGithub = reporters.includes("github");
  if (another !== undefined)
    throw usageFailure("Only one of the reporters junit, json and tap can be given.");
  if (main === undefined && reportFile !== undefined) {
    throw usageFailure("--report-file needs --reporter junit, json or tap.");
  }
  if (isForGithub && main !== undefined && reportFile === undefined) {
    throw usageFailure(`github and ${main} both write to standard output. Give --report-file.`);
  }
  if (reportFile !== undefined) mkdirSync(dirname(reportFile), { recursive: true });
  const lines = main !== undefined && reportFile === undefined ? stderr : stdout;
  // Between these lines GitHub ignores workflow commands that a script wrote. Scripts cannot guess the word.
  const word = randomUUID();
  if (isForGithub) stdout.write(`::stop-commands::${word}\n`);
  return {
    add(entry: SuiteEntry): void {
      if (!json) lines.write(describeEntry(entry, lines));
    },
    end(entries: readonly SuiteEntry[], wallMs: number): void {
      if (!json) lines.write(describeTotals(entries, wallMs));
      if (isForGithub) stdout.write(`::${word}::\n${listAnnotations(entries)}`);
      if (main === undefined) return;
      const text = REPORTS[main](entries, wallMs);
      if (reportFile === undefined) stdout.write(text);
      else writeFileSync(reportFile, text);
    },
  };
}
