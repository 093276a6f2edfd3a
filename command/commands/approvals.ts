/** `cyrnel approvals`: calls and questions that wait for a person. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { describeOrigin } from "#client/visible-text.ts";
import { act } from "../act.ts";
import { usageFailure } from "../failure.ts";
import { parseWhole } from "../options.ts";
import { safeJson, safeLine } from "../output/safe-text.ts";
import { formatFacts, formatTable } from "../output/table.ts";
import { ago, until } from "../output/times.ts";
import { readAll } from "../pages.ts";
import type { Session, Shell } from "../session.ts";

export function addApprovals(program: Command, shell: Shell): void {
  const approvals = program
    .command("approvals")
    .alias("approval")
    .summary("decide about calls that wait for a person")
    .description("Calls and questions of scripts that wait for a person.");
  approvals
    .command("list")
    .alias("ls")
    .summary("list what waits")
    .description("Lists what waits for a decision; with --all also what was decided.")
    .option("-a, --all", "also what was decided")
    .action(act(shell, list));
  approvals
    .command("show")
    .summary("print what one is about")
    .description("Prints what an approval is about, with the parameters of the call.")
    .argument("<id>", "id of the approval")
    .action(act(shell, show));
  approvals
    .command("approve")
    .summary("approve; the run goes on")
    .description("Approves a call, or answers a question; the run goes on.")
    .argument("<id>", "id of the approval")
    .option("--data <json>", "answer to a question")
    .option("--remember <for>", "allow further calls of the tool: process, or tool")
    .option("--minutes <count>", "with --remember: for how long (default: 60)", parseWhole)
    .addHelpText(
      "after",
      "\nExamples:\n  cyrnel approvals approve <id>\n  cyrnel approvals approve <id> --remember tool --minutes 30",
    )
    .action(act(shell, approve));
  approvals
    .command("deny")
    .summary("deny; the script is told")
    .description("Denies a call or a question; the script is told.")
    .argument("<id>", "id of the approval")
    .option("--reason <text>", "why, for the script")
    .action(act(shell, deny));
}

async function list(session: Session, { all }: { all?: true }): Promise<void> {
  const approvals = await readAll(async (query) => {
    const params = { query: { ...query, ...(!all && { state: "pending" as const }) } };
    const page = unwrap(await session.client.GET("/approvals", { params }));
    return { items: page.approvals, nextCursor: page.nextCursor };
  });
  session.print({ approvals }, (answer) =>
    formatTable(
      session.stdout,
      ["ID", "STATE", "PROCESS", "TOOL", "ASKED", "EXPIRES", "REQUEST"],
      answer.approvals.map((one) => [
        one.id,
        one.state,
        one.processId,
        one.toolId === null ? "question" : `${one.serviceId}.${one.toolId}`,
        ago(one.createdAt),
        one.state === "pending" ? until(one.expiresAt) : null,
        one.kind === "ask" ? `${describeOrigin(one)}: ${one.message}` : describeOrigin(one),
      ]),
      "Nothing waits for a decision.",
    ),
  );
}

async function show(session: Session, id: string): Promise<void> {
  const approval = unwrap(await session.client.GET("/approvals/{id}", { params: { path: { id } } }));
  session.print(approval, (one) =>
    formatFacts(session.stdout, [
      ["request", `${describeOrigin(one)}:`],
      ["id", one.id],
      ["state", one.state],
      ["process", one.processId],
      ["tool", one.toolId === null ? "question" : `${one.serviceId}.${one.toolId}`],
      ["may change", one.destructive],
      one.kind === "ask" ? ["in its words", one.message] : ["parameters", safeJson(one.parameters ?? null)],
      ...(one.schema === null ? [] : [["answer", safeJson(one.schema)] as const]),
      ["run by", one.startedBy],
      ["asked", ago(one.createdAt)],
      ["decided by", one.decidedBy],
      ["reason", one.reason],
    ]),
  );
}

interface ApproveFlags {
  data?: string;
  remember?: string;
  minutes?: number;
}

async function approve(
  session: Session,
  id: string,
  { data, remember, minutes }: ApproveFlags,
): Promise<void> {
  const body = {
    ...(data !== undefined && { data: parseAnswer(data) }),
    ...(remember !== undefined && {
      remember: { for: parseRemember(remember), minutes: minutes ?? 60 },
    }),
  };
  if (minutes !== undefined && remember === undefined) throw usageFailure("--minutes needs --remember.");
  const params = { path: { id } };
  const decided = unwrap(await session.client.POST("/approvals/{id}/approve", { params, body }));
  session.print(decided, (one) => `${safeLine(one.id)} is approved; process ${one.processId} goes on.\n`);
}

async function deny(session: Session, id: string, { reason }: { reason?: string }): Promise<void> {
  const params = { path: { id } };
  const body = reason === undefined ? {} : { reason };
  const decided = unwrap(await session.client.POST("/approvals/{id}/deny", { params, body }));
  session.print(decided, (one) => `${safeLine(one.id)} is denied; process ${one.processId} is told.\n`);
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageFailure(`--data must be JSON: ${(error as Error).message}`);
  }
}

function parseRemember(text: string): "process" | "tool" {
  if (text === "process" || text === "tool") return text;
  throw usageFailure(`--remember is process or tool; found "${text}".`);
}
