/** Second half of a tool call: admit ► adapter ► redact. */
import { settleIntegers } from "#kernel/tool-docs/large-integers.ts";
import type { AdapterModule, JSONSchema } from "#sdk";
import type { Redactor } from "../secrets/redactor.ts";
import type { CallState } from "./call-state.ts";
import type { CallWorkspace, MovedFile, ToolPath } from "./contract.ts";
import { CallError, isHttpStatus, readAdapterFailure, refuseCall } from "./failure.ts";
import type { FullPlan } from "./plan.ts";
import { noteBytes, openNoting } from "./requests/named-files.ts";
import {
  createOpenStream,
  createSave,
  type JsonResult,
  redactAnswer,
  type Save,
  saveResult,
  toJsonResult,
} from "./results.ts";

export interface PerformOptions {
  /** Rejects if the audit log cannot record the call, which is then not made. */
  admit?: () => Promise<void>;
  /** Returns null if the adapter is not active. */
  findAdapter(id: string): AdapterModule | null;
  readOutputSchema(path: ToolPath): Promise<JSONSchema>;
  redactor: Pick<Redactor, "text" | "cut" | "value" | "createByteStream">;
  limits: { maxResultBytes: number };
}

/** Resolves with the result as JSON data. */
export async function performCall(options: PerformOptions, plan: FullPlan): Promise<unknown> {
  const { redactor, limits } = options;
  const { call, target } = plan;
  await options.admit?.();
  call.signal.throwIfAborted();
  const adapter = options.findAdapter(target.adapter);
  if (adapter === null) {
    throw refuseCall(
      "adapter_inactive",
      `The service ${call.serviceId} cannot be called: its adapter ${target.adapter} is not active.`,
    );
  }
  call.phase = "sent";
  call.workspace &&= watchFiles(call.workspace, call.moved);
  const save = createSave(call, redactor, target.isFetch);
  try {
    const value = await invoke(options, plan, adapter, save);
    const answer = await settle(options, call, toJsonResult(value, limits.maxResultBytes));
    const result = redactor.value(target.isFetch ? redactAnswer(answer, redactor) : answer);
    return save === undefined || adapter.savesAnswers === true ? result : await saveResult(result, save);
  } catch (error) {
    if (!(error instanceof CallError) || error.answer === undefined) throw error;
    const answer = await settle(options, call, toJsonResult(error.answer, limits.maxResultBytes));
    error.answer = answer as NonNullable<CallError["answer"]>;
    // Its secrets are replaced already, and an answer that says it failed is not saved.
    if (call.given.throwOnError === false) return answer;
    throw error;
  }
}

async function invoke(
  { redactor, limits }: PerformOptions,
  { call, parameters }: FullPlan,
  adapter: AdapterModule,
  save: Save | undefined,
): Promise<unknown> {
  const { serviceId, toolId, signal, caller, workspace } = call;
  const { warn, openStream } = call.given;
  try {
    return await adapter.invoke({
      serviceId,
      toolId,
      parameters,
      signal,
      ...(caller.processId !== undefined && { eid: caller.processId }),
      ...(workspace !== undefined && { files: workspace.files }),
      ...(warn !== undefined && { warn }),
      ...(save !== undefined && adapter.savesAnswers === true && { save }),
      ...(openStream && {
        openStream: createOpenStream(openStream, call, redactor, limits.maxResultBytes),
      }),
      onAnswered: (httpStatus) => recordStatus(call, httpStatus),
    });
  } catch (error) {
    const failure = readAdapterFailure(error, {
      cut: redactor.cut,
      answer: (answer) => redactor.value(toJsonResult(answer, limits.maxResultBytes).answer),
    });
    recordStatus(call, failure.status);
    throw failure;
  }
}

function recordStatus(call: CallState, httpStatus: unknown): void {
  if (!isHttpStatus(httpStatus) || call.signal.aborted) return;
  call.httpStatus = httpStatus;
  call.given.onAnswered?.(httpStatus);
}

/** Warns a script, which computes with numbers, where one differs from what the service sent. A direct caller reads the digits. */
async function settle(
  { readOutputSchema }: PerformOptions,
  call: CallState,
  { answer, hasLargeIntegers, hasInfinity }: JsonResult,
): Promise<unknown> {
  const { warn } = call.given;
  if (warn === undefined) return answer;
  if (hasInfinity) {
    const message = "The answer holds a number that JavaScript has only as infinity, or NaN: it became null.";
    warn({ code: "value_not_json", message, path: "answer" });
  }
  return hasLargeIntegers ? settleIntegers(answer, await readOutputSchema(call), "answer", warn) : answer;
}

/** The same workspace, recording which files are sent and saved. */
function watchFiles({ files, saveAs }: CallWorkspace, moved: MovedFile[]): CallWorkspace {
  return {
    files: { open: (name) => openNoting(files, name, moved) },
    ...(saveAs && {
      saveAs: { ...saveAs, save: (bytes) => saveAs.save(noteBytes(moved, saveAs.name, "saved", bytes)) },
    }),
  };
}
