/** A runtime whose scripts run on a server, with its tools, roles, rules and approvals. */
import { type ClientOptions, type CyrnelClient, createClient, type ProcessRecord } from "../client.ts";
import { CyrnelError, unwrap } from "../errors.ts";
import type { ProcessEvent } from "../events.ts";
import { readAll } from "../pages.ts";
import { followToStop, readProcess } from "../runs.ts";
import { describePath } from "../visible-text.ts";
import type { ExecuteOptions, ExecutionResult, PausedCall, Runtime } from "./model.ts";
import { createLogLines, describeError, type LogLines } from "./result-parts.ts";

/** Maximum number of server tools to list. */
const MAX_TOOLS = 20_000;
/** Maximum number of paused runs whose log lines are kept until they continue. */
const MAX_REMEMBERED_RUNS = 1000;

interface FollowedRun {
  logs: LogLines;
  lastEventId: string | undefined;
  /** Listeners passed to `execute`, also called after a pause. */
  listeners: Pick<ExecuteOptions, "onStdout" | "onStderr" | "onOutput">;
}

export interface RemoteRuntime extends Runtime {
  readonly client: CyrnelClient;
}

export function createRemoteRuntime(options: ClientOptions): RemoteRuntime {
  const client = createClient(options);
  const disposal = new AbortController();
  const runs = new Map<number, FollowedRun>();
  let tools: string[] = [];
  let loading: Promise<void> | null = null;

  async function loadTools(): Promise<void> {
    tools = await listTools(client, disposal.signal);
  }

  function ready(): Promise<void> {
    loading ??= loadTools().catch((error) => {
      loading = null;
      throw error;
    });
    return loading;
  }

  async function answer(record: ProcessRecord): Promise<ExecutionResult> {
    const { logs } = runs.get(record.id) ?? { logs: createLogLines() };
    const paused = record.state === "paused" ? await readPause(client, record) : undefined;
    const { calls } = unwrap(
      await client.GET("/processes/{id}/calls", { params: { path: { id: String(record.id) } } }),
    );
    if (record.state === "idle") runs.delete(record.id);
    return {
      success: record.exitState === "success",
      ...(record.exitState === "success" && { value: record.result }),
      ...describeError(record.error, record.errorDetail),
      calls: calls.map((call) => ({ path: describePath(call), args: call.parameters })),
      logs: logs.lines(),
      warnings: record.warnings,
      ...(paused !== undefined && { paused }),
      processId: record.id,
      exitState: record.exitState,
      reason: record.reason,
      usage: record.state === "idle" ? record.usage : null,
    };
  }

  function remember(id: number, run: FollowedRun): void {
    runs.set(id, run);
    const [oldest] = runs.keys();
    if (runs.size > MAX_REMEMBERED_RUNS && oldest !== undefined) runs.delete(oldest);
  }

  return {
    client,
    ready,
    availableTools: () => [...tools],

    async execute(script, executeOptions = {}) {
      disposal.signal.throwIfAborted();
      const { onStdout: _out, onStderr: _err, onOutput: _output, signal, ...limits } = executeOptions;
      // A script runs even if the tools cannot be listed.
      await ready().catch(() => {});
      const run: FollowedRun = { logs: createLogLines(), lastEventId: undefined, listeners: executeOptions };
      const record = await client.run(script, {
        ...limits,
        signal: signal === undefined ? disposal.signal : AbortSignal.any([signal, disposal.signal]),
        untilPaused: true,
        onEvent: (event) => take(run, event),
      });
      remember(record.id, run);
      return answer(record);
    },

    async resolve(executionId, approved, data) {
      const { processId } = await decide(client, executionId, approved, data);
      const run = runs.get(processId) ?? { logs: createLogLines(), lastEventId: undefined, listeners: {} };
      remember(processId, run);
      return answer(await followOn(client, processId, run, disposal.signal));
    },

    async dispose() {
      disposal.abort(new Error("The runtime has been disposed of."));
    },
    async [Symbol.asyncDispose]() {
      await this.dispose();
    },
  };
}

function take(run: FollowedRun, event: ProcessEvent): void {
  const { onStdout, onStderr, onOutput } = run.listeners;
  run.lastEventId = event.id;
  if (event.event === "stdout") {
    run.logs.add(event.data.level ?? "info", event.data.text);
    onStdout?.(event.data.text);
  } else if (event.event === "stderr") {
    run.logs.add(event.data.level ?? "error", event.data.text);
    onStderr?.(event.data.text);
  } else if (event.event === "output") onOutput?.(event.data);
}

/** Waits until the run has ended, or is paused for a decision other than the last one. */
async function followOn(
  client: CyrnelClient,
  id: number,
  run: FollowedRun,
  signal: AbortSignal,
): Promise<ProcessRecord> {
  // The run may already be paused again, and then no further event would come.
  const record = await readProcess(client, id, signal);
  if (record.state === "paused" && record.approvals.length > 0) return record;
  return followToStop(client, id, {
    signal,
    untilPaused: true,
    lastEventId: run.lastEventId,
    onEvent: (event) => take(run, event),
  });
}

async function decide(
  client: CyrnelClient,
  id: string,
  approved: boolean,
  data: unknown,
): Promise<{ processId: number }> {
  const params = { path: { id } };
  if (approved) {
    return unwrap(
      await client.POST("/approvals/{id}/approve", { params, body: { ...(data !== undefined && { data }) } }),
    );
  }
  const body = typeof data === "string" && data !== "" ? { reason: data } : {};
  return unwrap(await client.POST("/approvals/{id}/deny", { params, body }));
}

/** A key that may not read approvals still sees their ids. */
async function readPause(client: CyrnelClient, record: ProcessRecord): Promise<PausedCall | undefined> {
  const [executionId] = record.approvals;
  if (executionId === undefined) return undefined;
  try {
    const approval = unwrap(await client.GET("/approvals/{id}", { params: { path: { id: executionId } } }));
    const { kind, serviceId, toolId, message, parameters, schema } = approval;
    if (kind === "ask") {
      return { executionId, toolPath: "cyrnel.ask", message, ...(schema != null && { args: { schema } }) };
    }
    return { executionId, toolPath: `${serviceId}.${toolId}`, message, args: parameters };
  } catch (error) {
    if (!(error instanceof CyrnelError) || error.status !== 403) throw error;
    const message = "A call waits for a person. This key may not read approvals (approvals:decide).";
    return { executionId, toolPath: "", message };
  }
}

async function listTools(client: CyrnelClient, signal: AbortSignal): Promise<string[]> {
  const found = await readAll<"tools", { serviceId: string; id: string; effectivelyEnabled: boolean }>(
    "tools",
    (query) => client.GET("/tools", { params: { query: { ...query, enabled: "true" } }, signal }),
    MAX_TOOLS,
  );
  const callable = found.filter(({ effectivelyEnabled }) => effectivelyEnabled);
  return callable.map(({ serviceId, id }) => `${serviceId}.${id}`);
}
