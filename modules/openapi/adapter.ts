/** Generates definitions from documents, keeps services between hydrate and dehydrate, and performs calls. */
import { createAdapter, readTools } from "#modules/shared/adapter.ts";
import { quoteForeign } from "#modules/shared/failures.ts";
import { createJobThread, type JobThread } from "#modules/shared/job-thread.ts";
import { withLimits } from "#modules/shared/limits.ts";
import {
  type AdapterModule,
  type AdapterSetupContext,
  type InvokeInput,
  type SecretDestination,
  type ServiceDefinition,
  serviceDefinitionSchema,
} from "#sdk";
import { type Bundling, bundleDefinition } from "./beside.ts";
import type { Answer } from "./call/answer.ts";
import { type Credentials, createCredentials } from "./call/credentials.ts";
import { nameOf, prepareRequest } from "./call/request.ts";
import { send } from "./call/send.ts";
import { createTokenSource } from "./call/tokens.ts";
import {
  readServiceConfig,
  resolveOwnServer,
  resolveServer,
  resolveTokenUrl,
  type ServiceConfig,
} from "./config.ts";
import { type ServiceDomain, serviceDomainSchema, type ToolDomain, toolDomainSchema } from "./domain.ts";
import { CallError, DocumentError } from "./failures.ts";
import type { Scan } from "./generate/bundle.ts";
import type { Bytes, GenerationAnswer, GenerationJob } from "./generate/generation-thread.ts";

const GENERATION_LIMITS = {
  maxHeapMb: 384,
  /** Kept small: most of what is read soon becomes garbage, and this bounds the server's peak memory. */
  maxYoungHeapMb: 8,
  maxRunMs: 30_000,
  maxWaiting: 100,
  maxKeptTextChars: 1024 * 1024,
  idleMs: 10_000,
} as const;

interface Service {
  domain: ServiceDomain;
  config: ServiceConfig;
  bases: Map<ToolDomain, string>;
  credentials: Credentials;
}

const PARTS = {
  toolSchema: toolDomainSchema,
  refuse: (problem: string) => new Error(problem),
  refuseCall: (problem: string) => new CallError("not_hydrated", problem),
};

export function createOpenApiAdapter(): AdapterModule {
  const thread = createJobThread<GenerationJob, GenerationAnswer>(
    new URL("./generate/generation-thread.ts", import.meta.url),
    GENERATION_LIMITS,
  );
  return createAdapter<AdapterSetupContext, Service, ToolDomain>({
    ...PARTS,
    setup: (context) => context,
    define: (_context, input, given) => generate(thread, input, given?.config.operationFilter),
    bundle: (_context, input, source) => bundleDefinition(bundlingIn(thread), input, source),

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
    savesAnswers: true,

    stop: async () => thread[Symbol.asyncDispose](),

    secretOrigins(use) {
      if ("definition" in use) return [];
      const { server, schemes, security } = serviceDomainSchema.parse(use.adapterDomain);
      const config = readServiceConfig(use.config);
      const base = resolveServer(server, config);
      const found = new Map<string, SecretDestination>();
      // Bind each secret separately: the secret of one scheme must not reach the origins of another.
      const add = (url: string, what: string, secret: string) => {
        const { origin } = new URL(url);
        const place = `${origin} (${what} ${secret})`;
        found.set(place, { place, secret, formerly: origin });
      };
      for (const [plan, ownBase] of resolveBases(readTools(use, PARTS).values(), config, base)) {
        for (const { scheme } of (plan.security ?? security).flat()) add(ownBase, "scheme", scheme);
      }
      for (const scheme of schemes) {
        if (scheme.kind !== "oauth2" || scheme.tokenUrl === undefined) continue;
        // The client secret itself goes only to the token URL.
        add(resolveTokenUrl(scheme.tokenUrl, base), "tokens of scheme", scheme.name);
      }
      return [...found.values()];
    },
  });
}

async function generate(
  thread: JobThread<GenerationJob, GenerationAnswer>,
  text: string,
  filter: unknown,
): Promise<ServiceDefinition> {
  const answer = await runJob(thread, { kind: "generate", filter }, text);
  return readDefinition(answer as Extract<GenerationAnswer, { tools: Bytes[] }>);
}

function bundlingIn(thread: JobThread<GenerationJob, GenerationAnswer>): Bundling {
  return {
    scan: async (url, text) => (await runJob(thread, { kind: "scan", url }, text)) as Scan,
    async bundle(url, text, found) {
      const answer = await runJob(thread, { kind: "bundle", url, found }, text);
      return new TextDecoder().decode((answer as Extract<GenerationAnswer, { bundled: Bytes }>).bundled);
    },
  };
}

type WithoutDocument<Job> = Job extends unknown ? Omit<Job, "document"> : never;

/**
 * Runs in its own thread, one document at a time: a document that exhausts memory or time ends its thread, and the
 * server continues. @throws DocumentError
 */
async function runJob(
  thread: JobThread<GenerationJob, GenerationAnswer>,
  job: WithoutDocument<GenerationJob>,
  text: string,
): Promise<GenerationAnswer> {
  // Transfers bytes: a string would be copied twice, at two bytes per character.
  const document = new TextEncoder().encode(text);
  const end = await thread.run({ ...job, document }, GENERATION_LIMITS.maxRunMs, {
    transfer: [document.buffer],
    endsThread: text.length > GENERATION_LIMITS.maxKeptTextChars,
  });
  if (end.kind !== "answered") {
    throw new DocumentError(`The document could not be read: ${end.message}.${ADVICE.get(end.kind) ?? ""}`);
  }
  if ("refused" in end.answer) {
    throw new DocumentError(quoteForeign(end.answer.refused, MAX_REFUSAL_CHARACTERS));
  }
  return end.answer;
}

const MAX_REFUSAL_CHARACTERS = 2000;

const ADVICE = new Map([
  ["memory", " Leave operations out."],
  ["busy", " Try again later."],
]);

function readDefinition({ service, tools }: { service: Bytes; tools: Bytes[] }): ServiceDefinition {
  const parse = (bytes: Bytes): object => JSON.parse(new TextDecoder().decode(bytes));
  return serviceDefinitionSchema.parse({ ...parse(service), tools: tools.map(parse) });
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
  { parameters, signal: wish, files, save, onAnswered }: InvokeInput,
): Promise<Answer> {
  if (plan.method === "TRACE") {
    throw new CallError("unsupported_method", "TRACE cannot be sent: the fetch standard forbids it.");
  }
  const { timeoutMs } = config;
  const base = bases.get(plan) as string;
  const prepare = () => prepareRequest(plan, base, config.headers, { parameters, ...(files && { files }) });
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
    const sending = {
      fetch,
      ...config,
      accept: plan.accept,
      save,
      signal,
      remainingMs: () => deadline - performance.now(),
    };
    const used = await credentials.apply(request, plan.security ?? domain.security, signal);
    const answer = await send(request, sending);
    if (answer.status !== 401 || !used.renew()) return requireGood(answer);
    const again = await prepare();
    await credentials.apply(again, plan.security ?? domain.security, signal);
    return requireGood(await send(again, sending));
  });

  function requireGood(answer: Answer): Answer {
    onAnswered?.(answer.status);
    if (answer.status < 400) return answer;
    throw new CallError("http_error", `${what} answered ${answer.status}.`, answer.status, answer);
  }
}
