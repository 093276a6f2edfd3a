/** Tools without services and adapters: lists are empty, and a given function makes every call. */
import { ToolError } from "#api/processes/calls/errors.ts";
import type { CallPlan, OpenCall, ToolCall, ToolHost } from "#api/tools/contract.ts";

/** A call as `createTools` gets it: all that a run gives with one. */
export type HostedCall = ToolCall;

/** `ask`: what an approver is to decide about a call. Default: every call may be made at once. */
export function createTools(
  invoke: (call: HostedCall) => Promise<unknown>,
  plan: (call: HostedCall) => Promise<CallPlan["asked"]> = async () => null,
): ToolHost {
  return {
    ...NO_TOOLS,
    open: (call) => ({ ...call, signal: call.signal ?? new AbortController().signal }),
    async plan(call, approved) {
      const asked = approved === undefined ? await plan(call as HostedCall) : null;
      return { call, destructive: true, asked };
    },
    perform: ({ call }) => invoke(call as HostedCall),
  };
}

function refuseService(id: string): ToolError {
  return new ToolError(
    "not_found",
    `There is no service "${id}": no services are installed on this server.`,
    404,
  );
}

/** The tools of a server without services. */
export const NO_TOOLS: ToolHost = {
  open: (call): OpenCall => ({ ...call, signal: call.signal ?? new AbortController().signal }),
  plan: async ({ serviceId }) => {
    throw refuseService(serviceId);
  },
  perform: async ({ call }) => {
    throw refuseService(call.serviceId);
  },
  refuse: (_call, { failure, message }) => new ToolError(failure, message),
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
