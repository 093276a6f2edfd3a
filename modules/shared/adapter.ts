/**
 * The frame of an adapter: its services between set-up and teardown, and the refusal of calls of services it does not
 * hold. An adapter supplies what a definition becomes, what it keeps of a service, and how a tool is called.
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
  /** What the adapter has kept of a tool in its `adapterDomain`. */
  toolSchema: z.ZodType<Tool>;
  /** The adapter's error for settings. */
  refuse: Refuse;
  /** The adapter's error for a call of an unknown tool, where it differs. */
  refuseCall?: Refuse;
  /** `fetch` of the context is the only way out: the host's egress rules are in it. */
  setup(context: AdapterSetupContext): Host;
  define(host: Host, input: string, given: DefinitionContext | undefined): Promise<ServiceDefinition>;
  /** As `bundleDefinition` in the contract. */
  bundle?(host: Host, input: string, source: DefinitionSource): Promise<string>;
  hydrate(host: Host, state: ServiceState, tools: ReadonlyMap<string, Tool>): Service | Promise<Service>;
  invoke(host: Host, service: Service, tool: Tool, input: InvokeInput): Promise<unknown>;
  /** As in the contract. */
  savesAnswers?: boolean;
  /** Frees what a service holds, when it is taken down or replaced by another state. */
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
        throw parts.refuse("The host gave no fetch; without it no request can be guarded.");
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

/** What the host has stored of a service's tools, by their ids. */
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

/** Whether a server that was asked for its tools wants credentials which the service does not have yet. */
export function mustWaitForSecrets(error: unknown, given: DefinitionContext | undefined): boolean {
  const wantsCredentials = error instanceof AdapterFailure && (error.status === 401 || error.status === 403);
  return wantsCredentials && (given === undefined || given.secretsWithheld === true);
}
