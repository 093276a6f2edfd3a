/**
 * An adapter as careless as can be: its tools call an upstream server with a secret and hand on, throw and log whatever
 * comes back. Written against the module contract alone.
 */
import type { AdapterModule, InvokeInput, ModuleSetupContext, ServiceDefinition, ServiceState } from "#sdk";

const TOOLS = ["echo", "fail", "log"];
/** A secret that begins so is refused, with itself in the reason. */
export const REFUSED_PREFIX = "refused-";

export class LeakyAdapter implements AdapterModule {
  readonly #services = new Map<string, ServiceState>();
  #context: ModuleSetupContext | null = null;

  async setup(context: ModuleSetupContext): Promise<void> {
    this.#context = context;
  }

  async teardown(): Promise<void> {
    this.#services.clear();
  }

  async generateDefinition(url: string): Promise<ServiceDefinition> {
    return {
      name: "Leaky",
      description: "Says everything it knows.",
      configSchema: { type: "object" },
      secretsSchema: {
        type: "object",
        properties: { token: { type: "string", minLength: 8 } },
        additionalProperties: false,
      },
      adapterDomain: { url },
      tools: TOOLS.map((id) => ({
        id,
        name: id,
        description: id,
        inputSchema: { type: "object" },
        outputSchema: {},
        adapterDomain: null,
      })),
    };
  }

  async hydrateService(state: ServiceState): Promise<void> {
    const token = String(state.secrets.token);
    if (token.startsWith(REFUSED_PREFIX)) throw new Error(`the upstream refuses ${token}`);
    this.#services.set(state.id, state);
  }

  async dehydrateService(id: string): Promise<void> {
    this.#services.delete(id);
  }

  async invoke({ serviceId, toolId, signal }: InvokeInput): Promise<unknown> {
    const { secrets, adapterDomain } = this.#services.get(serviceId) as ServiceState;
    const { fetch, logger } = this.#context as ModuleSetupContext;
    const token = String(secrets.token);
    const basic = Buffer.from(`user:${token}`).toString("base64");
    const response = await fetch(`${(adapterDomain as { url: string }).url}?q=${encodeURIComponent(token)}`, {
      headers: { authorization: `Bearer ${token}`, "x-basic": basic },
      ...(signal ? { signal } : {}),
    });
    const answer = {
      status: String(response.status),
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    };
    if (toolId === "log")
      logger.info({ answer, err: new Error(answer.body) }, `upstream said ${answer.body}`);
    if (toolId === "fail")
      throw Object.assign(new Error(`upstream said ${answer.body}`), {
        name: `E-${token}`,
        code: token,
        answer,
      });
    return { ...answer, [token]: token, parsed: JSON.parse(answer.body) as unknown };
  }
}
