/** What runs ask of the tools of installed services, and the error shape a script sees when they cannot have it. */
import type {
  DiscoverServices,
  DiscoverTools,
  InvokeInput,
  ServiceDetails,
  ServiceSummary,
  ToolDetails,
  ToolSummary,
} from "#sdk";

/** A call with everything it runs under. `signal` aborts when the run is killed or over, or the call took too long. */
export type HostedCall = Required<
  Pick<InvokeInput, "serviceId" | "toolId" | "parameters" | "eid" | "signal">
>;
export type ToolCaller = (call: HostedCall) => Promise<unknown>;

export interface ToolHost {
  invoke: ToolCaller;
  discoverServices(query: DiscoverServices): Promise<ServiceSummary[]>;
  discoverTools(query: DiscoverTools): Promise<ToolSummary[]>;
  getService(id: string): Promise<ServiceDetails>;
  getTool(serviceId: string, toolId: string): Promise<ToolDetails>;
  getToolDocs(serviceId: string, toolId: string): Promise<string>;
}

/** A refusal or failure a script can read: `name`, `message`, `code`, sometimes `status`; no stack crosses. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: string;
  readonly status: number | undefined;

  constructor(code: string, message: string, status?: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

function refuseService(id: string): ToolError {
  return new ToolError(
    "service_not_found",
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
  getTool: async (serviceId) => {
    throw refuseService(serviceId);
  },
  getToolDocs: async (serviceId) => {
    throw refuseService(serviceId);
  },
};
