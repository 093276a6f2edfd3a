/** `cyrnel audit`: who did what. */
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import { CyrnelError, unwrap } from "#client/errors.ts";
import { usageFailure } from "../failure.ts";
import { parseWhole } from "../options.ts";
import { act, type Session, type Shell } from "../session.ts";
import { ago } from "../table.ts";
import { addCommand, examples, printList } from "./resource.ts";

const OUTCOMES = ["ok", "refused", "failed", "canceled", "unknown"] as const;

interface Filter {
  actor?: string;
  action?: string;
  object?: string;
  outcome?: (typeof OUTCOMES)[number];
  process?: string;
  from?: string;
  to?: string;
}

const DEFAULT_LIMIT = 20;

export function addAudit(program: Command, shell: Shell): void {
  const audit = addCommand(
    program,
    "audit",
    "Reads the audit trail: every change and every call, and who made it.",
  );
  withFilter(addCommand(audit, "list|ls", "Lists records, newest first."))
    .option("-n, --limit <count>", "limit of entries", parseWhole)
    .action(act(shell, list));
  withFilter(addCommand(audit, "export", "Writes records as JSON lines, oldest first."))
    .option("-o, --output <file>", "write to a new file instead of standard output")
    .addHelpText("after", examples("cyrnel audit export --from 2026-11-01T00:00:00Z -o audit.jsonl"))
    .action(act(shell, exportAll));
}

function withFilter(command: Command): Command {
  return command
    .option("--actor <id>", "only of this actor")
    .option("--action <name>", "only this action")
    .option("--object <id>", "only about this object")
    .addOption(new Option("--outcome <outcome>", "only with this outcome").choices(OUTCOMES))
    .option("--process <id>", "only of this process")
    .option("--from <time>", "from this time on, ISO 8601")
    .option("--to <time>", "before this time, ISO 8601");
}

function toQuery({ actor, action, object, outcome, process: processId, from, to }: Filter) {
  return {
    ...(actor !== undefined && { actor }),
    ...(action !== undefined && { action }),
    ...(object !== undefined && { objectId: object }),
    ...(outcome !== undefined && { outcome }),
    ...(processId !== undefined && { processId }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

async function list(
  session: Session,
  { limit = DEFAULT_LIMIT, ...filter }: Filter & { limit?: number },
): Promise<void> {
  const query = { ...toQuery(filter), limit: String(limit) };
  const { records } = unwrap(await session.client.GET("/audit", { params: { query } }));
  const name = (part: { kind: string; id?: string | null }) => [part.kind, part.id].filter(Boolean).join(" ");
  printList(session, "records", records, "No records match.", {
    AT: (one) => ago(one.at),
    ACTOR: (one) => name(one.actor),
    ACTION: (one) => one.action,
    OBJECT: (one) => one.object && name(one.object),
    OUTCOME: (one) => one.outcome,
    CODE: (one) => one.code,
  });
}

async function exportAll(
  session: Session,
  { output, ...filter }: Filter & { output?: string },
): Promise<void> {
  const answer = await session.client.GET("/audit/export", {
    params: { query: toQuery(filter) },
    parseAs: "stream",
    signal: session.signal,
  });
  const { response } = answer;
  const body = answer.data as ReadableStream<Uint8Array> | null | undefined;
  if (!response.ok || body === null || body === undefined) throw new CyrnelError(response, answer.error);
  const counted = { bytes: 0 };
  const source = Readable.fromWeb(body as never).on("data", (chunk: Uint8Array) => {
    counted.bytes += chunk.length;
  });
  const target =
    output === undefined
      ? process.stdout
      : createWriteStream(output, { flags: "wx", mode: 0o600 }).on("error", () => {});
  const writing = pipeline(source, target, { end: output !== undefined }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST")
        throw usageFailure(`${output} already exists. Choose another file.`, "file_exists");
      throw error;
    },
  );
  if (output === undefined) return writing;
  await session.during(() => `Exported ${Math.round(counted.bytes / 1024)} kB`, writing);
  session.print({ output, bytes: counted.bytes }, () => `${counted.bytes} bytes in ${output}\n`);
}
