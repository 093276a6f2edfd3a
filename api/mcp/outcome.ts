/**
 * Formats the responses of MCP tools: JSON as text for the model and as data for programs, failures marked as errors,
 * and processes as `run`, `resume` and `result` show them. Cuts parts that would flood a model's context and says
 * where to read them completely.
 */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
import type { LevelSlice } from "#api/processes/live/streams.ts";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import type { LogLine } from "#client/kernel/model.ts";
import { describeOrigin, describePath, visibleText } from "#client/visible-text.ts";
import type { ApprovalRecord } from "../approvals/model.ts";
import { AppError } from "../errors.ts";
import { attachArtifacts } from "./artifacts.ts";
import { describeDeciders } from "./deciding.ts";
import { describeForm } from "./elicitation.ts";
import type { CallTrailEntry, McpPorts, RequestContext } from "./ports.ts";

const MAX_STREAM_CHARACTERS = 64 * 1024;
const MAX_JSON_CHARACTERS = 256 * 1024;
const MAX_LOG_LINES = 500;
const MAX_CALLS = 200;
const MAX_CALLS_CHARACTERS = 64 * 1024;

type Json = Record<string, unknown>;

/** Returns a run's outcome for `run` and `resume` in the MCP SDK's format. `before` comes first. */
export async function answerRun(
  ports: McpPorts,
  id: number,
  context: RequestContext,
  before: Json = {},
): Promise<CallToolResult> {
  const { record, calls, cut, ...rest } = await readOutcome(ports, id, context);
  const stdout = cutText("stdout", record.stdout, record.truncated.stdout, cut);
  const stderr = cutText("stderr", record.stderr, record.truncated.stderr, cut);
  const printed = {
    calls: cutCalls(calls, cut).map(({ path, args }) => ({ path, ...(args !== undefined && { args }) })),
    logs: [
      ...linesOf(record.slices.stdout, stdout.length, "info", cut),
      ...linesOf(record.slices.stderr, stderr.length, "error", cut),
    ],
  };
  return answerOutcome({ record, cut, ...rest }, before, printed);
}

export async function answerResult(
  ports: McpPorts,
  id: number,
  context: RequestContext,
): Promise<CallToolResult> {
  const { record, calls, cut, ...rest } = await readOutcome(ports, id, context);
  const printed = {
    stdout: cutText("stdout", record.stdout, record.truncated.stdout, cut),
    stderr: cutText("stderr", record.stderr, record.truncated.stderr, cut),
    calls: cutCalls(calls, cut),
  };
  return answerOutcome({ record, cut, ...rest }, {}, printed);
}

async function readOutcome(ports: McpPorts, id: number, context: RequestContext) {
  const { processes } = ports;
  const [record, calls] = await Promise.all([processes.read(id, context), processes.readCalls(id, context)]);
  const cut: string[] = [];
  const [paused, left] = await Promise.all([
    describePause(ports, record, context),
    attachArtifacts(ports, record, context, cut),
  ]);
  return { record, calls, cut, paused, left };
}

function answerOutcome(
  { record, cut, paused, left }: Omit<Awaited<ReturnType<typeof readOutcome>>, "calls">,
  before: Json,
  printed: Json,
): CallToolResult {
  const values = valuesOf(record, cut);
  const next = describeNext(record, paused);
  const answer = answerWith({
    ...before,
    processId: record.id,
    ...(record.ref !== undefined && { ref: record.ref }),
    success: record.exitState === "success",
    state: record.state,
    exitState: record.exitState,
    reason: record.reason,
    ...(record.error !== null && { error: record.error, ...placeOf(record) }),
    ...values,
    ...(record.warnings.length > 0 && { warnings: record.warnings }),
    ...printed,
    ...(left.artifacts.length > 0 && { artifacts: left.artifacts }),
    usage: record.usage,
    ...(paused !== null && { paused }),
    ...(cut.length > 0 && { cut: `${cut.join("; ")}. The whole: GET /processes/${record.id}.` }),
    ...(next !== null && { next }),
  });
  return { ...answer, content: [...answer.content, ...left.content] };
}

function placeOf({ errorDetail }: ProcessRecord): Json {
  if (errorDetail?.line == null) return {};
  const { line, column, file } = errorDetail;
  return { ...(file !== undefined && { file }), line, ...(column !== null && { column }) };
}

function describeNext({ id, state }: ProcessRecord, paused: Json | null): string | null {
  if (state === "idle" || paused !== null) return null;
  return `The process is ${state}. Ask for the outcome later: result {"processId":${id}}.`;
}

function valuesOf(record: ProcessRecord, cut: string[]): Json {
  const values: Json = {};
  if (record.exitState === "success") addJson(values, "value", record.result, cut);
  if (Object.keys(record.output).length > 0) addJson(values, "output", record.output, cut);
  return values;
}

function addJson(values: Json, name: string, value: unknown, cut: string[]): void {
  const { length } = JSON.stringify(value) ?? "";
  if (length <= MAX_JSON_CHARACTERS) values[name] = value;
  else cut.push(`${name} is left out, it has ${length} characters of JSON`);
}

function cutText(name: string, text: string, wasTruncated: boolean, cut: string[]): string {
  if (wasTruncated) cut.push(`${name} was longer than the server keeps`);
  if (text.length <= MAX_STREAM_CHARACTERS) return text;
  cut.push(`${name} shows its first ${MAX_STREAM_CHARACTERS} of ${text.length} characters`);
  return text.slice(0, MAX_STREAM_CHARACTERS).toWellFormed();
}

/** `maxCharacters` limits the entire stream. `usual` is the stream's default level. */
function linesOf(
  slices: readonly LevelSlice[],
  maxCharacters: number,
  usual: "info" | "error",
  cut: string[],
): LogLine[] {
  let left = maxCharacters;
  const lines = slices.flatMap(({ text, level = usual }) => {
    const shown = text.slice(0, left).toWellFormed();
    left -= shown.length;
    const messages = shown.split("\n");
    if (messages.at(-1) === "") messages.pop();
    return messages.map((message) => ({ level, message }));
  });
  if (lines.length <= MAX_LOG_LINES) return lines;
  const name = usual === "info" ? "stdout" : "stderr";
  cut.push(`${MAX_LOG_LINES} of ${lines.length} lines of ${name} are shown`);
  return lines.slice(0, MAX_LOG_LINES);
}

function cutCalls(calls: readonly CallTrailEntry[], cut: string[]) {
  let characters = 0;
  let withoutArgs = 0;
  const shown = calls.slice(0, MAX_CALLS).map((call) => {
    characters += call.parameters === undefined ? 0 : JSON.stringify(call.parameters).length;
    const fits = characters <= MAX_CALLS_CHARACTERS;
    if (!fits) withoutArgs += 1;
    return {
      path: describePath(call),
      ...(fits && call.parameters !== undefined && { args: call.parameters }),
      status: call.status,
      durationMs: call.durationMs,
      ...(call.error !== undefined && { error: call.error }),
      ...(call.httpStatus !== undefined && { httpStatus: call.httpStatus }),
    };
  });
  if (calls.length > MAX_CALLS) cut.push(`${MAX_CALLS} of ${calls.length} calls are shown`);
  if (withoutArgs > 0) cut.push(`${withoutArgs} calls are shown without their arguments`);
  return shown;
}

const HIDDEN = "It waits for a decision about a tool that this key's role does not show.";

async function findApproval(
  ports: McpPorts,
  id: string,
  context: RequestContext,
): Promise<ApprovalRecord | null> {
  try {
    return await ports.approvals.get(id, context);
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return null;
    throw error;
  }
}

async function describePause(
  ports: McpPorts,
  record: ProcessRecord,
  context: RequestContext,
): Promise<Json | null> {
  const [first] = record.approvals;
  if (record.state !== "paused" || first === undefined) return null;
  const approval = await findApproval(ports, first, context);
  const all = record.approvals.length > 1 ? { all: record.approvals } : {};
  if (approval === null) return { executionId: first, ...all, next: HIDDEN };
  const isQuestion = approval.kind === "ask";
  return {
    executionId: approval.id,
    kind: approval.kind,
    ...(!isQuestion && { toolPath: `${approval.serviceId}.${approval.toolId}`, args: approval.parameters }),
    origin: describeOrigin(approval),
    message: visibleText(approval.message),
    ...(isQuestion && approval.schema != null && { schema: approval.schema }),
    expiresAt: approval.expiresAt,
    ...all,
    next: describeDeciders(ports, approval, context, describeForm(approval) !== null),
  };
}

const MAX_ISSUES = 20;

export function answerWith(value: Record<string, unknown>): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
}

export function answerRefusal(
  error: unknown,
  { describeError, log }: Pick<McpPorts, "describeError" | "log">,
  requestId: string,
): CallToolResult {
  const { status, code, message, issues } = describeError(error);
  if (status >= 500) log.error({ err: error, requestId }, "an MCP request failed");
  const refusal = { error: message, code, ...(issues && { issues }), requestId };
  return { ...answerWith(refusal), isError: true };
}

export function answerInvalid(tool: string, error: z.ZodError, requestId: string): CallToolResult {
  const issues = error.issues.slice(0, MAX_ISSUES).map((issue) => ({
    path: issue.path.map(String).join("."),
    message: issue.message,
  }));
  const [first] = issues;
  const message = `The arguments of ${tool} are not valid: ${first?.path || "arguments"}: ${first?.message}`;
  return { ...answerWith({ error: message, code: "invalid_request", issues, requestId }), isError: true };
}
