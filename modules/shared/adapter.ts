/**
 * Base of every adapter: keeps services between setup and teardown, and rejects calls to services it does not know.
 */
import type { z } from "zod";
import type {
  AdapterModule,
  AdapterSetupContext,
  DefinitionContext,
  DefinitionSource,
  InvokeInput,
  SecretDestination,
  SecretUse,
  ServiceDefinition,
  ServiceState,
} from "#sdk";
import { AdapterFailure } from "./failures.ts";
import { type Refuse, readSettings } from "./settings.ts";

export interface AdapterParts<Host, Service, Tool> {
  /** Validates the `adapterDomain` of a tool. */
  toolSchema: z.ZodType<Tool>;
  refuse: Refuse;
  /** Makes the error for a call to an unknown tool, if it differs from the usual one. */
  refuseCall?: Refuse;
  /** The context's `fetch` is the only way out: it enforces the host's egress rules. */
  setup(context: AdapterSetupContext): Host;
  define(host: Host, input: string, given: DefinitionContext | undefined): Promise<ServiceDefinition>;
  bundle?(host: Host, input: string, source: DefinitionSource): Promise<string>;
  hydrate(host: Host, state: ServiceState, tools: ReadonlyMap<string, Tool>): Service | Promise<Service>;
  invoke(host: Host, service: Service, tool: Tool, input: InvokeInput): Promise<unknown>;
  savesAnswers?: boolean;
  /** Frees the resources of a removed or replaced service. */
  release?(service: Service, why: "gone" | "replaced"): void | Promise<void>;
  stop?(): Promise<void>;
  secretOrigins(use: SecretUse): SecretDestination[] | Promise<SecretDestination[]>;
}

interface Held<Service, Tool> {
  service: Service;
  tools: ReadonlyMap<string, Tool>;
}

export function createAdapter<Host, Service, Tool>(parts: AdapterParts<Host, Service, Tool>): AdapterModule {
  const services = new Map<string, Held<Service, Tool>>();
  let held: { host: Host } | null = null;

  function requireHost(): Host {
    if (held === null) throw parts.refuse("The module is not set up.");
    return held.host;
  }

  async function takeDown(id: string): Promise<void> {
    const gone = services.get(id);
    services.delete(id);
    if (gone !== undefined) await parts.release?.(gone.service, "gone");
  }

  return {
    async setup(context) {
      if (typeof context.fetch !== "function") {
        throw parts.refuse(
          "The host provided no fetch. An adapter needs it, because it enforces the egress rules.",
        );
      }
      held = { host: parts.setup(context) };
    },
    async teardown() {
      await Promise.all([...services.keys()].map(takeDown));
      held = null;
      await parts.stop?.();
    },
    generateDefinition: async (input, given) => parts.define(requireHost(), input, given),
    bundleDefinition: async (input, source) => (await parts.bundle?.(requireHost(), input, source)) ?? input,
    async hydrateService(state) {
      const tools = readTools(state, parts);
      const service = await parts.hydrate(requireHost(), state, tools);
      const previous = services.get(state.id);
      services.set(state.id, { service, tools });
      if (previous !== undefined) await parts.release?.(previous.service, "replaced");
    },
    dehydrateService: takeDown,
    async invoke(input) {
      const { serviceId, toolId } = input;
      const found = services.get(serviceId);
      const tool = found?.tools.get(toolId);
      if (found === undefined || tool === undefined) {
        throw (parts.refuseCall ?? parts.refuse)(`There is no tool ${serviceId}.${toolId} in this adapter.`);
      }
      return parts.invoke(requireHost(), found.service, tool, input);
    },
    savesAnswers: parts.savesAnswers === true,
    secretOrigins: (use) => parts.secretOrigins(use),
  };
}

export function readTools<Tool>(
  { tools }: Pick<ServiceState, "tools">,
  { toolSchema, refuse }: Pick<AdapterParts<unknown, unknown, Tool>, "toolSchema" | "refuse">,
): Map<string, Tool> {
  return new Map(
    Object.entries(tools).map(([id, tool]) => [
      id,
      readSettings(toolSchema, tool.adapterDomain, "tool", refuse),
    ]),
  );
}

/** Returns whether the server requires credentials that the service does not have yet. */
export function mustWaitForSecrets(error: unknown, given: DefinitionContext | undefined): boolean {
  const wantsCredentials = error instanceof AdapterFailure && (error.status === 401 || error.status === 403);
  return wantsCredentials && (given === undefined || given.secretsWithheld === true);
}
