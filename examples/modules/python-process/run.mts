/**
 * One run: starts Python, gives it the script, answers its calls, and ends it. The first of script end, time-out, kill,
 * limit and breach of the protocol decides; whatever it was, the whole process group is killed after it.
 */
import { rm } from "node:fs/promises";
import type {
  EnvironmentBindings,
  ErrorDetail,
  ExecutionExitState,
  ExecutionInput,
  ExecutionReason,
} from "@cyrnel/sdk";
import { createCalls } from "./calls.mts";
import { type Ending, parseMessage } from "./messages.mts";
import { type Child, readCost, startChild } from "./child.mts";
import type { Config } from "./index.mts";
import { readLines } from "./lines.mts";

export interface RunOptions {
  settings: Config;
  bindings: EnvironmentBindings;
  input: ExecutionInput;
  killed: AbortSignal;
  queuedMs: number;
}

/** A frame of the child's, in bytes; the host takes results of 4 MiB. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** How long what was printed may take to arrive after the process is dead. */
const FLUSH_MS = 2000;

interface Verdict {
  state: ExecutionExitState;
  error?: ErrorDetail;
  result?: { value: unknown };
}

export async function runScript({
  settings,
  bindings,
  input,
  killed,
  queuedMs,
}: RunOptions): Promise<ExecutionExitState> {
  const { eid, options } = input;
  const startedAt = performance.now();
  const memoryMb = Math.min(options?.memoryMb ?? settings.memoryMb, settings.maxMemoryMb);
  const cpuMs = options?.cpuMs ?? null;
  const timeoutMs = options?.timeoutMs ?? null;
  const child = await startChild(settings.python);
  const over = new AbortController();
  const calls = createCalls(bindings, eid, settings.maxCalls, over.signal, child.send);
  const { promise: verdict, resolve: decide } = Promise.withResolvers<Verdict>();

  const fail = (state: ExecutionExitState, reason: ExecutionReason, name: string, message: string) =>
    decide({ state, error: { name, message, reason } });
  const onKill = () => fail("canceled", "killed", "KilledError", "The run was killed.");
  killed.addEventListener("abort", onKill, { once: true });
  if (killed.aborted) onKill();
  const timer =
    timeoutMs === null
      ? undefined
      : setTimeout(
          () =>
            fail(
              "timeout",
              "timeout",
              "TimeoutError",
              `The script ran longer than its limit of ${timeoutMs} ms.`,
            ),
          timeoutMs,
        );

  child.process.stdout.on("data", (data: Buffer) => bindings.emitStdout(eid, data));
  child.process.stderr.on("data", (data: Buffer) => bindings.emitStderr(eid, data));
  child.process.on("error", (error) =>
    fail("failed", "crashed", "CrashError", `Python could not be started: ${error.message}.`),
  );
  child.process.on("exit", (code, signal) => decide(judgeExit(code, signal, cpuMs)));
  readLines(child.messages, MAX_LINE_BYTES, {
    line(text) {
      const message = parseMessage(text);
      if (message === null) return violate("it sent a message that is none");
      if (message.type === "output") bindings.emitOutput(eid, message.value);
      else if (message.type === "end") decide(judgeEnd(message, memoryMb));
      else if (!calls.start(message)) violate("it used the id of a call twice");
    },
    tooLong: () =>
      fail(
        "failed",
        "output_limit",
        "OutputLimitError",
        `The script sent a message of more than ${MAX_LINE_BYTES} bytes.`,
      ),
  });
  function violate(what: string): void {
    fail("failed", "sandbox_violation", "SandboxViolationError", `The protocol was broken: ${what}.`);
  }

  child.send({ type: "start", eid, ref: input.ref ?? null, code: input.code, memoryMb, cpuMs });
  const runningAt = performance.now();
  const { state, error, result } = await verdict;
  clearTimeout(timer);
  killed.removeEventListener("abort", onKill);
  const cost = await readCost(child);
  over.abort();
  await end(child);
  bindings.setUsage(eid, {
    queuedMs,
    startMs: runningAt - startedAt,
    wallMs: performance.now() - runningAt,
    toolCalls: calls.count,
    ...cost,
  });
  if (result !== undefined) bindings.setResult(eid, result.value);
  if (error !== undefined) bindings.setError(eid, error);
  return state;
}

/** Kills, then waits until everything it printed has arrived. */
async function end(child: Child): Promise<void> {
  child.kill();
  const flush = Promise.withResolvers<void>();
  // A process that has left the group may hold the pipes open: it is not waited for.
  const timer = setTimeout(flush.resolve, FLUSH_MS);
  await Promise.race([child.closed, flush.promise]);
  clearTimeout(timer);
  child.destroy();
  await rm(child.folder, { recursive: true, force: true }).catch(() => {});
}

function judgeEnd(ending: Ending, memoryMb: number): Verdict {
  if (ending.ok) return { state: "success", ...("result" in ending && { result: { value: ending.result } }) };
  const { error, syntax } = ending;
  if (error.name === "MemoryError") {
    const message = `The script used more memory than its limit of ${memoryMb} MB.`;
    return {
      state: "failed",
      error: { ...error, name: "MemoryLimitError", message, reason: "memory_limit" },
    };
  }
  return { state: "failed", error: { ...error, reason: syntax ? "syntax_error" : "script_error" } };
}

function judgeExit(code: number | null, signal: NodeJS.Signals | null, cpuMs: number | null): Verdict {
  if (signal === "SIGXCPU") {
    const message = `The script used more CPU time than its limit of ${cpuMs} ms.`;
    return { state: "failed", error: { name: "CpuLimitError", message, reason: "cpu_limit" } };
  }
  const how = signal === null ? `with exit code ${code}` : `with signal ${signal}`;
  const message = `The process of the run ended unexpectedly, ${how}.`;
  return { state: "failed", error: { name: "CrashError", message, reason: "crashed" } };
}
