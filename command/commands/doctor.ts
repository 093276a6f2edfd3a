/** `cyrnel doctor`: the isolation a run would have on this machine, and whether a server could start here. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Command } from "commander";
import { visibleLine } from "#client/visible-text.ts";
import { EXIT, type ExitCode, Failure } from "../failure.ts";
import { act, type Session, type Shell } from "../session.ts";
import type { Terminal } from "../terminal.ts";
import { addCommand, examples } from "./resource.ts";

interface Layer {
  layer: number;
  name: string;
  obtained: boolean;
  required: boolean;
  verified: string;
  fix?: string;
}

/** Output of api/doctor-main.ts. */
interface Answer {
  ok: boolean;
  problems: string[];
  isolation: {
    asked: string;
    obtained: string | null;
    refusals: { level: string; reason: string }[];
    layers: Layer[];
    processes: string | null;
    versions: Record<string, string>;
  };
  database: { kind: string; ok: boolean; found: string; fix?: string } | null;
  egress: { allow: string[]; deny: string[] } | null;
}

const INDENT = "       ";
const MAX_MS = 60_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

export function addDoctor(program: Command, shell: Shell): void {
  addCommand(
    program,
    "doctor",
    "Checks what a server would find on this machine: each isolation layer with its evidence and, if missing, its remedy; the database, the configuration and the egress rules. Exit code 1 if CYRNEL_ISOLATION is not met.",
  )
    .addHelpText("after", examples("cyrnel doctor", "CYRNEL_ISOLATION=standard cyrnel doctor --json"))
    .action(act(shell, doctor));
}

async function doctor(session: Session): Promise<ExitCode> {
  const answer = await session.during("Testing the isolation", askDoctor(session));
  session.print(answer, (value) => describe(session.stdout, value));
  return answer.ok ? EXIT.ok : EXIT.failed;
}

function askDoctor({ shell, signal }: Session): Promise<Answer> {
  const args = ["--no-warnings", join(shell.root, "dist/server/doctor.js")];
  const options = { timeout: MAX_MS, maxBuffer: MAX_ANSWER_BYTES, signal };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout) as Answer);
      } catch {
        const why = stderr.trim().split("\n").at(-1) || (error?.message ?? "no answer");
        reject(new Failure("doctor_failed", `Could not examine this machine: ${why}`));
      }
    });
  });
}

function describe(terminal: Terminal, { ok, problems, isolation, database, egress }: Answer): string {
  const mark = (isGood: boolean, isNeeded = true) =>
    isGood
      ? terminal.paint("green", "ok  ")
      : isNeeded
        ? terminal.paint("red", "FAIL")
        : terminal.paint("yellow", "no  ");
  const lines: string[] = [];
  const section = (title: string) => lines.push("", terminal.paint("bold", title));
  const width = terminal.isTty ? terminal.columns - INDENT.length : Number.POSITIVE_INFINITY;
  const add = (state: string, name: string, found: string, fix?: string) => {
    lines.push(`  ${state} ${name}`, ...wrap(visibleLine(found), width));
    if (fix !== undefined)
      lines.push(
        ...wrap(`to enable it: ${visibleLine(fix)}`, width).map((line) => terminal.paint("cyan", line)),
      );
  };
  lines.push(terminal.paint("bold", "Versions"));
  for (const [name, value] of Object.entries(isolation.versions))
    lines.push(`  ${name}: ${visibleLine(value)}`);
  section(`Isolation (${isolation.asked} required)`);
  for (const { layer, name, obtained, required, verified, fix } of isolation.layers) {
    add(
      mark(obtained, required),
      `${layer} ${name}${required ? ", required" : ""}`,
      verified,
      obtained ? undefined : fix,
    );
  }
  for (const { level, reason } of isolation.refusals) add(mark(false), level, reason);
  if (isolation.processes !== null)
    lines.push("  Processes of runs", ...wrap(visibleLine(isolation.processes), width));
  section("Configuration");
  if (problems.length === 0) lines.push(`  ${mark(true)} no contradictions`);
  for (const problem of problems) lines.push(`  ${mark(false)} ${visibleLine(problem)}`);
  if (database !== null) {
    section("Database");
    add(
      mark(database.ok),
      database.kind === "embedded" ? "embedded Postgres" : "DATABASE_URL",
      database.found,
      database.fix,
    );
  }
  if (egress !== null) {
    section("Egress of adapters and downloads (scripts have none)");
    lines.push(
      "  Public internet: allowed. Private, loopback, link-local and metadata addresses: refused, except:",
    );
    lines.push(
      `  allowed: ${egress.allow.join(", ") || "none"}`,
      `  denied:  ${egress.deny.join(", ") || "none"}`,
    );
  }
  lines.push(
    "",
    ok
      ? `Isolation level ${isolation.asked} is available.`
      : summarize(isolation, problems, database?.ok !== false),
  );
  return `${lines.join("\n")}\n`;
}

/** Wraps at spaces to at most `width` characters per line, unless a word is longer. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(INDENT + line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, INDENT + line];
}

function summarize(
  { asked, obtained }: Answer["isolation"],
  problems: string[],
  isDatabaseGood: boolean,
): string {
  if (obtained !== asked) return `Isolation level ${asked} is not available; ${obtained ?? "none"} is.`;
  if (problems.length > 0) return "A server would not start: see Configuration.";
  return isDatabaseGood ? "Something is missing." : "A server would not start: see Database.";
}
