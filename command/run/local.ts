/** Runs a script on this machine, without a server, in a locked-down process that this program starts. */
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { pathToFileURL } from "node:url";
import { ElicitationEngine } from "#client/kernel/elicitation.ts";
import type { LocalOptions, LocalRuntime } from "#client/kernel/local-model.ts";
import type { ExecutionResult, PausedCall } from "#client/kernel/model.ts";
import { createRuntime } from "#client/runtime.ts";
import { visibleJson, visibleLine } from "#client/visible-text.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";
import type { Session } from "../session.ts";
import { piecesOf } from "./folder.ts";
import { killedReport } from "./remote.ts";
import { openRunOutput, type RunEnding, type RunLimits, type RunReport, type RunScript } from "./report.ts";
import { requireIsolation } from "./requirements.ts";
import { createArtifactWriter } from "./transfer.ts";

/** Memory limit range of the environment's settings. A run may use less. */
const MIN_SET_MEMORY_MB = 32;
const MAX_USUAL_MEMORY_MB = 1024;
/** Maximum number of children kept ready when running several scripts. */
const MAX_WARM = 16;

export interface LocalRunOptions {
  required: readonly string[];
  isolation: "strict" | "standard" | "development";
  /** Path of a module that exports tool functions, or null without tools. */
  toolsFile: string | null;
  /** Memory limit of each run; undefined for the default. */
  memoryMb: number | undefined;
  /** Number of scripts to run; `jobs` of them run at once. */
  scripts: number;
  jobs: number;
  /** True to call destructive tools without asking. */
  yes: boolean;
  /** The script's folder, and the folder that its packages must be in. */
  packages: { folder: string; root: string };
}

export interface LocalRun extends AsyncDisposable {
  run: RunScript;
}

/** Rejects with a Failure of exit code 78 if the isolation is not available. */
export async function openLocalRun(session: Session, options: LocalRunOptions): Promise<LocalRun> {
  const tools = options.toolsFile === null ? undefined : await loadTools(options.toolsFile);
  const runtime = createRuntime({
    local: true,
    isolation: options.isolation,
    environment: readEnvironment(options),
    packages: options.packages,
    expectedRuns: options.scripts,
    ...(tools !== undefined && { tools }),
    ...(tools !== undefined && !options.yes && { elicitation: new ElicitationEngine() }),
  });
  await using undo = new AsyncDisposableStack();
  undo.use(runtime);
  await requireObtained(runtime, options.required);
  const owned = undo.move();
  return {
    run: (code, limits) => runHere(session, runtime, code, limits),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Returns settings that start the first child with the run's limit. */
function readEnvironment({ memoryMb, jobs }: LocalRunOptions): Record<string, unknown> {
  const concurrency =
    jobs > 1 ? { maxConcurrency: jobs, warmPool: { min: 0, max: Math.min(jobs, MAX_WARM) } } : {};
  if (memoryMb === undefined || memoryMb < MIN_SET_MEMORY_MB) return concurrency;
  return { ...concurrency, memoryMb, maxMemoryMb: Math.max(memoryMb, MAX_USUAL_MEMORY_MB) };
}

/** Rejects with a Failure before running anything if the isolation is weaker than required. */
async function requireObtained(runtime: LocalRuntime, required: readonly string[]): Promise<void> {
  try {
    const isolation = await runtime.isolation();
    requireIsolation(required, isolation);
  } catch (error) {
    if (error instanceof Failure || error instanceof TypeError) throw error;
    throw new Failure("isolation_unavailable", (error as Error).message, EXIT.isolation, { cause: error });
  }
}

/** Loads the trusted module into this program and returns its default export, or its named exports. */
async function loadTools(path: string): Promise<NonNullable<LocalOptions["tools"]>> {
  let module: Record<string, unknown>;
  try {
    module = await import(pathToFileURL(resolve(path)).href);
  } catch (error) {
    throw usageFailure(`The tools in ${path} cannot be loaded: ${(error as Error).message}`, "invalid_tools");
  }
  return (module.default ?? { ...module }) as NonNullable<LocalOptions["tools"]>;
}

async function runHere(
  session: Session,
  runtime: LocalRuntime,
  code: string,
  { timeoutMs, memoryMb, cpuMs, ref, input, files, name, artifactsFolder, packages }: RunLimits,
): Promise<RunEnding> {
  const shown = openRunOutput(session);
  const kept = { stdout: "", stderr: "", output: {} as Record<string, unknown> };
  const written =
    artifactsFolder === undefined ? null : createArtifactWriter(artifactsFolder, "The run", session.url);
  try {
    let result = await runtime.execute(code, {
      signal: session.signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(memoryMb !== undefined && { memoryMb }),
      ...(cpuMs !== undefined && { cpuMs }),
      ...(ref !== undefined && { ref }),
      ...(input !== undefined && { input }),
      ...(files !== undefined && { files }),
      ...(name !== undefined && { name }),
      ...(packages !== undefined && { packages }),
      ...(written !== null && {
        onArtifact: (name, artifact) => written.add(name, async () => piecesOf(artifact)),
      }),
      onStdout(text) {
        kept.stdout += text;
        shown.stdout(text);
      },
      onStderr(text) {
        kept.stderr += text;
        shown.stderr(text);
      },
      onOutput: (part) => {
        kept.output = { ...kept.output, ...part };
      },
    });
    while (result.paused !== undefined) {
      shown.end();
      result = await decide(session, runtime, result.paused);
    }
    return { report: toReport(result, kept), failure: written?.end() ?? null };
  } catch (error) {
    if (session.signal.aborted) {
      return { report: { ...killedReport(null), ...kept }, failure: written?.end() ?? null };
    }
    if (error instanceof TypeError && "code" in error && error.code === "invalid_input") {
      throw usageFailure(error.message, error.code);
    }
    throw error;
  } finally {
    shown.end();
  }
}

/** Asks on a terminal; without one, denies the call. */
async function decide(session: Session, runtime: LocalRuntime, paused: PausedCall): Promise<ExecutionResult> {
  const { stdin, stderr, signal } = session;
  const { executionId, toolPath, message, args } = paused;
  if (stdin.isTTY !== true || toolPath === "cyrnel.ask") {
    const reason = "no terminal to ask on; --yes allows calls of destructive tools";
    return runtime.resolve(executionId, false, reason);
  }
  const reader = createInterface({ input: stdin, output: process.stderr });
  try {
    stderr.write(`${visibleLine(message)}\n${visibleLine(toolPath)} ${visibleJson(args)}\n`);
    const answer = await reader.question("Allow it? [y/N] ", { signal });
    return await runtime.resolve(executionId, /^y(es)?$/i.test(answer.trim()));
  } finally {
    reader.close();
  }
}

function toReport(
  { exitState, reason, value, error, errorDetail, warnings, usage }: ExecutionResult,
  kept: Pick<RunReport, "stdout" | "stderr" | "output">,
): RunReport {
  return {
    id: null,
    exitState: exitState ?? null,
    reason: reason ?? null,
    result: value ?? null,
    error: error ?? null,
    errorDetail: errorDetail ?? null,
    warnings,
    ...kept,
    usage: usage as unknown as Record<string, number> | null,
  };
}
