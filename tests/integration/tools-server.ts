/** A server with one adapter whose tools are functions of the test, installed and enabled over HTTP. */
import type { BuiltinModule } from "#api/components/modules/builtins.ts";
import type { AdapterModule, InvokeInput, ServiceDefinition } from "#sdk";
import { type Answer, type StartServerOptions, startServer, type TestServer } from "./harness/server.ts";
import { builtin } from "./modules-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";

export interface TestTool {
  inputSchema?: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  name?: string;
  description?: string;
  destructive?: boolean;
  invoke?: (input: InvokeInput) => unknown;
}

export interface ToolsServer extends TestServer {
  environment: ScriptedEnvironment;
  /** Installs and enables a service; a second time with the same id replaces its tools. */
  addService(
    id: string,
    tools: Record<string, TestTool>,
    details?: { name?: string; description?: string },
  ): Promise<void>;
  invoke(path: string, parameters?: unknown, headers?: Record<string, string>): Promise<Answer>;
  patch(path: string, json: unknown): Promise<Answer>;
  /** Calls that have reached the adapter. */
  calls: InvokeInput[];
}

export interface ToolsServerOptions extends Omit<StartServerOptions, "builtins"> {
  /** Default: the scripted environment. */
  environments?: readonly BuiltinModule[];
  /** Functions of services that the database has already. */
  services?: Readonly<Record<string, Record<string, TestTool>>>;
}

export async function startToolsServer(options: ToolsServerOptions = {}): Promise<ToolsServer> {
  const services = new Map(Object.entries(options.services ?? {}));
  const installed = new Set<string>();
  const calls: InvokeInput[] = [];
  const environment = new ScriptedEnvironment();
  const adapter: AdapterModule = {
    setup: async () => {},
    teardown: async () => {},
    generateDefinition: async (input) => JSON.parse(input) as ServiceDefinition,
    hydrateService: async () => {},
    dehydrateService: async () => {},
    invoke: async (input) => {
      calls.push(input);
      const tool = services.get(input.serviceId)?.[input.toolId];
      return tool?.invoke === undefined ? { echoed: input.parameters } : tool.invoke(input);
    },
  };
  const { environments, services: _, ...rest } = options;
  const server = await startServer({
    ...rest,
    builtins: [
      ...(environments ?? [builtin({ id: "typescript-process" }, () => environment)]),
      builtin({ id: "functions", type: "adapter" }, () => adapter),
    ],
  });
  const must = (answer: Answer) => {
    if (answer.status >= 300) throw new Error(`answered ${answer.status}: ${answer.text}`);
  };
  return {
    ...server,
    environment,
    calls,
    async addService(id, tools, details = {}) {
      const known = installed.has(id);
      installed.add(id);
      services.set(id, tools);
      const content = JSON.stringify(define(id, tools, details));
      must(
        known
          ? await server.request("PATCH", `/services/${id}`, { json: { content } })
          : await server.post("/services", { id, adapter: "functions", content }),
      );
      must(await server.post(`/services/${id}/enabled`, { enabled: true }));
    },
    invoke: (path, parameters = {}, headers) =>
      server.post(`/tools/${path.replace(".", "/")}/invoke`, { parameters }, headers),
    patch: (path, json) => server.request("PATCH", path, { json }),
  };
}

function define(
  id: string,
  tools: Record<string, TestTool>,
  details: { name?: string; description?: string },
) {
  return {
    name: details.name ?? id,
    description: details.description ?? "",
    configSchema: {},
    secretsSchema: {},
    adapterDomain: {},
    tools: Object.entries(tools).map(([toolId, tool]) => ({
      id: toolId,
      name: tool.name ?? toolId,
      description: tool.description ?? "",
      inputSchema: tool.inputSchema ?? { type: "object" },
      outputSchema: tool.outputSchema ?? {},
      adapterDomain: {},
      destructive: tool.destructive ?? false,
    })),
  };
}
