import type { Client } from "openapi-fetch";
import { unwrap } from "./errors.ts";
import { followEvents, type ProcessEvent } from "./events.ts";
import { sleep } from "./retry.ts";
import type { components, paths } from "./schema.ts";

type Api = Pick<Client<paths>, "GET" | "POST">;
type ProcessRecord = components["schemas"]["Process"];
type Submission = NonNullable<paths["/processes"]["post"]["requestBody"]>["content"]["application/json"];

export interface WaitOptions {
  signal?: AbortSignal;
  /** Resolves as soon as the run is paused for approval, instead of waiting for the end. */
  untilPaused?: boolean;
}

export interface RunOptions extends WaitOptions {
  /** A unique label for the process, chosen by the caller. */
  ref?: string;
  /** Null means no limit. Default: the server's limit. */
  timeoutMs?: number | null;
  memoryMb?: number;
  cpuMs?: number;
  /** JSON data, available to the script as `cyrnel.input`. */
  input?: unknown;
  /** JSON Schema for the input: the server rejects an invalid input. */
  inputSchema?: Record<string, unknown>;
  /** Files available to the script as `cyrnel.files`, by name: upload ids, texts, or base64. */
  files?: NonNullable<Submission["files"]>;
  /** The script's name among its files; its imports are relative to it. Default: script.ts. */
  name?: string;
  /** Aborting kills the process and rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called with each event. An error it throws ends the wait, not the process. */
  onEvent?: (event: ProcessEvent) => void;
  /** Called with the process id, before its first event. */
  onSubmit?: (id: number) => void;
}

/** Shorter than the minute after which proxies tend to cut a request. */
const LONG_POLL_MS = 25_000;
/** The server responds at once for a paused process, so the client polls. */
const PAUSED_POLL_MS = 1000;
const KILL_TIMEOUT_MS = 10_000;

/** @throws CyrnelError if the server rejects the script. A failed script resolves like any other. */
export async function runScript(api: Api, code: string, options: RunOptions = {}): Promise<ProcessRecord> {
  const { ref, timeoutMs, memoryMb, cpuMs, input, inputSchema, files, name, signal, onEvent, untilPaused } =
    options;
  const { id } = unwrap(
    await api.POST("/processes", {
      // If the response is lost, the request is repeated; the script runs only once.
      params: { header: { "idempotency-key": crypto.randomUUID() } },
      body: {
        code,
        ...(ref !== undefined && { ref }),
        ...(input !== undefined && { input }),
        ...(inputSchema !== undefined && { inputSchema }),
        ...(files !== undefined && { files }),
        ...(name !== undefined && { name }),
        options: {
          ...(timeoutMs !== undefined && { timeout: timeoutMs }),
          ...(memoryMb !== undefined && { memoryMb }),
          ...(cpuMs !== undefined && { cpuMs }),
        },
      },
      ...(signal !== undefined && { signal }),
    }),
  );
  options.onSubmit?.(id);
  try {
    return await followToStop(api, id, { signal, onEvent, untilPaused });
  } catch (error) {
    if (signal?.aborted) await killProcess(api, id);
    throw error;
  }
}

/** Follows the events until the run has ended or, if requested, is paused. Returns the process as it is then. */
export async function followToStop(
  api: Api,
  id: number,
  options: {
    signal?: AbortSignal | undefined;
    onEvent?: ((event: ProcessEvent) => void) | undefined;
    untilPaused?: boolean | undefined;
    lastEventId?: string | undefined;
  },
): Promise<ProcessRecord> {
  const { signal, onEvent, untilPaused, lastEventId } = options;
  const follow = { ...(signal && { signal }), ...(lastEventId !== undefined && { lastEventId }) };
  for await (const event of followEvents(api, id, follow)) {
    onEvent?.(event);
    if (!untilPaused || !isPause(event)) continue;
    const record = await readProcess(api, id, signal);
    // The run may have continued, or its approval may not be stored yet.
    if (record.state === "paused" && record.approvals.length > 0) return record;
  }
  return readProcess(api, id, signal);
}

/** Between two pauses the state may change too briefly to be reported, so a new approval counts as a pause too. */
function isPause({ event, data }: ProcessEvent): boolean {
  return (event === "state" && data.state === "paused") || (event === "approval" && data.state === "pending");
}

/** Best effort: the caller no longer waits. */
async function killProcess(api: Api, id: number): Promise<void> {
  await api
    .POST("/processes/{id}/signals/kill", {
      params: { path: { id: String(id) } },
      signal: AbortSignal.timeout(KILL_TIMEOUT_MS),
    })
    .catch(() => {});
}

export async function readProcess(api: Api, id: number, signal?: AbortSignal): Promise<ProcessRecord> {
  return unwrap(
    await api.GET("/processes/{id}", {
      params: { path: { id: String(id) } },
      ...(signal !== undefined && { signal }),
    }),
  );
}

export async function waitUntilIdle(
  api: Api,
  id: number,
  { signal, untilPaused = false }: WaitOptions = {},
): Promise<ProcessRecord> {
  for (;;) {
    const record = unwrap(
      await api.GET("/processes/{id}", {
        params: { path: { id: String(id) }, query: { wait: String(LONG_POLL_MS) } },
        ...(signal !== undefined && { signal }),
      }),
    );
    if (record.state === "idle" || (record.state === "paused" && untilPaused)) return record;
    if (record.state === "paused") await sleep(PAUSED_POLL_MS, signal);
  }
}
