/** What can be done with approvals: list, read, decide once, follow live, let them expire. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Db, Pool } from "#api/db/pool.ts";
import type { JSONSchema } from "#sdk";
import type { AuditLog } from "../audit/log.ts";
import { AppError } from "../errors.ts";
import type { RememberedRule } from "../policies/service.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { Vault } from "../secrets/vault.ts";
import type { CallCaller, CallGate } from "../tools/gate.ts";
import type { CheckOutcome } from "../tools/validation/validator.ts";
import { answerId } from "./desk.ts";
import { ApprovalFeed } from "./feed.ts";
import type { ApprovalFilter, ApprovalRecord, ApprovalSummary, ApproveBody, DenyBody } from "./model.ts";
import {
  type ApprovalRow,
  decideApproval,
  expireApproval,
  findApproval,
  listApprovals,
  listDecided,
  listDue,
  listOrphans,
} from "./store.ts";
import { type ApprovalWatch, watchApprovals } from "./watch.ts";

const MAX_SWEPT = 200;
/** How long the answer to a decision waits for the run to go on. */
const MAX_MOVE_MS = 1000;
/** Pages that are read for one page of a caller whose role hides most of it. */
const MAX_PAGES_LOOKED_AT = 5;

/** Who decides or reads. `name` is what a decision is signed with: the id of a key, `bootstrap` or `anonymous`. */
export interface Decider extends CallCaller {
  name: string;
}

/** What approvals need of the processes that wait for them. */
export interface WaitingProcesses {
  lockForDecision(db: Db, processId: number): Promise<void>;
  requeue(db: Db, processId: number, approval: string): Promise<boolean>;
  noteRequeued(processId: number): void;
  noteApproval(processId: number, approval: Pick<ApprovalRow, "id" | "state" | "reason">): void;
  whenMoved(processId: number): Promise<void>;
  waitingApprovals(): string[];
}

export interface ApprovalsOptions {
  pool: Pool;
  vault: Pick<Vault, "seal" | "keep" | "recall">;
  redactor: Pick<Redactor, "value" | "text">;
  gate: Pick<CallGate, "canSee">;
  processes: WaitingProcesses;
  /** For `remember`. */
  remember(rule: RememberedRule): Promise<unknown>;
  /** The role of a key, as far as it counts. */
  roleOf(keyId: string): string | null;
  audit: Pick<AuditLog, "record">;
  /** Checks an answer against a schema of the script's. */
  checkAnswer(decider: string, hash: string, schema: JSONSchema, data: unknown): Promise<CheckOutcome>;
  allowSelfApproval: boolean;
  ttlMs: number;
  log: { warn(fields: object, message: string): void };
}

export interface Approvals extends AsyncDisposable {
  list(
    filter: ApprovalFilter,
    page: { before: number | null; limit: number },
    reader: Decider,
  ): Promise<{ approvals: ApprovalSummary[]; next: number | null }>;
  /** Throws AppError `not_found`. */
  get(id: string, reader: Decider): Promise<ApprovalRecord>;
  /** Throws AppError `not_found`, `self_approval`, `already_decided`, `approval_expired`, `invalid_request`. */
  approve(id: string, body: ApproveBody, decider: Decider): Promise<ApprovalRecord>;
  deny(id: string, body: DenyBody, decider: Decider): Promise<ApprovalRecord>;
  follow(lastEventId: string | null, reader: Decider, signal: AbortSignal): AsyncGenerator<string, void>;
  /** A service or its tools have changed: what waits for a tool that is gone expires. */
  forgetTools(serviceId: string): void;
  /** Begins to listen and to let approvals expire. */
  start(): Promise<void>;
  /** One look for what is due; also runs by itself. */
  sweep(): Promise<void>;
}

export function createApprovals(options: ApprovalsOptions): Approvals {
  const { pool, vault, redactor, gate, processes, audit, log } = options;
  const feed = new ApprovalFeed();
  const deciding = new Set<string>();
  let watch: ApprovalWatch | null = null;

  function isVisible(row: ApprovalRow, reader: CallCaller): boolean {
    const { serviceId, toolId } = row;
    return serviceId === null || toolId === null || gate.canSee(reader, { serviceId, toolId });
  }

  async function require(id: string, reader: CallCaller): Promise<ApprovalRow> {
    const row = await findApproval(pool, id);
    if (row === null || !isVisible(row, reader)) throw refuseUnknown(id);
    return row;
  }

  async function toRecord(row: ApprovalRow): Promise<ApprovalRecord> {
    const content = (await vault.recall(pool, "approval", [row.id])).get(row.id) as
      | { parameters?: unknown; schema?: unknown }
      | undefined;
    return {
      ...toSummary(row),
      parameters: redactor.value(content?.parameters ?? null),
      schema: redactor.value(content?.schema ?? null),
    };
  }

  /** Told here and not only by the notice: whoever waits in this server goes on at once. */
  function tell(row: Pick<ApprovalRow, "id" | "processId" | "state" | "reason">, isQueued: boolean): void {
    processes.noteApproval(row.processId, row);
    if (isQueued) processes.noteRequeued(row.processId);
  }

  async function settle(
    id: string,
    decision: { state: "approved" | "denied"; reason: string | null; answer?: unknown },
    row: ApprovalRow,
    decider: Decider,
    beforeTelling: () => Promise<void> = async () => {},
  ): Promise<ApprovalRow> {
    const { state, reason, answer } = decision;
    const owner = { kind: "approval" as const, id: answerId(id) };
    const kept = answer === undefined ? null : { owner, sealed: vault.seal(owner, answer) };
    // The notice of it waits for us.
    deciding.add(id);
    try {
      const { decided, isQueued } = await pool.begin(async (db) => {
        // Sent at once, done in this order.
        const [, decided, isQueued] = await Promise.all([
          processes.lockForDecision(db, row.processId),
          decideApproval(db, id, { state, by: decider.name, reason }),
          processes.requeue(db, row.processId, id),
        ]);
        if (decided !== null && kept !== null) await vault.keep(db, [kept]);
        return { decided, isQueued };
      });
      if (decided !== null) {
        await beforeTelling().finally(() => tell(decided, isQueued));
        // Whoever reads the process next finds it running.
        await Promise.race([
          processes.whenMoved(row.processId),
          sleep(MAX_MOVE_MS, undefined, { ref: false }),
        ]);
        return decided;
      }
    } finally {
      deciding.delete(id);
    }
    return acceptRepeated(id, decision, decider);
  }

  /** Somebody was first: the same decision of the same decider is no conflict. */
  async function acceptRepeated(
    id: string,
    { state, reason, answer }: { state: "approved" | "denied"; reason: string | null; answer?: unknown },
    decider: Decider,
  ): Promise<ApprovalRow> {
    const first = await require(id, decider);
    if (first.state === "pending" || first.state === "expired") {
      if (first.state === "pending") void sweep().catch(() => {});
      throw new AppError(
        "approval_expired",
        `The approval ${id} has expired${first.decidedAt === null ? "" : ` at ${first.decidedAt.toISOString()}`}${first.reason === null ? "" : `: ${first.reason}`} It cannot be decided any more.`,
      );
    }
    const isSame =
      first.state === state &&
      first.decidedBy === decider.name &&
      (state === "approved" ? await isSameAnswer(id, answer) : first.reason === reason);
    if (isSame) return first;
    throw new AppError(
      "already_decided",
      `The approval ${id} was ${first.state} by ${first.decidedBy} at ${first.decidedAt?.toISOString()}. A decision cannot be changed.`,
    );
  }

  async function isSameAnswer(id: string, answer: unknown): Promise<boolean> {
    const kept = await vault.recall(pool, "approval", [answerId(id)]);
    return isDeepStrictEqual(kept.get(answerId(id)), answer);
  }

  async function requireDecidable(id: string, decider: Decider): Promise<ApprovalRow> {
    const row = await require(id, decider);
    // Without any key there is nobody else: everyone on the machine is the same caller.
    const isOwn = row.requestedBy === decider.name && decider.name !== "anonymous";
    if (!isOwn || options.allowSelfApproval) return row;
    throw new AppError(
      "self_approval",
      "The key that created a process cannot decide its approvals. Use another key with the scope approvals:decide, or set CYRNEL_ALLOW_SELF_APPROVAL.",
    );
  }

  async function checkData(row: ApprovalRow, data: unknown, decider: Decider): Promise<unknown> {
    if (row.kind === "call") {
      if (data === undefined) return undefined;
      throw refuseBody([{ path: "body.data", message: "only a question of a script takes an answer" }]);
    }
    const answer = data === undefined ? null : data;
    const content = (await vault.recall(pool, "approval", [row.id])).get(row.id) as
      | { schema?: JSONSchema }
      | undefined;
    const schema = content?.schema ?? null;
    if (schema === null) return answer;
    const hash = createHash("sha256").update(JSON.stringify(schema)).digest("hex");
    const outcome = await options.checkAnswer(decider.name, `ask ${hash}`, schema, answer);
    switch (outcome.kind) {
      case "fits":
        return outcome.parameters;
      case "misfit":
        throw refuseBody(
          outcome.issues.map(({ path, message }) => ({
            path: path.replace(/^parameters/, "body.data"),
            message,
          })),
        );
      default:
        throw refuseBody([
          { path: "body.data", message: "could not be checked against the schema of the question" },
        ]);
    }
  }

  async function rememberRule(
    row: ApprovalRow,
    remember: NonNullable<ApproveBody["remember"]>,
  ): Promise<void> {
    if (row.serviceId === null || row.toolId === null) return;
    await options.remember({
      serviceId: row.serviceId,
      toolId: row.toolId,
      roleId: row.requestedBy.startsWith("key_") ? options.roleOf(row.requestedBy) : null,
      processId: remember.for === "process" ? row.processId : null,
      expiresAt: new Date(Date.now() + remember.minutes * 60_000),
    });
  }

  async function expireAll(
    found: readonly { id: string; processId: number }[],
    reason: string,
  ): Promise<void> {
    for (const { id, processId } of found) {
      const { row, isQueued } = await pool.begin(async (db) => {
        await processes.lockForDecision(db, processId);
        const row = await expireApproval(db, id, reason);
        return { row, isQueued: row !== null && (await processes.requeue(db, processId, id)) };
      });
      if (row === null) continue;
      audit.record({
        actor: { kind: "system" },
        action: "approval.expire",
        object: { kind: "approval", id },
        outcome: "ok",
        processId,
      });
      tell(row, isQueued);
    }
  }

  async function sweep(): Promise<void> {
    await expireAll(await listDue(pool, MAX_SWEPT), "Nobody decided in time.");
    await expireAll(await listOrphans(pool, null, MAX_SWEPT), "The tool was removed.");
    // A notice may have been lost.
    const waiting = processes.waitingApprovals();
    if (waiting.length === 0) return;
    for (const row of await listDecided(pool, waiting)) processes.noteApproval(row.processId, row);
  }

  /** Of a decision that another server may have taken. */
  async function hear(id: string): Promise<void> {
    try {
      const [row] = await listDecided(pool, [id]);
      if (row !== undefined) processes.noteApproval(row.processId, row);
    } catch (error) {
      log.warn({ err: error }, "a decision is looked for again at the next sweep");
    }
  }

  return {
    async list(filter, { before, limit }, reader) {
      const approvals: ApprovalRow[] = [];
      let position = before;
      for (let page = 0; page < MAX_PAGES_LOOKED_AT; page += 1) {
        const rows = await listApprovals(pool, filter, { before: position, limit: limit + 1 });
        const shown = rows.slice(0, limit);
        for (const row of shown) {
          if (approvals.length === limit) break;
          if (isVisible(row, reader)) approvals.push(row);
          position = row.position;
        }
        const isLast = rows.length <= limit && shown.at(-1)?.position === position;
        if (isLast || rows.length === 0) return { approvals: approvals.map(toSummary), next: null };
        if (approvals.length === limit) break;
      }
      return { approvals: approvals.map(toSummary), next: position };
    },
    get: async (id, reader) => toRecord(await require(id, reader)),
    async approve(id, { data, remember }, decider) {
      const row = await requireDecidable(id, decider);
      if (remember !== undefined && row.kind === "ask") {
        throw refuseBody([{ path: "body.remember", message: "only a tool call can be remembered" }]);
      }
      const answer = row.state === "pending" ? await checkData(row, data, decider) : data;
      // After the decision, because a refused one must not open anything; before the run goes on and asks again.
      const beforeTelling = async () => {
        if (remember !== undefined) await rememberRule(row, remember);
      };
      return toRecord(
        await settle(id, { state: "approved", reason: null, answer }, row, decider, beforeTelling),
      );
    },
    async deny(id, { reason = null }, decider) {
      const row = await requireDecidable(id, decider);
      return toRecord(
        await settle(
          id,
          { state: "denied", reason: reason === null ? null : redactor.text(reason) },
          row,
          decider,
        ),
      );
    },
    follow: (lastEventId, reader, signal) =>
      feed.follow(
        lastEventId,
        async (id) => {
          const row = await findApproval(pool, id);
          return row === null || !isVisible(row, reader) ? null : JSON.stringify(toSummary(row));
        },
        signal,
      ),
    forgetTools(serviceId) {
      void listOrphans(pool, serviceId, MAX_SWEPT)
        .then((found) => expireAll(found, "The tool was removed."))
        .catch((error) => log.warn({ err: error }, "approvals of removed tools expire at the next sweep"));
    },
    async start() {
      watch = await watchApprovals(pool, {
        ttlMs: options.ttlMs,
        sweep,
        changed({ id, state }) {
          feed.note(id);
          if (state !== "pending" && !deciding.has(id)) void hear(id);
        },
        log,
      });
    },
    sweep,
    async [Symbol.asyncDispose]() {
      feed.close();
      await watch?.[Symbol.asyncDispose]();
    },
  };
}

function toSummary(row: ApprovalRow): ApprovalSummary {
  const { id, processId, kind, serviceId, toolId, destructive, message, state, requestedBy, policyId } = row;
  return {
    id,
    processId,
    kind,
    serviceId,
    toolId,
    destructive,
    message,
    state,
    requestedBy,
    policyId,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    decidedAt: row.decidedAt?.toISOString() ?? null,
    decidedBy: row.decidedBy,
    reason: row.reason,
    usedAt: row.usedAt?.toISOString() ?? null,
  };
}

function refuseUnknown(id: string): AppError {
  return new AppError("not_found", `There is no approval ${id}. GET /approvals lists them.`);
}

function refuseBody(issues: { path: string; message: string }[]): AppError {
  const sentence = issues.map(({ path, message }) => `${path} ${message}`).join("; ");
  return new AppError("invalid_request", `The request is not valid: ${sentence}.`, { issues });
}
