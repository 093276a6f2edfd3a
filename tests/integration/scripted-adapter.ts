/** An adapter that a test drives: its definitions are JSON that says what to make, and what it does is recorded. */
import type { AdapterModule, DefinitionContext, InvokeInput, ServiceDefinition, ServiceState } from "#sdk";

/** What a definition may say. Everything else in it is ignored. */
export interface ScriptedDefinition {
  name?: string;
  /** Ids; or whole tools, to try what an adapter should not say. */
  tools?: unknown[];
  configSchema?: unknown;
  secretsSchema?: unknown;
  adapterDomain?: unknown;
  /** Refuses with this message. */
  refuse?: string;
}

export function define(definition: ScriptedDefinition): string {
  return JSON.stringify(definition);
}

export class ScriptedAdapter implements AdapterModule {
  /** `hydrate a`, `dehydrate a`, `generate`, `setup`, `teardown`, in order. */
  readonly events: string[] = [];
  readonly held = new Map<string, ServiceState>();
  readonly handed: ServiceState[] = [];
  generated = 0;
  /** The settings that came with the last definition. */
  given: DefinitionContext | undefined;
  /** Why a state is refused; null takes it. */
  refuse: (state: ServiceState) => string | null = () => null;
  beforeHydrate: (state: ServiceState) => Promise<void> = async () => {};
  beforeDehydrate: (id: string) => Promise<void> = async () => {};
  /** Comes between a definition and its tools. */
  rewrite: (made: ServiceDefinition) => unknown = (made) => made;
  beforeGenerate: () => Promise<void> = async () => {};
  /** Set: it says where secrets go. */
  secretOrigins?: NonNullable<AdapterModule["secretOrigins"]>;

  async setup(): Promise<void> {
    this.events.push("setup");
  }

  async teardown(): Promise<void> {
    this.events.push("teardown");
    this.held.clear();
  }

  async generateDefinition(input: string, given?: DefinitionContext): Promise<ServiceDefinition> {
    this.events.push("generate");
    this.given = given;
    this.generated += 1;
    await this.beforeGenerate();
    const definition = JSON.parse(input) as ScriptedDefinition;
    if (definition.refuse !== undefined) throw new Error(definition.refuse);
    const made = {
      name: definition.name ?? "A service",
      description: "Made by a script.",
      configSchema: definition.configSchema ?? { type: "object" },
      secretsSchema: definition.secretsSchema ?? { type: "object" },
      tools: (definition.tools ?? ["one"]).map((tool) => (typeof tool === "string" ? makeTool(tool) : tool)),
      adapterDomain: definition.adapterDomain ?? { of: definition.name ?? null },
    } as ServiceDefinition;
    return this.rewrite(made) as ServiceDefinition;
  }

  async hydrateService(state: ServiceState): Promise<void> {
    this.events.push(`hydrate ${state.id}`);
    this.handed.push(structuredClone(state));
    await this.beforeHydrate(state);
    const reason = this.refuse(state);
    if (reason !== null) throw new Error(reason);
    this.held.set(state.id, state);
  }

  async dehydrateService(id: string): Promise<void> {
    this.events.push(`dehydrate ${id}`);
    await this.beforeDehydrate(id);
    this.held.delete(id);
  }

  async invoke({ serviceId, toolId, parameters }: InvokeInput): Promise<unknown> {
    const state = this.held.get(serviceId);
    if (!state) throw new Error(`${serviceId} is not held`);
    return { toolId, parameters, config: state.config };
  }
}

function makeTool(id: string) {
  return {
    id,
    name: `Tool ${id}`,
    description: `Does ${id}.`,
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
    outputSchema: { type: "object" },
    adapterDomain: { path: `/${id}` },
    destructive: id.startsWith("delete"),
  };
}
