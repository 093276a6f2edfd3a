/** `cyrnel approvals`: calls and questions that wait for approval. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { readAll } from "#client/pages.ts";
import { describeCall, describeOrigin, visibleJson, visibleLine } from "#client/visible-text.ts";
import { usageFailure } from "../failure.ts";
import { parseJson, parseOneOf, parseWhole } from "../options.ts";
import { act, type Session, type Shell } from "../session.ts";
import { ago, formatFacts, until } from "../table.ts";
import { addCommand, examples, printList } from "./resource.ts";

export function addApprovals(program: Command, shell: Shell): void {
  const approvals = addCommand(
    program,
    "approvals|approval",
    "Decides about calls and questions that wait for approval.",
  );
  addCommand(approvals, "list|ls", "Lists pending approvals; with --all also decided ones.")
    .option("-a, --all", "include decided ones")
    .action(act(shell, list));
  addCommand(approvals, "show", "Prints an approval with the parameters of its call.")
    .argument("<id>", "id of the approval")
    .action(act(shell, show));
  addCommand(approvals, "approve", "Approves a call or answers a question. The run continues.")
    .argument("<id>", "id of the approval")
    .option("--data <json>", "answer to a question")
    .option(
      "--remember <for>",
      "also allow later calls of the tool: process (in this run) or tool (everywhere)",
    )
    .option("--minutes <count>", "duration of --remember (default: 60)", parseWhole)
    .addHelpText(
      "after",
      examples("cyrnel approvals approve <id>", "cyrnel approvals approve <id> --remember tool --minutes 30"),
    )
    .action(act(shell, approve));
  addCommand(approvals, "deny", "Denies a call or a question. It fails with the reason.")
    .argument("<id>", "id of the approval")
    .option("--reason <text>", "reason, shown to the script")
    .action(act(shell, deny));
}

async function list(session: Session, { all }: { all?: true }): Promise<void> {
  const approvals = await readAll("approvals", (query) =>
    session.client.GET("/approvals", {
      params: { query: { ...query, ...(!all && { state: "pending" as const }) } },
    }),
  );
  printList(session, "approvals", approvals, "No approvals waiting.", {
    ID: (one) => one.id,
    STATE: (one) => one.state,
    PROCESS: (one) => one.processId,
    TOOL: describeTool,
    ASKED: (one) => ago(one.createdAt),
    EXPIRES: (one) => (one.state === "pending" ? until(one.expiresAt) : null),
    REQUEST: (one) => {
      const what = one.kind === "ask" ? one.message : describeCall(one);
      return what === null ? describeOrigin(one) : `${describeOrigin(one)}: ${what}`;
    },
  });
}

function describeTool({ serviceId, toolId }: { serviceId: string | null; toolId: string | null }): string {
  return toolId === null ? "question" : `${serviceId}.${toolId}`;
}

async function show(session: Session, id: string): Promise<void> {
  const approval = unwrap(await session.client.GET("/approvals/{id}", { params: { path: { id } } }));
  session.print(approval, (one) =>
    formatFacts(session.stdout, [
      ["request", `${describeOrigin(one)}:`],
      ["id", one.id],
      ["state", one.state],
      ["process", one.processId],
      ["tool", describeTool(one)],
      ["may change", one.destructive],
      ...(describeCall(one) === null ? [] : [["call", describeCall(one)] as const]),
      one.kind === "ask"
        ? ["in its words", one.message]
        : ["parameters", visibleJson(one.parameters ?? null)],
      ...one.files.map(
        ({ name, size, sha256 }) =>
          ["file", `${visibleJson(name)}: ${size} bytes, sha256 ${sha256}`] as const,
      ),
      ...(one.schema === null ? [] : [["answer", visibleJson(one.schema)] as const]),
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
    ...(data !== undefined && { data: parseJson(data, "--data") }),
    ...(remember !== undefined && {
      remember: { for: parseOneOf(remember, ["process", "tool"], "--remember"), minutes: minutes ?? 60 },
    }),
  };
  if (minutes !== undefined && remember === undefined) throw usageFailure("--minutes needs --remember.");
  const params = { path: { id } };
  const decided = unwrap(await session.client.POST("/approvals/{id}/approve", { params, body }));
  session.print(decided, (one) => `${visibleLine(one.id)} is approved; run ${one.processId} continues.\n`);
}

async function deny(session: Session, id: string, { reason }: { reason?: string }): Promise<void> {
  const params = { path: { id } };
  const body = reason === undefined ? {} : { reason };
  const decided = unwrap(await session.client.POST("/approvals/{id}/deny", { params, body }));
  session.print(decided, (one) => `${visibleLine(one.id)} is denied; run ${one.processId} continues.\n`);
}
