/**
 * The local runtime: runs scripts without a server or database, each in a locked-down Node process that this program
 * starts, with the given functions as tools.
 */

import { checkFileName } from "#kernel/file-names.ts";
import { readInput, writeInput } from "#kernel/input.ts";
import type { BundledEnvironment } from "#runner/host/environment.ts";
import type { LocalExecuteOptions, LocalOptions, LocalRuntime } from "../kernel/local-model.ts";
import type { ExecutionResult } from "../kernel/model.ts";
import { createCatalog } from "./catalog.ts";
import { giveArtifacts, listGiven, openWorkspace } from "./files.ts";
import { createRun, DEFAULT_MAX_STREAM_BYTES, type LocalRun } from "./run.ts";

/** Maximum number of calls that needed approval whose runs are kept for `outcome`. */
const MAX_KNOWN_CALLS = 10_000;
const DEFAULT_TIMEOUT_MS = 30_000;

/** @throws TypeError for malformed tools or role. Other failures reject `ready` and `execute`. */
export function createLocalRuntime(options: LocalOptions): LocalRuntime {
  const catalog = createCatalog(options);
  const runs = new Map<number, LocalRun>();
  const askedBy = new Map<string, LocalRun>();
  const { elicitation: engine } = options;
  let opening: Promise<BundledEnvironment> | null = null;
  let isDisposed = false;
  let lastId = 0;

  function open(): Promise<BundledEnvironment> {
    if (isDisposed) return Promise.reject(new Error("The runtime has been disposed of."));
    opening ??= loadEnvironment().catch((error) => {
      opening = null;
      throw error;
    });
    return opening;
  }

  async function loadEnvironment(): Promise<BundledEnvironment> {
    // Takes as long as loading the environment, so both happen at the same time.
    if (options.isolation !== "development" && process.platform === "linux") {
      const { bootSpawnerAhead } = await import("#runner/jail/spawner/spawner.ts");
      bootSpawnerAhead();
    }
    const { openEnvironment } = await import("./environment.ts");
    return openEnvironment(options, catalog, (eid) => runs.get(eid));
  }

  function start(
    environment: BundledEnvironment,
    code: string,
    executeOptions: LocalExecuteOptions,
  ): LocalRun {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, memoryMb, cpuMs, ref, input, name, signal } = executeOptions;
    const { maxStdoutBytes = DEFAULT_MAX_STREAM_BYTES, maxStderrBytes = DEFAULT_MAX_STREAM_BYTES } =
      executeOptions;
    const inputText = input === undefined ? null : toJsonText(input);
    const wrong = name === undefined ? null : checkFileName(name);
    if (wrong !== null) throw new TypeError(`The script's name ${JSON.stringify(name)} ${wrong}.`);
    const files = listGiven(executeOptions.files);
    const workspace = openWorkspace(files);
    const { processId: id = ++lastId } = executeOptions;
    if (runs.has(id)) throw new Error(`The process ${id} is running already.`);
    const onWaiting = (executionId: string) => rememberAsked(executionId, run);
    const run = createRun(id, executeOptions, workspace, engine ? { engine, environment, onWaiting } : null);
    runs.set(id, run);
    const limits = {
      timeoutMs,
      maxStdoutBytes,
      maxStderrBytes,
      ...(memoryMb !== undefined && { memoryMb }),
      ...(cpuMs !== undefined && { cpuMs }),
    };
    const kill = () => void environment.kill(id);
    signal?.addEventListener("abort", kill, { once: true });
    const carryOut = async () => {
      try {
        return await environment.execute({
          eid: id,
          code,
          options: limits,
          ...(ref !== undefined && { ref }),
          ...(inputText !== null && { input: readInput(inputText, null, run.warn) }),
          ...(name !== undefined && { name }),
          ...(files.length > 0 && { files: files.map(({ read: _read, ...file }) => file) }),
        });
      } finally {
        signal?.removeEventListener("abort", kill);
        runs.delete(id);
        await giveArtifacts(workspace, executeOptions.onArtifact);
      }
    };
    carryOut().then(
      (outcome) => run.end(outcome),
      (error: unknown) => run.fail(error),
    );
    return run;
  }

  function rememberAsked(executionId: string, run: LocalRun): void {
    askedBy.set(executionId, run);
    const [oldest] = askedBy.keys();
    if (askedBy.size > MAX_KNOWN_CALLS && oldest !== undefined) askedBy.delete(oldest);
  }

  function findAsker(executionId: string): LocalRun {
    const run = askedBy.get(executionId);
    if (run === undefined) throw new Error(`No call of this runtime waits as ${executionId}.`);
    return run;
  }

  async function execute(code: string, executeOptions: LocalExecuteOptions = {}): Promise<ExecutionResult> {
    const { signal } = executeOptions;
    signal?.throwIfAborted();
    const environment = await open();
    signal?.throwIfAborted();
    const result = await start(environment, code, executeOptions).next();
    if (result.exitState === "canceled") signal?.throwIfAborted();
    return result;
  }

  return {
    execute,
    async resolve(executionId, approved, data) {
      const run = findAsker(executionId);
      if (engine?.resolve(executionId, approved, data) !== true) {
        throw new Error(
          `${executionId} does not wait any more: it was decided, it expired, or its run has ended.`,
        );
      }
      return run.next();
    },
    outcome: async (executionId) => findAsker(executionId).next(),
    availableTools: () => catalog.paths(),
    ready: async () => void (await open()),
    isolation: async () => (await open()).status().isolation,
    docs: async () => (await open()).generateDocs(),
    async status() {
      const { slots, busy, warm, limits } = (await open()).status();
      return { slots, busy, warm, limits };
    },
    async dispose() {
      isDisposed = true;
      const environment = await opening?.catch(() => null);
      await environment?.teardown();
    },
    async [Symbol.asyncDispose]() {
      await this.dispose();
    },
  };
}

/**
 * Returns the input in the form a server would store. @throws TypeError (code `invalid_input`) if it is not JSON
 * data, or too large
 */
function toJsonText(input: unknown): string {
  const written = writeInput(input);
  if ("problem" in written) {
    throw Object.assign(new TypeError(`The input ${written.problem}`), { code: "invalid_input" });
  }
  return written.text;
}
