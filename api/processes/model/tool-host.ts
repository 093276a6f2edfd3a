/** What runs ask of the tools of installed services, and the error shape a script sees when they cannot have it. */
import type { CallClock } from "#api/bounds/call-clock.ts";
import type { CallStatus } from "#api/processes/model/schemas.ts";
import type { CallCaller, CallInRun, CallWorkspace, ToolPath } from "#api/tools/gate.ts";
import type {
  DiscoverServices,
  DiscoverTools,
  InvokeInput,
  OpenStream,
  ServiceDetails,
  ServiceSummary,
  ToolDetails,
  ToolSummary,
} from "#sdk";

/** A call with everything it runs under. `signal` aborts when the run is killed or over: then `invoke` rejects at once. */
export interface HostedCall extends ToolPath {
  parameters: Record<string, unknown>;
  caller: CallCaller;
  signal: AbortSignal;
  /** The call as part of its run; absent where no person can be asked. */
  run?: CallInRun | undefined;
  /** That of its trail. */
  clock: CallClock;
  workspace: CallWorkspace;
  /** Told which tool makes a request of `fetch`, and with which parameters, before it is. */
  onResolved(path: ToolPath, parameters: HostedCall["parameters"]): void;
  warn: InvokeInput["warn"];
  /** How the script reads the body of an answer to `fetch` while it comes. */
  openStream?: OpenStream | undefined;
  /** Told the HTTP status of the service's answer. */
  onAnswered(httpStatus: number): void;
  /** False: an answer that says it failed is given as any other. */
  throwOnError: false | undefined;
}

/** What it rejects with may say its `outcome` for the trail: `error` where it does not. */
export interface ToolHost {
  invoke(call: HostedCall): Promise<unknown>;
  // The signals abort when the run is over.
  discoverServices(
    query: DiscoverServices,
    caller: CallCaller,
    signal: AbortSignal,
  ): Promise<ServiceSummary[]>;
  discoverTools(query: DiscoverTools, caller: CallCaller, signal: AbortSignal): Promise<ToolSummary[]>;
  getService(id: string, caller: CallCaller, signal: AbortSignal): Promise<ServiceDetails>;
  getTool(path: ToolPath, caller: CallCaller, signal: AbortSignal): Promise<ToolDetails>;
  getToolDocs(path: ToolPath, caller: CallCaller, signal: AbortSignal): Promise<string>;
}

/** A refusal or failure a script can read: `name`, `message`, `code`, sometimes `status`; no stack crosses. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: string;
  readonly status: number | undefined;
  readonly outcome: Exclude<CallStatus, "ok">;

  constructor(code: string, message: string, status?: number, outcome: Exclude<CallStatus, "ok"> = "error") {
    super(message);
    this.code = code;
    this.status = status;
    this.outcome = outcome;
  }
}

function refuseService(id: string): ToolError {
  return new ToolError(
    "not_found",
    `There is no service "${id}": no services are installed on this server.`,
    404,
  );
}

/** The tools of a server without services: lists are empty, everything else is refused. */
export const NO_TOOLS: ToolHost = {
  invoke: async ({ serviceId }) => {
    throw refuseService(serviceId);
  },
  discoverServices: async () => [],
  discoverTools: async () => [],
  getService: async (id) => {
    throw refuseService(id);
  },
  getTool: async ({ serviceId }) => {
    throw refuseService(serviceId);
  },
  getToolDocs: async ({ serviceId }) => {
    throw refuseService(serviceId);
  },
};
