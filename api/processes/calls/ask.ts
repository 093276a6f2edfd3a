import { settleIntegers } from "#kernel/tool-docs/large-integers.ts";
import type { JSONSchema } from "#sdk";
import { refuseUnlessApproved } from "../live/approvals.ts";
import type { RunApproval } from "../model/calls.ts";
import { digestQuestion } from "../model/digest.ts";
import type { PauseController } from "../pausing/controller.ts";
import { type ApprovalParts, type RequestingRun, whileOpen } from "./call.ts";
import { runEnded, ToolError } from "./errors.ts";

const MAX_MESSAGE_CHARACTERS = 4000;
const MAX_SCHEMA_CHARACTERS = 64 * 1024;

export interface Question {
  message: string;
  schema?: JSONSchema;
}

export interface QuestionParts extends ApprovalParts {
  /** Returns why a schema cannot be used to validate an answer, or null. */
  checkSchema(schema: JSONSchema): Promise<string | null>;
}

/** Resolves with the approver's answer. Rejects with a ToolError. */
export function askApprover(
  parts: QuestionParts,
  run: RequestingRun,
  question: Question,
  call: { seq: number; signal: AbortSignal },
): Promise<unknown> {
  return whileOpen(run, async () => {
    const pauses = run.openPauses();
    if (pauses === null) throw runEnded();
    await checkQuestion(parts, question);
    const { seq, signal } = call;
    const digest = digestQuestion(question);
    const prepare = () => prepareApproval(parts, pauses, question, seq, digest);
    const decision = await pauses.ask({ seq, digest, prepare, signal });
    if ("refusal" in decision) throw toError(decision.refusal);
    try {
      const refusal = refuseUnlessApproved(decision.approval, "the question");
      if (refusal !== null) throw toError(refusal);
      const answer = await readAnswer(pauses, decision.approval, signal);
      // The console already warned the approver about inexact numbers.
      return settleIntegers(answer, question.schema ?? null, "answer", () => {});
    } finally {
      pauses.recordReply();
    }
  });
}

async function checkQuestion({ checkSchema }: QuestionParts, { message, schema }: Question): Promise<void> {
  if (typeof message !== "string" || message.trim() === "" || message.length > MAX_MESSAGE_CHARACTERS) {
    throw new ToolError(
      "invalid_parameters",
      `cyrnel.ask takes { message, schema? }: a message of 1 to ${MAX_MESSAGE_CHARACTERS} characters.`,
    );
  }
  const problem = schema === undefined ? null : await findProblem(schema, checkSchema);
  if (problem !== null)
    throw new ToolError("invalid_parameters", `The schema of cyrnel.ask cannot be used: ${problem}`);
}

async function findProblem(schema: JSONSchema, check: QuestionParts["checkSchema"]): Promise<string | null> {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return "it is not an object.";
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARACTERS) {
    return `it is longer than ${MAX_SCHEMA_CHARACTERS} characters of JSON.`;
  }
  return check(schema);
}

function prepareApproval(
  { approvalStore, redactor }: QuestionParts,
  { name }: PauseController,
  { message, schema }: Question,
  seq: number,
  digest: Buffer,
) {
  return approvalStore.prepare({
    processId: name.id,
    run: name.run,
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
}

async function readAnswer(
  { store }: PauseController,
  { id }: RunApproval,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    return await store.useAnswer(id, signal);
  } catch {
    throw new ToolError("call_unavailable", "The answer could not be read at the moment. Ask again.");
  }
}

function toError({ failure, message }: { failure: string; message: string }): ToolError {
  return new ToolError(failure, message, undefined, "denied");
}
