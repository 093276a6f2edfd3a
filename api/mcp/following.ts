/**
 * Waits for a run as long as the client does: reports progress, and lets the client's user decide approvals if the
 * key may.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ClientCapabilities,
  type ElicitRequest,
  type ElicitResult,
  ElicitResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { ApprovalRecord } from "../approvals/model.ts";
import { mayDecide } from "./deciding.ts";
import { canElicit, describeForm, readDecision } from "./elicitation.ts";
import type { McpPorts, RequestContext } from "./ports.ts";

/** Accepts any content, because large integers in it are not numbers; the approval's schema validates it. */
const AnswerSchema = ElicitResultSchema.extend({
  content: z.unknown().optional(),
}) as unknown as typeof ElicitResultSchema;
const PATIENCE_MS = 50_000;
/** Used when the client receives progress, because progress extends the client's own time limit. */
const PATIENCE_WITH_PROGRESS_MS = 300_000;
const MAX_PATIENCE_MS = 600_000;
const PROGRESS_INTERVAL_MS = 5000;
/** Interval for checking whether the approval was decided elsewhere, which withdraws the question. */
const DECIDED_ELSEWHERE_MS = 1000;
const RESUMING_MS = 50;
const MAX_WAIT_MS = 60_000;

/** Key in the request's `_meta` for how long the client waits. */
export const PATIENCE_KEY = "cyrnel/patienceMs";

export interface ClientLink {
  capabilities: ClientCapabilities | undefined;
  progressToken: string | number | undefined;
  patienceMs: unknown;
  notify(progress: { progressToken: string | number; progress: number; message: string }): Promise<void>;
  ask(
    request: ElicitRequest,
    schema: typeof ElicitResultSchema,
    options: { signal: AbortSignal; timeout: number },
  ): Promise<ElicitResult>;
}

/**
 * Resolves when the process is idle or is paused with nothing to ask here, when the client's time is over, or when
 * the client has disconnected. `answered` lists decided approvals, after which the run is about to continue. With
 * `asksPerson: false` no question is sent.
 */
export async function followRun(
  ports: McpPorts,
  id: number,
  link: ClientLink,
  context: RequestContext,
  { answered = [], asksPerson = true }: { answered?: readonly string[]; asksPerson?: boolean } = {},
): Promise<void> {
  const { processes, approvals } = ports;
  const done = new Set(answered);
  const startMs = performance.now();
  const deadlineMs = startMs + patienceOf(link);
  let state = "queued";
  const progress = startProgress(link, startMs, () => `Process ${id} is ${state}.`);
  try {
    for (;;) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0 || context.signal.aborted) return;
      const now = await processes.wait(id, Math.ceil(Math.min(leftMs, MAX_WAIT_MS)), context);
      state = now.state;
      if (state === "idle") return;
      if (state !== "paused") continue;
      const open = now.approvals.find((approval) => !done.has(approval));
      if (open === undefined) {
        await sleep(RESUMING_MS, undefined, { signal: context.signal }).catch(() => {});
        continue;
      }
      if (!asksPerson) return;
      const approval = await approvals.get(open, context);
      const timeoutMs = deadlineMs - performance.now();
      if (!(await askPerson(ports, approval, link, context, timeoutMs))) return;
      done.add(open);
    }
  } finally {
    clearInterval(progress);
  }
}

function patienceOf({ patienceMs, progressToken }: ClientLink): number {
  if (typeof patienceMs === "number" && patienceMs >= 0) return Math.min(patienceMs, MAX_PATIENCE_MS);
  return progressToken === undefined ? PATIENCE_MS : PATIENCE_WITH_PROGRESS_MS;
}

/** Reports at once, so that a client that gives up early knows the process, and then every few seconds. */
function startProgress(link: ClientLink, startMs: number, describe: () => string) {
  const { progressToken } = link;
  if (progressToken === undefined) return undefined;
  const tell = () => {
    const progress = Math.round(performance.now() - startMs) / 1000;
    link.notify({ progressToken, progress, message: describe() }).catch(() => {});
  };
  tell();
  return setInterval(tell, PROGRESS_INTERVAL_MS);
}

/** Returns true once the approval is decided, here or elsewhere. */
async function askPerson(
  ports: McpPorts,
  approval: ApprovalRecord,
  link: ClientLink,
  context: RequestContext,
  timeoutMs: number,
): Promise<boolean> {
  const { approvals } = ports;
  const { id } = approval;
  if (approval.state !== "pending") return true;
  const form = canElicit(link.capabilities) ? describeForm(approval) : null;
  if (form === null || timeoutMs <= 0 || mayDecide(ports, approval, context) !== "may") return false;

  const decidedElsewhere = new AbortController();
  const watch = setInterval(() => {
    approvals.get(id, context).then(
      ({ state }) => state !== "pending" && decidedElsewhere.abort(),
      () => decidedElsewhere.abort(),
    );
  }, DECIDED_ELSEWHERE_MS);
  try {
    const answer = await link.ask({ method: "elicitation/create", params: form }, AnswerSchema, {
      signal: AbortSignal.any([context.signal, decidedElsewhere.signal]),
      timeout: Math.ceil(timeoutMs),
    });
    const decision = readDecision(approval, answer);
    if (decision === null) return false;
    await approvals.decide(id, decision, context);
    return true;
  } catch (error) {
    // Either a late or invalid response or a decision elsewhere; the approval's state tells which.
    ports.log.debug(
      { err: error, approval: id, requestId: context.requestId },
      "no decision at the MCP client",
    );
    return (await approvals.get(id, context)).state !== "pending";
  } finally {
    clearInterval(watch);
  }
}
