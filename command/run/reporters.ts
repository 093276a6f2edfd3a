/**
 * Report formats for several scripts. Everything in them that a script chose is untrusted: it must not be able to end
 * its own entry and begin another.
 */
import { visibleJson, visibleLine, visibleText } from "#client/visible-text.ts";
import { EXIT, type ExitCode } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import type { RunReport } from "./report.ts";

export interface Problem {
  level: "error" | "warning";
  message: string;
  code: string;
  file: string;
  line?: number;
  column?: number;
}

export interface SuiteEntry {
  script: string;
  report: RunReport;
  exitCode: ExitCode;
  wallMs: number;
  /** The error that ended the run comes first. */
  problems: Problem[];
}

type Report = (entries: readonly SuiteEntry[], wallMs: number) => string;

const MAX_SHOWN_LINES = 50;
const MAX_SHOWN_RESULT = 200;
/** Exit codes that mean the script could not be run, rather than that it failed. */
const NOT_RUN = new Set<ExitCode>([EXIT.usage, EXIT.unavailable, EXIT.notAllowed, EXIT.isolation]);

export function describeEntry(
  { script, report, exitCode, wallMs, problems }: SuiteEntry,
  to: Terminal,
): string {
  const isOk = exitCode === EXIT.ok;
  const word = isOk ? to.paint("green", "PASS") : to.paint("red", "FAIL");
  const { result, stdout, stderr } = report;
  const value = isOk && result !== null && result !== undefined ? ` ${cut(visibleJson(result))}` : "";
  const lines = problems.map(({ level, message, code, ...place }) =>
    visibleLine(`${level}: ${message} (${formatPlace(place)}) [${code}]`),
  );
  const written = isOk ? [] : [...lastLines("stdout", stdout), ...lastLines("stderr", stderr)];
  const details = [...lines, ...written].map((line) => `  ${line}\n`).join("");
  return `${word} ${visibleLine(script)} (${wallMs} ms)${value}\n${details}`;
}

export function describeTotals(entries: readonly SuiteEntry[], wallMs: number): string {
  const failed = countFailed(entries);
  return `${entries.length} scripts: ${entries.length - failed} passed, ${failed} failed (${seconds(wallMs)} s)\n`;
}

const countFailed = (entries: readonly SuiteEntry[]) =>
  entries.filter(({ exitCode }) => exitCode !== EXIT.ok).length;

const cut = (text: string) => (text.length > MAX_SHOWN_RESULT ? `${text.slice(0, MAX_SHOWN_RESULT)}…` : text);

const seconds = (ms: number) => (ms / 1000).toFixed(3);

function formatPlace({ file, line, column }: Pick<Problem, "file" | "line" | "column">): string {
  return [file, line, column].filter((part) => part !== undefined).join(":");
}

function lastLines(stream: string, text: string): string[] {
  if (text.trim() === "") return [];
  const lines = visibleText(text.replaceAll("\r\n", "\n").trimEnd()).split("\n");
  return lines.slice(-MAX_SHOWN_LINES).map((line) => `${stream} | ${line}`);
}

/** Writes GitHub Actions workflow commands. */
export function listAnnotations(entries: readonly SuiteEntry[]): string {
  return entries
    .flatMap(({ script, problems }) =>
      problems.map(({ level, message, code, file, line, column }) => {
        const members = Object.entries({ file, line, col: column, title: `${script}: ${code}` });
        const properties = members
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => `${name}=${escapeProperty(String(value))}`);
        return `::${level} ${properties.join(",")}::${escapeData(visibleText(message))}\n`;
      }),
    )
    .join("");
}

const escapeData = (text: string) =>
  text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

const escapeProperty = (text: string) =>
  escapeData(visibleLine(text)).replaceAll(":", "%3A").replaceAll(",", "%2C");

const XML: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** XML allows neither control characters nor U+FFFE and U+FFFF, not even as references. */
const escapeXml = (text: string) =>
  visibleText(text)
    .replace(/[\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"]/g, (character) => XML[character] as string);

function writeElement(name: string, attributes: Record<string, unknown>, content = ""): string {
  const given = Object.entries(attributes).filter(([, value]) => value !== undefined);
  const written = given.map(([key, value]) => ` ${key}="${escapeXml(visibleLine(String(value)))}"`).join("");
  return content === "" ? `<${name}${written}/>\n` : `<${name}${written}>${content}</${name}>\n`;
}

const writeJunit: Report = (entries, wallMs) => {
  const errors = entries.filter(({ exitCode }) => NOT_RUN.has(exitCode)).length;
  const failures = countFailed(entries) - errors;
  const totals = { tests: entries.length, failures, errors, time: seconds(wallMs) };
  const cases = entries.map(({ script, report, exitCode, wallMs: ms, problems }) => {
    const [first] = problems;
    const kind = NOT_RUN.has(exitCode) ? "error" : "failure";
    const text = problems.map(({ level, message, code, ...place }) =>
      escapeXml(`${formatPlace(place)}: ${level}: ${message} [${code}]\n`),
    );
    const failed = exitCode !== EXIT.ok && first !== undefined;
    const content = [
      failed ? writeElement(kind, { message: first.message, type: first.code }, text.join("")) : "",
      report.stdout === "" ? "" : writeElement("system-out", {}, escapeXml(report.stdout)),
      report.stderr === "" ? "" : writeElement("system-err", {}, escapeXml(report.stderr)),
    ];
    const { line } = first?.file === script ? first : {};
    const names = { classname: "cyrnel", name: script, file: script, line, time: seconds(ms) };
    return writeElement("testcase", names, content.join(""));
  });
  const suite = writeElement("testsuite", { name: "cyrnel", ...totals }, `\n${cases.join("")}`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${writeElement("testsuites", totals, `\n${suite}`)}`;
};

/** Writes TAP 14. Its YAML blocks contain one line of JSON, which is valid YAML. */
const writeTap: Report = (entries) => {
  const points = entries.map(({ script, exitCode, wallMs, problems }, index) => {
    const name = visibleLine(script).replace(/[\\#]/g, "\\$&");
    const members = { duration_ms: wallMs, ...(exitCode !== EXIT.ok && { exitCode }), problems };
    const lines = Object.entries(members).map(([key, value]) => `  ${key}: ${visibleJson(value)}\n`);
    return `${exitCode === EXIT.ok ? "ok" : "not ok"} ${index + 1} - ${name}\n  ---\n${lines.join("")}  ...\n`;
  });
  return `TAP version 14\n1..${entries.length}\n${points.join("")}`;
};

const writeJson: Report = (entries, wallMs) => {
  const exitCode = Math.max(...entries.map((entry) => entry.exitCode));
  const scripts = entries.map(({ report, ...entry }) => ({ ...entry, ...report }));
  return `${visibleJson({ exitCode, wallMs: Math.round(wallMs), scripts })}\n`;
};

export const REPORTS: Record<"junit" | "json" | "tap", Report> = {
  junit: writeJunit,
  json: writeJson,
  tap: writeTap,
};
