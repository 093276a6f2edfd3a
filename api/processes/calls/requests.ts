/** What a script asks of the host, as far as people and repetitions have to do with it: one tool call, one question. */

import type { Redactor } from "#api/secrets/redactor.ts";
import type { AskedCall, CallInRun, CallRefusal } from "#api/tools/gate.ts";
import { settleIntegers } from "#kernel/tool-docs/large-integers.ts";
import type { JSONSchema } from "#sdk";
import type { CallLog, LoggedCall } from "../live/calls.ts";
import { digestCall, digestQuestion } from "../model/digest.ts";
import type { ArtifactSource } from "../model/files.ts";
import type { CallReply, RunApproval } from "../model/records.ts";
import { ToolError } from "../model/tool-host.ts";
import { because } from "../pausing/asking.ts";
import type { Pausing } from "../pausing/pausing.ts";
import type { RunPauses } from "../pausing/run-pauses.ts";

const MAX_MESSAGE_CHARACTERS = 4000;
const MAX_SCHEMA_CHARACTERS = 64 * 1024;

export interface CallRequest extends CallInRun {
  /** What the script is told, without calling anything, when an earlier child of the run has had the reply. */
  repeated(): Promise<unknown> | null;
  /** Makes the call and keeps its reply where that is needed, before the script gets it. */
  carryOut(work: () => Promise<unknown>): Promise<unknown>;
  /** The script is about to get this answer while the call goes on. */
  answer(value: unknown): Promise<void>;
}

/** One run, as far as people and repetitions have to do with it. */
export interface AskingRun {
  readonly id: number;
  readonly calls: CallLog;
  /** Puts the file that an answer became in an earlier child into the workspace. Rejects where it is not there. */
  restoreAnswer(seq: number): Promise<ArtifactSource>;
  /** Null: it has asked no one yet, and repeats nothing. */
  findPauses(): RunPauses | null;
  pauses(): RunPauses;
}

export function createCallRequest(pausing: Pausing, run: AskingRun, call: LoggedCall): CallRequest {
  const { seq } = call;
  let approval: RunApproval | null = null;
  let isAnswered = false;

  async function finish(given: CallReply): Promise<void> {
    if (isAnswered) return;
    const { httpStatus } = call;
    const reply = httpStatus === null ? given : { ...given, httpStatus };
    const pauses = run.findPauses();
    if (pauses === null) call.replied(reply);
    else await pauses.journal.end(call, reply);
    if (approval !== null) pauses?.noteReply();
  }

  async function repeat(reply: CallReply): Promise<unknown> {
    if (reply.httpStatus !== undefined) call.answered(reply.httpStatus);
    if (!reply.ok || typeof reply.savedBytes !== "number") return giveReply(reply);
    try {
      call.saved = await run.restoreAnswer(seq);
    } catch {
      return giveReply(run.pauses().journal.lose(call));
    }
    return reply.value;
  }

  return {
    get isAsked() {
      return run.findPauses()?.find(seq) !== undefined;
    },
    repeated() {
      const reply = run.findPauses()?.journal.replyTo(call) ?? null;
      return reply === null ? null : repeat(reply);
    },
    async answer(value) {
      await finish({ ok: true, value, savedBytes: null });
      isAnswered = true;
    },
    carryOut: (work) =>
      whileOpen(run, async () => {
        let value: unknown;
        try {
          value = await work();
        } catch (error) {
          await finish({ ok: false, error: describeError(error) });
          throw error;
        }
        await finish({ ok: true, value, ...(call.isSaved && { savedBytes: call.saved?.size ?? null }) });
        return value;
      }),
    async approve(asked, signal) {
      const { parameters, files, destructive, policyId } = asked;
      const { serviceId, toolId } = call;
      const pauses = run.pauses();
      const digest = digestAsked(call, asked);
      const prepare = () =>
        pausing.options.approvalStore.prepare({
          processId: run.id,
          run: pauses.name.run,
          seq,
          kind: "call",
          path: { serviceId, toolId },
          destructive,
          digest,
          message: describeCall(call, asked, pausing.options.redactor),
          content: { parameters, ...(files.length > 0 && { files }) },
          policyId,
        });
      const decision = await pauses.ask({ seq, digest, prepare, signal });
      if ("refusal" in decision) return decision.refusal;
      approval = decision.approval;
      return refuseUnlessApproved(approval, `the call of ${serviceId}.${toolId}`);
    },
    async begin({ destructive }) {
      call.called(destructive);
      return run.findPauses()?.journal.begin(call, approval?.id ?? null) ?? null;
    },
  };
}

/** A request of `fetch` may come to another tool when the run is repeated, and a file may have another content: another call. */
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

async function whileOpen<T>(run: AskingRun, work: () => Promise<T>): Promise<T> {
  try {
    return await run.calls.during(work);
  } finally {
    run.findPauses()?.requestEnded();
  }
}

/** `cyrnel.ask`: resolves with what the person answered. Rejects with what the script is told. */
export function askPerson(
  pausing: Pausing,
  run: AskingRun,
  request: { message: string; schema?: JSONSchema },
  call: { seq: number; signal: AbortSignal },
): Promise<unknown> {
  return whileOpen(run, () => ask(pausing, run.pauses(), request, call));
}

async function ask(
  pausing: Pausing,
  pauses: RunPauses,
  request: { message: string; schema?: JSONSchema },
  { seq, signal }: { seq: number; signal: AbortSignal },
): Promise<unknown> {
  const { approvalStore, redactor, checkSchema } = pausing.options;
  const { message, schema } = request;
  if (typeof message !== "string" || message.trim() === "" || message.length > MAX_MESSAGE_CHARACTERS) {
    throw new ToolError(
      "invalid_parameters",
      `cyrnel.ask takes { message, schema? }: a message of 1 to ${MAX_MESSAGE_CHARACTERS} characters.`,
    );
  }
  const problem = schema === undefined ? null : await findProblem(schema, checkSchema);
  if (problem !== null)
    throw new ToolError("invalid_parameters", `The schema of cyrnel.ask cannot be used: ${problem}`);
  const digest = digestQuestion(request);
  const prepare = () =>
    approvalStore.prepare({
      processId: pauses.name.id,
      run: pauses.name.run,
      seq,
      kind: "ask",
      path: null,
      destructive: false,
      digest,
      message: redactor
        .text(message)
        .replaceAll("\0", "\ufffd")
        .toWellFormed()
        .slice(0, MAX_MESSAGE_CHARACTERS),
      content: { schema: schema ?? null },
    });
  const decision = await pauses.ask({ seq, digest, prepare, signal });
  if ("refusal" in decision) throw toError(decision.refusal);
  try {
    const { approval } = decision;
    const refusal = refuseUnlessApproved(approval, "the question");
    if (refusal !== null) throw toError(refusal);
    const answer = await readAnswer(pauses, approval, signal);
    // Who decided was told of what cannot be exact.
    return settleIntegers(answer, schema ?? null, "answer", () => {});
  } finally {
    pauses.noteReply();
  }
}

async function readAnswer(
  { records }: RunPauses,
  { id }: RunApproval,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    return await records.useAnswer(id, signal);
  } catch {
    throw new ToolError("call_unavailable", "The answer could not be read at the moment. Ask again.");
  }
}

function toError({ failure, message }: CallRefusal): ToolError {
  return new ToolError(failure, message, undefined, "denied");
}

async function findProblem(
  schema: JSONSchema,
  check: (schema: JSONSchema) => Promise<string | null>,
): Promise<string | null> {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return "it is no object.";
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARACTERS) {
    return `it is longer than ${MAX_SCHEMA_CHARACTERS} characters of JSON.`;
  }
  return check(schema);
}

function refuseUnlessApproved({ id, state, reason }: RunApproval, what: string): CallRefusal | null {
  switch (state) {
    case "approved":
      return null;
    case "denied":
      return { failure: "approval_denied", message: `${id}: ${what} was denied${because(reason)}.` };
    default:
      return { failure: "approval_expired", message: `${id}: no person decided about ${what} in time.` };
  }
}

function describeError(error: unknown): Extract<CallReply, { ok: false }>["error"] {
  const { name, message, code, status, outcome, answer } = error as Record<string, unknown>;
  return {
    name: typeof name === "string" ? name : "Error",
    message: typeof message === "string" ? message : String(error),
    ...(typeof code === "string" && { code }),
    ...(typeof status === "number" && { status }),
    ...(typeof outcome === "string" && { outcome }),
    ...(answer !== undefined && { answer }),
  };
}

async function giveReply(reply: CallReply): Promise<unknown> {
  if (reply.ok) return reply.value;
  const { name, message, ...rest } = reply.error;
  throw Object.assign(new Error(message), { name }, rest);
}
