/** The adapter: definitions from documents, services in memory between hydrate and dehydrate, calls. */
import type { AdapterModule, AdapterSetupContext, InvokeInput, ServiceState } from "#sdk";
import type { Answer } from "./call/answer.ts";
import { type Credentials, createCredentials } from "./call/credentials.ts";
import { CallError } from "./call/failure.ts";
import { nameOf, prepareRequest } from "./call/request.ts";
import { send } from "./call/send.ts";
import { resolveOwnServer, resolveServer, resolveTokenUrl } from "./call/server-url.ts";
import { createTokenSource } from "./call/tokens.ts";
import { readServiceConfig, type ServiceConfig } from "./config.ts";
import { type ServiceDomain, serviceDomainSchema, type ToolDomain, toolDomainSchema } from "./domain.ts";
import { createGenerator } from "./generate/generator.ts";

interface Tool {
  plan: ToolDomain;
  base: string;
}

interface HydratedService {
  domain: ServiceDomain;
  config: ServiceConfig;
  tools: Map<string, Tool>;
  credentials: Credentials;
}

export function createOpenApiAdapter(): AdapterModule {
  const services = new Map<string, HydratedService>();
  const generator = createGenerator();
  let fetch: typeof globalThis.fetch | undefined;
  let keepSecret: (value: string) => void = () => {};

  function hydrate(state: ServiceState): HydratedService {
    const domain = serviceDomainSchema.parse(state.adapterDomain);
    const config = readServiceConfig(state.config);
    const base = resolveServer(domain.server, config);
    const tools = hydrateTools(state, config, base);
    const credentials = createCredentials(state.id, domain.schemes, state.secrets, (tokenUrl, client) =>
      createTokenSource(requireFetch(), resolveTokenUrl(tokenUrl, base), client, keepSecret),
    );
    return { domain, config, tools, credentials };
  }

  function requireFetch(): typeof globalThis.fetch {
    if (fetch === undefined) throw new Error("The adapter was not set up.");
    return fetch;
  }

  function hydrateTools(state: Pick<ServiceState, "tools">, config: ServiceConfig, base: string) {
    const tools = new Map<string, Tool>();
    for (const [id, tool] of Object.entries(state.tools)) {
      const plan = toolDomainSchema.parse(tool.adapterDomain);
      tools.set(id, {
        plan,
        base: plan.server === undefined ? base : resolveOwnServer(plan.server, config, base),
      });
    }
    return tools;
  }

  async function call(service: HydratedService, tool: Tool, input: InvokeInput): Promise<Answer> {
    const { plan, base } = tool;
    const { config, credentials, domain } = service;
    const prepare = () => prepareRequest(plan, base, config.headers, input.parameters);
    const deadline = performance.now() + config.timeoutMs;
    const timeout = AbortSignal.timeout(config.timeoutMs);
    const signal = input.signal === undefined ? timeout : AbortSignal.any([input.signal, timeout]);
    const sending = {
      fetch: requireFetch(),
      maxResponseBytes: config.maxResponseBytes,
      signal,
      remainingMs: () => deadline - performance.now(),
    };
    if (plan.method === "TRACE") {
      throw new CallError("unsupported_method", "TRACE cannot be sent: the fetch standard forbids it.");
    }
    const request = await prepare();
    try {
      const used = await credentials.apply(request, plan.security ?? domain.security, signal);
      const answer = await send(request, sending);
      if (answer.status !== "401" || !used.renew()) return answer;
      const again = await prepare();
      await credentials.apply(again, plan.security ?? domain.security, signal);
      return await send(again, sending);
    } catch (error) {
      if (input.signal?.aborted) throw new CallError("aborted", `${nameOf(request)} was stopped.`);
      if (!timeout.aborted) throw error;
      throw new CallError(
        "timeout",
        `${nameOf(request)} did not end within ${config.timeoutMs} ms (timeoutMs).`,
      );
    }
  }

  return {
    async setup(context: AdapterSetupContext) {
      fetch = context.fetch;
      keepSecret = context.keepSecret ?? keepSecret;
    },
    async teardown() {
      services.clear();
      await generator.close();
    },
    generateDefinition: (input, given) => generator.generate(input, given?.config.operationFilter),
    async hydrateService(state) {
      services.set(state.id, hydrate(state));
    },
    async dehydrateService(id) {
      services.delete(id);
    },
    async invoke(input) {
      const service = services.get(input.serviceId);
      const tool = service?.tools.get(input.toolId);
      if (service === undefined || tool === undefined) {
        throw new CallError("not_hydrated", `${input.serviceId}.${input.toolId} is not in service.`);
      }
      input.signal?.throwIfAborted();
      return call(service, tool, input);
    },
    secretOrigins(use) {
      // A document is read without asking any server.
      if ("definition" in use) return [];
      const { server, schemes, security } = serviceDomainSchema.parse(use.adapterDomain);
      const config = readServiceConfig(use.config);
      const base = resolveServer(server, config);
      const origins = new Set<string>();
      for (const { plan, base: ownBase } of hydrateTools(use, config, base).values()) {
        if ((plan.security ?? security).some((needed) => needed.length > 0))
          origins.add(new URL(ownBase).origin);
      }
      for (const scheme of schemes) {
        if (scheme.kind !== "oauth2" || scheme.tokenUrl === undefined) continue;
        origins.add(new URL(resolveTokenUrl(scheme.tokenUrl, base)).origin);
      }
      return [...origins];
    },
  };
}
