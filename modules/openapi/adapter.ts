/** The adapter: definitions from documents, services in memory between hydrate and dehydrate, calls. */
import { createAdapter, readTools } from "#modules/shared/adapter.ts";
import { withLimits } from "#modules/shared/limits.ts";
import type { AdapterModule, AdapterSetupContext, InvokeInput } from "#sdk";
import type { Answer } from "./call/answer.ts";
import { type Credentials, createCredentials } from "./call/credentials.ts";
import { nameOf, prepareRequest } from "./call/request.ts";
import { send } from "./call/send.ts";
import { resolveOwnServer, resolveServer, resolveTokenUrl } from "./call/server-url.ts";
import { createTokenSource } from "./call/tokens.ts";
import { readServiceConfig, type ServiceConfig } from "./config.ts";
import { type ServiceDomain, serviceDomainSchema, type ToolDomain, toolDomainSchema } from "./domain.ts";
import { CallError } from "./failures.ts";
import { createGenerator } from "./generate/generator.ts";

interface Service {
  domain: ServiceDomain;
  config: ServiceConfig;
  /** Where each tool's requests go. */
  bases: Map<ToolDomain, string>;
  credentials: Credentials;
}

const PARTS = {
  toolSchema: toolDomainSchema,
  refuse: (problem: string) => new Error(problem),
  refuseCall: (problem: string) => new CallError("not_hydrated", problem),
};

export function createOpenApiAdapter(): AdapterModule {
  const generator = createGenerator();
  return createAdapter<AdapterSetupContext, Service, ToolDomain>({
    ...PARTS,
    setup: (context) => context,
    define: (_context, input, given) => generator.generate(input, given?.config.operationFilter),

    hydrate({ fetch, keepSecret }, state, tools) {
      const domain = serviceDomainSchema.parse(state.adapterDomain);
      const config = readServiceConfig(state.config);
      const base = resolveServer(domain.server, config);
      const credentials = createCredentials(state.id, domain.schemes, state.secrets, (tokenUrl, client) =>
        createTokenSource(fetch, resolveTokenUrl(tokenUrl, base), client, keepSecret),
      );
      return { domain, config, bases: resolveBases(tools.values(), config, base), credentials };
    },

    invoke: ({ fetch }, service, tool, input) => call(fetch, service, tool, input),

    stop: () => generator.close(),

    secretOrigins(use) {
      // A document is read without asking any server.
      if ("definition" in use) return [];
      const { server, schemes, security } = serviceDomainSchema.parse(use.adapterDomain);
      const config = readServiceConfig(use.config);
      const base = resolveServer(server, config);
      const origins = new Set<string>();
      for (const [plan, ownBase] of resolveBases(readTools(use, PARTS).values(), config, base)) {
        if ((plan.security ?? security).some((needed) => needed.length > 0))
          origins.add(new URL(ownBase).origin);
      }
      for (const scheme of schemes) {
        if (scheme.kind !== "oauth2" || scheme.tokenUrl === undefined) continue;
        origins.add(new URL(resolveTokenUrl(scheme.tokenUrl, base)).origin);
      }
      return [...origins];
    },
  });
}

function resolveBases(
  tools: Iterable<ToolDomain>,
  config: ServiceConfig,
  base: string,
): Map<ToolDomain, string> {
  const bases = new Map<ToolDomain, string>();
  for (const plan of tools) {
    bases.set(plan, plan.server === undefined ? base : resolveOwnServer(plan.server, config, base));
  }
  return bases;
}

async function call(
  fetch: typeof globalThis.fetch,
  { bases, config, credentials, domain }: Service,
  plan: ToolDomain,
  { parameters, signal: wish }: InvokeInput,
): Promise<Answer> {
  if (plan.method === "TRACE") {
    throw new CallError("unsupported_method", "TRACE cannot be sent: the fetch standard forbids it.");
  }
  const { timeoutMs, maxResponseBytes } = config;
  const base = bases.get(plan) as string;
  const prepare = () => prepareRequest(plan, base, config.headers, parameters);
  const request = await prepare();
  const what = nameOf(request);
  const deadline = performance.now() + timeoutMs;
  const limits = {
    timeoutMs,
    signals: [wish],
    onTimeout: () => new CallError("timeout", `${what} did not end within ${timeoutMs} ms (timeoutMs).`),
    onCancel: () => new CallError("aborted", `${what} was stopped.`),
  };
  return withLimits(limits, async (signal) => {
    const sending = { fetch, maxResponseBytes, signal, remainingMs: () => deadline - performance.now() };
    const used = await credentials.apply(request, plan.security ?? domain.security, signal);
    const answer = await send(request, sending);
    if (answer.status !== "401" || !used.renew()) return answer;
    const again = await prepare();
    await credentials.apply(again, plan.security ?? domain.security, signal);
    return send(again, sending);
  });
}
