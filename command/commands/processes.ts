/** `cyrnel ps`, `logs`, `kill`, `rm`: server processes. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import type { components } from "#client/schema.ts";
import { EXIT, type ExitCode, usageFailure } from "../failure.ts";
import { parseId, parseWhole } from "../options.ts";
import { openRunOutput } from "../run/report.ts";
import { act, type Session, type Shell } from "../session.ts";
import { ago, took } from "../table.ts";
import { addCommand, changeEach, examples, printList } from "./resource.ts";

type Summary = components["schemas"]["ProcessSummary"];
type Selected = { stdout?: true; stderr?: true; follow?: true };

const STATES = "queued, running, paused, terminating, idle";

export function addProcesses(program: Command, shell: Shell): void {
  addCommand(program, "ps", "Lists runs, newest first: those that have not ended, or all with --all.")
    .option("-a, --all", "include ended runs")
    .option("--state <state>", `only this state: ${STATES}`)
    .option("--ref <label>", "only this label")
    .option("-n, --limit <count>", "limit of entries", parseWhole)
    .addHelpText("after", examples("cyrnel ps", "cyrnel ps --all --limit 5 --json"))
    .action(act(shell, list));
  addCommand(program, "logs", "Prints the output of a run: its stdout on stdout, its stderr on stderr.")
    .argument("<id>", "number of the run", parseId)
    .option("-f, --follow", "follow until it ends")
    .option("--stdout", "only this stream")
    .option("--stderr", "only this stream")
    .addHelpText(
      "after",
      examples("cyrnel logs 12", "cyrnel logs -f 12", "cyrnel logs 12 --stdout > out.txt"),
    )
    .action(act(shell, logs));
  addCommand(program, "kill", "Kills queued, running or paused runs.")
    .argument("<id...>", "numbers of runs")
    .addHelpText("after", examples("cyrnel kill 12 13"))
    .action(
      changeEach(
        shell,
        "Process",
        "killed",
        (client, params) => client.POST("/processes/{id}/signals/kill", { params }),
        parseId,
      ),
    );
  addCommand(program, "rm", "Deletes ended runs with their results and logs.")
    .argument("<id...>", "numbers of runs")
    .addHelpText("after", examples("cyrnel rm 12 13"))
    .action(
      changeEach(
        shell,
        "Process",
        "deleted",
        (client, params) => client.DELETE("/processes/{id}", { params }),
        parseId,
      ),
    );
}

interface ListFlags {
  all?: true;
  state?: string;
  ref?: string;
  limit?: number;
}

const UNENDED = ["running", "queued", "paused", "terminating"];
const DEFAULT_LIMIT = 20;

async function list(session: Session, { all, state, ref, limit = DEFAULT_LIMIT }: ListFlags): Promise<void> {
  const states = state !== undefined ? [state] : all || ref !== undefined ? [undefined] : UNENDED;
  const pages = await Promise.all(states.map((one) => readPage(session, one, ref, limit)));
  const processes = pages
    .flat()
    .sort((a, b) => b.id - a.id)
    .slice(0, limit);
  printList(
    session,
    "processes",
    processes,
    all
      ? "No runs yet. Start one: cyrnel run script.ts"
      : "Nothing is running. To see ended runs: cyrnel ps --all",
    {
      ID: (one) => one.id,
      STATE: (one) => one.state,
      ENDED: (one) => (one.exitState === null ? null : (one.reason ?? one.exitState)),
      REF: (one) => one.ref,
      CREATED: (one) => ago(one.createdAt),
      TOOK: (one) => took(one.startedAt, one.completedAt),
      ERROR: (one) => one.error,
    },
  );
}

async function readPage(
  { client }: Session,
  state: string | undefined,
  ref: string | undefined,
  limit: number,
): Promise<Summary[]> {
  const query = {
    limit: String(limit),
    ...(state !== undefined && { state: state as Summary["state"] }),
    ...(ref !== undefined && { ref }),
  };
  return unwrap(await client.GET("/processes", { params: { query } })).processes;
}

async function logs(session: Session, id: number, { follow, stdout, stderr }: Selected): Promise<ExitCode> {
  if (session.json && follow) throw usageFailure("--json and --follow cannot be combined.");
  const shows = { stdout: stdout || !stderr, stderr: stderr || !stdout };
  if (!follow) {
    const record = unwrap(
      await session.client.GET("/processes/{id}", { params: { path: { id: String(id) } } }),
    );
    const kept = {
      ...(shows.stdout && { stdout: record.stdout }),
      ...(shows.stderr && { stderr: record.stderr }),
    };
    if (session.json) session.print(kept, () => "");
    show(session, kept);
    return EXIT.ok;
  }
  const output = openRunOutput(session);
  for await (const { event, data } of session.client.events(id, { signal: session.signal })) {
    if (event === "stdout" && shows.stdout) output.stdout(data.text);
    else if (event === "stderr" && shows.stderr) output.stderr(data.text);
  }
  output.end();
  return EXIT.ok;
}

function show(session: Session, { stdout = "", stderr = "" }: { stdout?: string; stderr?: string }): void {
  const output = openRunOutput(session);
  output.stdout(stdout);
  output.stderr(stderr);
  output.end();
}
