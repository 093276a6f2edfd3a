/**
 * GraphQL endpoints as services: one tool per query and mutation field, each with one operation that is posted. The
 * library is loaded at the first use: a server without such services does without it.
 */
import type { AdapterModule, AdapterSetupContext, DefinitionContext, ServiceDefinition } from "#sdk";
import {
  type ModuleConfig,
  makeHeaders,
  moduleConfigSchema,
  readEndpoint,
  readSettings,
  secretsSchema,
  serviceConfigSchema,
  toSettingsSchema,
} from "./config.ts";
import type { Definition } from "./definition.ts";
import { type ServiceDomain, serviceDomainSchema, type ToolDomain, toolDomainSchema } from "./domain.ts";
import { type Endpoint, type GraphqlAnswer, post } from "./endpoint.ts";
import { GraphqlFailure, quoteForeign } from "./failures.ts";
import { createGenerator, type Generated } from "./generate.ts";
import type { Operations } from "./operation.ts";

const MAX_SERVICE_DESCRIPTION_CHARACTERS = 4000;

/** Of a service whose endpoint has not told its schema yet: it has no tools either. */
const NO_SCHEMA = "type Query { none: Boolean }";

interface HeldService {
  endpoint: Endpoint;
  tools: Map<string, ToolDomain>;
  /** Made at the first call. */
  operations(): Promise<Operations>;
  /** Ends calls under way. */
  gone: AbortController;
}

interface Settings {
  config: Record<string, unknown>;
  secrets: Record<string, unknown>;
}

export function createGraphqlAdapter(): AdapterModule {
  let held: { context: AdapterSetupContext; config: ModuleConfig } | null = null;
  const services = new Map<string, HeldService>();
  const generator = createGenerator();

  function requireSetup() {
    if (held === null) throw new GraphqlFailure("graphql_bad_settings", "The module is not set up.");
    return held;
  }

  function makeEndpoint(definedEndpoint: string | null, settings: Settings): Endpoint {
    const config = readSettings(serviceConfigSchema(definedEndpoint), settings.config, "config");
    const secrets = readSettings(secretsSchema, settings.secrets, "secrets");
    return {
      fetch: requireSetup().context.fetch,
      url: readEndpoint(config.endpoint, "config.endpoint"),
      headers: makeHeaders(config, secrets),
      timeoutMs: config.timeoutMs,
      maxResponseBytes: config.maxResponseBytes,
    };
  }

  /** The schema the endpoint tells; null where it wants credentials first and there are none yet. */
  async function ask(
    endpoint: string | null,
    given: DefinitionContext | undefined,
  ): Promise<Definition["schema"]> {
    const { config } = requireSetup();
    try {
      const { introspect } = await import("./introspection.ts");
      const result = await introspect({
        ...makeEndpoint(endpoint, given ?? { config: {}, secrets: {} }),
        timeoutMs: config.introspectionTimeoutMs,
        maxResponseBytes: config.maxSchemaBytes,
      });
      return { kind: "introspection", result };
    } catch (error) {
      const wantsCredentials =
        error instanceof GraphqlFailure && (error.status === 401 || error.status === 403);
      const hasNoneYet = given === undefined || given.secretsWithheld === true;
      if (!hasNoneYet || !wantsCredentials) throw error;
      return null;
    }
  }

  return {
    async setup(context) {
      const config = readSettings(moduleConfigSchema, context.config, "config");
      if (typeof context.fetch !== "function") {
        throw new GraphqlFailure(
          "graphql_bad_settings",
          "The host gave no fetch; without it no request can be guarded.",
        );
      }
      held = { context, config };
    },

    async teardown() {
      for (const service of services.values()) service.gone.abort();
      services.clear();
      held = null;
      await generator.close();
    },

    async generateDefinition(input, given) {
      const { config } = requireSetup();
      const { readDefinition } = await import("./definition.ts");
      const definition = readDefinition(input);
      const source = definition.schema ?? (await ask(definition.endpoint, given));
      if (source === null) return describeLocked(definition);
      const { maxDepth, maxFields, maxTools } = config;
      return describeService(
        definition,
        await generator.generate({ source, limits: { maxDepth, maxFields, maxTools } }),
      );
    },

    async hydrateService(state) {
      const domain = readSettings(serviceDomainSchema, state.adapterDomain, "definition");
      const endpoint = makeEndpoint(domain.endpoint, state);
      const tools = new Map<string, ToolDomain>();
      for (const [id, tool] of Object.entries(state.tools)) {
        tools.set(id, readSettings(toolDomainSchema, tool.adapterDomain, "tool"));
      }
      let made: Promise<Operations> | null = null;
      const operations = () => {
        made ??= import("./operation.ts").then(({ createOperations }) =>
          createOperations(domain.sdl ?? NO_SCHEMA),
        );
        return made;
      };
      services.set(state.id, { endpoint, tools, operations, gone: new AbortController() });
    },

    async dehydrateService(id) {
      services.get(id)?.gone.abort();
      services.delete(id);
    },

    async invoke({ serviceId, toolId, parameters, signal }) {
      const service = services.get(serviceId);
      const tool = service?.tools.get(toolId);
      if (service === undefined || tool === undefined) {
        throw new GraphqlFailure(
          "graphql_bad_settings",
          `There is no tool ${serviceId}.${toolId} in this adapter.`,
        );
      }
      const request = (await service.operations()).makeRequest(tool, parameters);
      return readResult(tool, await post(service.endpoint, request, [signal, service.gone.signal]));
    },

    async secretOrigins(use) {
      if (!("definition" in use)) {
        const { endpoint } = readSettings(serviceDomainSchema, use.adapterDomain, "definition");
        return [makeEndpoint(endpoint, { config: use.config, secrets: {} }).url.origin];
      }
      const { readDefinition } = await import("./definition.ts");
      const { endpoint, schema } = readDefinition(use.definition);
      // A schema that is there is not asked for.
      return schema === null ? [makeEndpoint(endpoint, { config: use.config, secrets: {} }).url.origin] : [];
    },
  };
}

/** `data` is the field's value. Where the endpoint has none and says why, that is thrown. */
function readResult(tool: ToolDomain, { data, errors, status }: GraphqlAnswer): unknown {
  const value = data?.[tool.field] ?? null;
  if (value === null && errors.length > 0) {
    const text = quoteForeign(errors.map((error) => error.message).join("; "));
    throw new GraphqlFailure(
      "graphql_error",
      text || "The endpoint refused the operation and gave no reason.",
      {
        ...(status >= 400 ? { status } : {}),
      },
    );
  }
  if (data === null || !Object.hasOwn(data, tool.field)) {
    throw new GraphqlFailure("graphql_bad_answer", `The endpoint's answer has no ${tool.field} in its data.`);
  }
  return errors.length > 0 ? { data: value, errors } : { data: value };
}

function describeService(definition: Definition, made: Generated): ServiceDefinition {
  const description = definition.description ?? made.description ?? `GraphQL service ${nameOf(definition)}.`;
  return {
    ...settingsOf(definition, made.sdl),
    description: quoteForeign(description, MAX_SERVICE_DESCRIPTION_CHARACTERS),
    tools: made.tools,
  };
}

/** An endpoint that tells its schema to known callers only: the service comes first, then its secrets, then its tools. */
function describeLocked(definition: Definition): ServiceDefinition {
  return {
    ...settingsOf(definition, null),
    description:
      "The endpoint wants credentials before it tells its schema. Set the secrets of this service, then POST /services/:id/sync.",
    tools: [],
  };
}

function settingsOf(definition: Definition, sdl: string | null) {
  return {
    name: nameOf(definition),
    configSchema: toSettingsSchema(serviceConfigSchema(definition.endpoint)),
    secretsSchema: toSettingsSchema(secretsSchema),
    adapterDomain: { endpoint: definition.endpoint, sdl } satisfies ServiceDomain,
  };
}

function nameOf(definition: Definition): string {
  if (definition.name !== null) return quoteForeign(definition.name, 200);
  return definition.endpoint === null ? "GraphQL" : new URL(definition.endpoint).host;
}
