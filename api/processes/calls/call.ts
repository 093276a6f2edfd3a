/**
 * One tool call of a run: plan ► (pause ► plan again) ► journal ► perform ► journal. A replayed call gets its
 * journaled reply.
 */
import type { Redactor } from "#api/secrets/redactor.ts";
import type { AskedCall, CallPlan, CallRefusal, OpenCall, ToolCall, ToolCalls } from "#api/tools/contract.ts";
import type { OpenStream, SavedAnswer } from "#sdk";
import { NO_APPROVALS, RUN_HAS_ENDED, refuseUnlessApproved } from "../live/approvals.ts";
import type { CallLog, LoggedCall } from "../live/calls.ts";
import type { CallReply, RunApproval } from "../model/calls.ts";
import { digestCall } from "../model/digest.ts";
import type { ArtifactSource } from "../model/files.ts";
import type { ApprovalStore } from "../pausing/approvals.ts";
import type { PauseController } from "../pausing/controller.ts";
import { readReply, runEnded, toReply } from "./errors.ts";

const MAX_MESSAGE_CHARACTERS = 4000;

export interface ApprovalParts {
  approvalStore: ApprovalStore;
  redactor: Pick<Redactor, "text">;
}

export interface RequestingRun {
  readonly id: number;
  readonly calls: CallLog;
  /**
   * Restores a file saved from an answer before the replay into the workspace. Rejects if the file no longer exists.
   */
  restoreAnswer(seq: number): Promise<ArtifactSource>;
  /** Returns null if the run has asked no approver and is not a replay. */
  findPauses(): PauseController | null;
  /** Returns null if the run has ended or no approver can be asked here. */
  openPauses(): PauseController | null;
}

export class RunCall {
  readonly #tools: ToolCalls;
  readonly #run: RequestingRun;
  readonly #logged: LoggedCall;
  readonly #parts: ApprovalParts | null;
  #approval: RunApproval | null = null;
  #hasReply = false;

  constructor(tools: ToolCalls, run: RequestingRun, logged: LoggedCall, parts: ApprovalParts | null) {
    this.#tools = tools;
    this.#run = run;
    this.#logged = logged;
    this.#parts = parts;
  }

  async make(given: ToolCall): Promise<unknown> {
    const reply = this.#run.findPauses()?.journal.replyTo(this.#logged) ?? null;
    if (reply !== null) return this.#replay(reply);
    return whileOpen(this.#run, async () => {
      let value: unknown;
      try {
        value = await this.#callTool(given);
      } catch (error) {
        await this.#recordReply(toReply(error));
        throw error;
      }
      const { isSaved, saved } = this.#logged;
      await this.#recordReply({ ok: true, value, ...(isSaved && { savedBytes: saved?.size ?? null }) });
      return value;
    });
  }

  async #callTool(given: ToolCall): Promise<unknown> {
    const tools = this.#tools;
    const wasAsked = this.#run.findPauses()?.wasAsked(this.#logged.seq);
    const { openStream } = given;
    const call = tools.open({
      ...given,
      wasAsked,
      openStream: openStream && this.#recordStreams(openStream),
    });
    let plan = await this.#plan(call);
    if (plan.asked !== null) {
      const refusal = await this.#pause(plan.asked, call);
      if (refusal !== null) throw tools.refuse(call, refusal);
      // Plan again: the approval may have taken days.
      plan = await tools.plan(call, plan);
    }
    const refusal = await this.#begin(plan);
    if (refusal !== null) throw tools.refuse(call, refusal);
    return tools.perform(plan);
  }

  async #plan(call: OpenCall): Promise<CallPlan> {
    try {
      return await this.#tools.plan(call);
    } finally {
      this.#logged.resolve(call);
    }
  }

  /** Waits for an approver. Returns why the call was rejected, or null if it was approved. */
  async #pause(asked: AskedCall, call: OpenCall): Promise<CallRefusal | null> {
    const parts = this.#parts;
    if (parts === null) return NO_APPROVALS;
    const pauses = this.#run.openPauses();
    if (pauses === null) {
      this.#tools.refuse(call, RUN_HAS_ENDED);
      throw runEnded();
    }
    const { parameters, files, destructive, policyId } = asked;
    const { seq, serviceId, toolId } = this.#logged;
    const digest = digestAsked(this.#logged, asked);
    const prepare = () =>
      parts.approvalStore.prepare({
        processId: this.#run.id,
        run: pauses.name.run,
        seq,
        kind: "call",
        path: { serviceId, toolId },
        destructive,
        digest,
        message: describeCall(this.#logged, asked, parts.redactor),
        content: { parameters, ...(files.length > 0 && { files }) },
        policyId,
      });
    const decision = await pauses.ask({ seq, digest, prepare, signal: call.signal });
    if ("refusal" in decision) return decision.refusal;
    this.#approval = decision.approval;
    return refuseUnlessApproved(decision.approval, `the call of ${serviceId}.${toolId}`);
  }

  /** Returns why the call must not start, or null. */
  async #begin({ destructive }: CallPlan): Promise<CallRefusal | null> {
    this.#logged.called(destructive);
    const pauses = this.#run.findPauses();
    return pauses === null ? null : pauses.journal.begin(this.#logged, this.#approval?.id ?? null);
  }

  async #recordReply(given: CallReply): Promise<void> {
    if (this.#hasReply) return;
    const { httpStatus } = this.#logged;
    const reply = httpStatus === null ? given : { ...given, httpStatus };
    const pauses = this.#run.findPauses();
    if (pauses === null) this.#logged.replied(reply);
    else await pauses.journal.end(this.#logged, reply);
    if (this.#approval !== null) pauses?.recordReply();
  }

  /** For a streamed answer, the reply is the response head, which the script gets before the body. */
  #recordStreams(open: OpenStream): OpenStream {
    return () => {
      const stream = open();
      if (stream === null) return null;
      return async (answer, bytes) => {
        await this.#recordReply({ ok: true, value: answer, savedBytes: null });
        this.#hasReply = true;
        this.#logged.streaming(answer);
        await stream({ answer, size: null } satisfies SavedAnswer, bytes);
      };
    };
  }

  async #replay(reply: CallReply): Promise<unknown> {
    const logged = this.#logged;
    if (reply.httpStatus !== undefined) logged.answered(reply.httpStatus);
    if (!reply.ok || typeof reply.savedBytes !== "number") return readReply(reply);
    try {
      logged.saved = await this.#run.restoreAnswer(logged.seq);
    } catch {
      return readReply(this.#run.findPauses()?.journal.lose(logged) ?? reply);
    }
    return reply.value;
  }
}

/** Marks a request as open while `work` runs. A run with open requests cannot be handed over to a later child. */
export async function whileOpen<T>(run: RequestingRun, work: () => Promise<T>): Promise<T> {
  run.calls.open += 1;
  try {
    return await work();
  } finally {
    run.calls.open -= 1;
    run.findPauses()?.requestEnded();
  }
}

/**
 * Computes the digest that identifies a call. On replay, a `fetch` request may resolve to another tool, or a file may
 * have changed; the digest then differs, and so it is a different call.
 */
function digestAsked(call: LoggedCall, { files, request }: AskedCall): Buffer {
  if (files.length === 0 && request === undefined) return call.digest;
  const { serviceId, toolId } = call;
  const contents = files.map(({ name, sha256 }) => [name, sha256]);
  return digestCall({ serviceId, toolId }, [call.digest.toString("hex"), contents], undefined);
}

function describeCall(
  { serviceId, toolId }: LoggedCall,
  { request }: AskedCall,
  redactor: Pick<Redactor, "text">,
): string {
  const what = request === undefined ? "" : `: ${request}`;
  const text = redactor.text(`The script wants to call ${serviceId}.${toolId}${what}`);
  return text.length <= MAX_MESSAGE_CHARACTERS - 1
    ? `${text}.`
    : `${text.slice(0, MAX_MESSAGE_CHARACTERS - 1)}…`;
}
