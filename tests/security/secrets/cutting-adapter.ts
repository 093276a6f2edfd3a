/** An adapter that cuts what a server has said before the host sees it, in the ways that are usual. */
import type { AdapterModule, InvokeInput, ServiceDefinition, ServiceState } from "#sdk";

const MAX_CHARACTERS = 100;
const ENDS: Record<string, string> = { plain: "", dots: "...", ellipsis: "…" };

export class CuttingAdapter implements AdapterModule {
  readonly #services = new Map<string, ServiceState>();

  async setup(): Promise<void> {}

  async teardown(): Promise<void> {
    this.#services.clear();
  }

  async generateDefinition(): Promise<ServiceDefinition> {
    return {
      name: "Cutting",
      description: "Cuts what it says.",
      configSchema: { type: "object" },
      secretsSchema: { type: "object", properties: { token: { type: "string" } } },
      adapterDomain: null,
      tools: Object.keys(ENDS).map((id) => ({
        id,
        name: id,
        description: id,
        inputSchema: { type: "object", properties: { pad: { type: "integer" } } },
        outputSchema: {},
        adapterDomain: null,
      })),
    };
  }

  async hydrateService(state: ServiceState): Promise<void> {
    this.#services.set(state.id, state);
  }

  async dehydrateService(id: string): Promise<void> {
    this.#services.delete(id);
  }

  async invoke({ serviceId, toolId, parameters }: InvokeInput): Promise<unknown> {
    const said = `${"x".repeat(Number(parameters.pad))}${this.#services.get(serviceId)?.secrets.token} was refused`;
    throw new Error(`${said.slice(0, MAX_CHARACTERS)}${ENDS[toolId]}`);
  }
}
