/**
 * GraphQL endpoints as services: one tool per query and mutation field, each with one operation that is posted. The
 * library is loaded on first use, because many servers have no such service.
 */
import { createAdapter, mustWaitForSecrets } from "#modules/shared/adapter.ts";
import { quoteForeign } from "#modules/shared/failures.ts";
import { createJobThread, type JobThread } from "#modules/shared/job-thread.ts";
import { httpSecretsSchema, makeHeaders, readSettings, toSettingsSchema } from "#modules/shared/settings.ts";
import type { AdapterModule, AdapterSetupContext, DefinitionContext, ServiceDefinition } from "#sdk";
import { type Endpoint, type GraphqlAnswer, post } from "./call/endpoint.ts";
import type { Operations } from "./call/operation.ts";
import { type ModuleConfig, moduleConfigSchema, readEndpoint, serviceConfigSchema } from "./config.ts";
import { type ServiceDomain, serviceDomainSchema, type ToolDomain, toolDomainSchema } from "./domain.ts";
import { GraphqlFailure, refuseSettings } from "./failures.ts";
import type { Definition } from "./generate/definition.ts";
import type { GenerateAnswer, Generated, GenerateJob } from "./generate/generation-thread.ts";

const MAX_SERVICE_DESCRIPTION_CHARACTERS = 4000;

const MAX_GENERATE_MS = 60_000;
const GENERATION_LIMITS = { maxHeapMb: 768, maxYoungHeapMb: 64, maxWaiting: 100, idleMs: 10_000 };

/** Schema of a service without tools, whose endpoint has not sent its own yet. */
const NO_SCHEMA = "type Query { none: Boolean }";

interface Host {
  fetch: AdapterSetupContext["fetch"];
  config: ModuleConfig;
}

interface Service {
  endpoint: Endpoint;
  operations(): Promise<Operations>;
  gone: AbortController;
}

export function createGraphqlAdapter(): AdapterModule {
  const thread = createJobThread<GenerateJob, GenerateAnswer>(
    new URL("./generate/generation-thread.ts", import.meta.url),
    GENERATION_LIMITS,
  );
  return createAdapter<Host, Service, ToolDomain>({
    toolSchema: toolDomainSchema,
    refuse: refuseSettings,

    setup: ({ fetch, config }) => ({
      fetch,
      config: readSettings(moduleConfigSchema, config, "config", refuseSettings),
    }),

    async define(host, input, given) {
      const { readDefinition } = await import("./generate/definition.ts");
      const definition = readDefinition(input);
      const source = definition.schema ?? (await ask(host, definition.endpoint, given));
      if (source === null) return describeLocked(definition);
      const { maxDepth, maxFields, maxTools } = host.config;
      return describeService(
        definition,
        await generate(thread, { source, limits: { maxDepth, maxFields, maxTools } }),
      );
    },

    hydrate(host, state) {
      const domain = readDomain(state.adapterDomain);
      const endpoint = makeEndpoint(host, domain.endpoint, state);
      let made: Promise<Operations> | null = null;
      const operations = () => {
        made ??= import("./call/operation.ts").then(({ createOperations }) =>
          createOperations(domain.sdl ?? NO_SCHEMA),
        );
        return made;
      };
      return { endpoint, operations, gone: new AbortController() };
    },

    async invoke(_host, { endpoint, operations, gone }, tool, { parameters, signal, onAnswered }) {
      const request = (await operations()).makeRequest(tool, parameters);
      const answer = await post(endpoint, request, [signal, gone.signal]);
      onAnswered?.(answer.status);
      return readResult(tool, answer);
    },

    release({ gone }, why) {
      if (why === "gone") gone.abort();
    },

    stop: async () => thread[Symbol.asyncDispose](),

    async secretOrigins(use) {
      const originOf = (endpoint: string | null) => [readUrl(endpoint, use.config).origin];
      if (!("definition" in use)) return originOf(readDomain(use.adapterDomain).endpoint);
      const { readDefinition } = await import("./generate/definition.ts");
      const { endpoint, schema } = readDefinition(use.definition);
      // Without a stored schema, the adapter asks the endpoint for it.
      return schema === null ? originOf(endpoint) : [];
    },
  });
}

/** Runs in its own thread, limited in time and memory: a large schema takes a second, a hostile one never ends. */
async function generate(
  thread: JobThread<GenerateJob, GenerateAnswer>,
  job: GenerateJob,
): Promise<Generated> {
  const end = await thread.run(job, MAX_GENERATE_MS, { endsThread: true });
  if (end.kind !== "answered") {
    throw new GraphqlFailure(
      "graphql_bad_definition",
      `The schema cannot be used: ${quoteForeign(end.message, 300)}.`,
    );
  }
  if (!end.answer.ok) throw new GraphqlFailure(end.answer.code, end.answer.message);
  return end.answer.made;
}

function readDomain(domain: unknown): ServiceDomain {
  return readSettings(serviceDomainSchema, domain, "definition", refuseSettings);
}

function readConfig(definedEndpoint: string | null, config: Record<string, unknown>) {
  return readSettings(serviceConfigSchema(definedEndpoint), config, "config", refuseSettings);
}

function readUrl(definedEndpoint: string | null, config: Record<string, unknown>): URL {
  return readEndpoint(readConfig(definedEndpoint, config).endpoint, "config.endpoint");
}

function makeEndpoint(
  { fetch }: Host,
  definedEndpoint: string | null,
  settings: DefinitionContext,
): Endpoint {
  const config = readConfig(definedEndpoint, settings.config);
  const secrets = readSettings(httpSecretsSchema, settings.secrets, "secrets", refuseSettings);
  return {
    fetch,
    url: readEndpoint(config.endpoint, "config.endpoint"),
    headers: makeHeaders(config, secrets, refuseSettings),
    timeoutMs: config.timeoutMs,
    maxResponseBytes: config.maxResponseBytes,
  };
}

/** Returns the endpoint's schema, or null if it requires credentials that the service does not have yet. */
async function ask(
  host: Host,
  endpoint: string | null,
  given: DefinitionContext | undefined,
): Promise<Definition["schema"]> {
  try {
    const { introspect } = await import("./generate/definition.ts");
    const result = await introspect({
      ...makeEndpoint(host, endpoint, given ?? { config: {}, secrets: {} }),
      timeoutMs: host.config.introspectionTimeoutMs,
      maxResponseBytes: host.config.maxSchemaBytes,
    });
    return { kind: "introspection", result };
  } catch (error) {
    if (!mustWaitForSecrets(error, given)) throw error;
    return null;
  }
}

/** Returns the field's value. Throws the endpoint's errors, even if there is also a value. */
function readResult(tool: ToolDomain, { data, errors, status }: GraphqlAnswer): unknown {
  const value = data?.[tool.field] ?? null;
  if (errors.length > 0) {
    const text = quoteForeign(errors.map((error) => error.message).join("; "));
    throw new GraphqlFailure(
      "graphql_error",
      text || "The endpoint refused the operation and gave no reason.",
      { ...(status >= 400 ? { status } : {}), answer: { data: value, errors } },
    );
  }
  if (data === null || !Object.hasOwn(data, tool.field)) {
    throw new GraphqlFailure(
      "graphql_bad_answer",
      `The endpoint's response has no ${tool.field} in its data.`,
    );
  }
  return { data: value };
}

function describeService(definition: Definition, made: Generated): ServiceDefinition {
  const description = definition.description ?? made.description ?? `GraphQL service ${nameOf(definition)}.`;
  return {
    ...settingsOf(definition, made.sdl),
    description: quoteForeign(description, MAX_SERVICE_DESCRIPTION_CHARACTERS),
    tools: made.tools,
  };
}

/**
 * Describes an endpoint that shows its schema to authenticated callers only: the service is created first, then its
 * secrets, then its tools.
 */
function describeLocked(definition: Definition): ServiceDefinition {
  return {
    ...settingsOf(definition, null),
    description:
      "The endpoint requires credentials to show its schema. Set the secrets of this service, then POST /services/:id/sync.",
    tools: [],
  };
}

function settingsOf(definition: Definition, sdl: string | null) {
  return {
    name: nameOf(definition),
    configSchema: toSettingsSchema(serviceConfigSchema(definition.endpoint)),
    secretsSchema: toSettingsSchema(httpSecretsSchema),
    adapterDomain: { endpoint: definition.endpoint, sdl } satisfies ServiceDomain,
  };
}

function nameOf(definition: Definition): string {
  if (definition.name !== null) return quoteForeign(definition.name, 200);
  return definition.endpoint === null ? "GraphQL" : new URL(definition.endpoint).host;
}
