/**
 * MCP servers as services: asks a server for its tools once, holds one connection per service, calls tools over it.
 * The libraries are loaded at the first use: a server without such services does without them.
 */
import { createHash } from "node:crypto";
import type { AdapterModule, AdapterSetupContext, InvokeInput, ServiceDefinition, ServiceState } from "#sdk";
import {
  httpSecretsSchema,
  httpServiceConfigSchema,
  type ModuleConfig,
  makeHeaders,
  moduleConfigSchema,
  readSettings,
  type ServiceConfig,
  stdioSecretsSchema,
  stdioServiceConfigSchema,
  toSettingsSchema,
} from "./config.ts";
import type { Connection } from "./connection/connection.ts";
import { createLink, type Link } from "./connection/link.ts";
import type { Server } from "./connection/open.ts";
import {
  readDefinition,
  type ServerDefinition,
  serverDefinitionSchema,
  type ToolDomain,
  toolDomainSchema,
} from "./definition.ts";
import { McpFailure, quoteForeign } from "./failures.ts";

interface HeldService {
  link: Link;
  timeoutMs: number;
  tools: Map<string, ToolDomain>;
}

interface Held {
  context: AdapterSetupContext;
  config: ModuleConfig;
}

const MAX_SERVICE_DESCRIPTION_CHARACTERS = 4000;
const MAX_LEFT_OUT_SHOWN = 10;

export function createMcpAdapter(): AdapterModule {
  let held: Held | null = null;
  const services = new Map<string, HeldService>();

  function requireSetup(): Held {
    if (held === null) throw new McpFailure("mcp_bad_settings", "The module is not set up.");
    return held;
  }

  async function open(server: Server, config: ServiceConfig, signal?: AbortSignal): Promise<Connection> {
    const { openServer } = await import("./connection/open.ts");
    const { context, config: own } = requireSetup();
    return openServer(server, {
      fetch: context.fetch,
      maxResponseBytes: config.maxResponseBytes,
      timeoutMs: own.connectTimeoutMs,
      signal,
    });
  }

  function refuseStdio(definition: ServerDefinition): void {
    if (definition.transport !== "stdio" || requireSetup().context.allowStdio === true) return;
    throw new McpFailure(
      "mcp_bad_settings",
      'The transport "stdio" starts a program on the host of this server, and that is not allowed here. Whoever runs the server allows it with CYRNEL_ALLOW_STDIO_MCP=true.',
    );
  }

  async function takeDown(id: string): Promise<void> {
    const service = services.get(id);
    services.delete(id);
    await service?.link.close();
  }

  return {
    async setup(context) {
      const config = readSettings(moduleConfigSchema, context.config, "config");
      if (typeof context.fetch !== "function") {
        throw new McpFailure(
          "mcp_bad_settings",
          "The host gave no fetch; without it no request can be guarded.",
        );
      }
      held = { context, config };
    },

    async teardown() {
      await Promise.all([...services.keys()].map(takeDown));
      held = null;
    },

    async generateDefinition(input, given) {
      const { context, config } = requireSetup();
      const definition = readDefinition(input);
      refuseStdio(definition);
      const [{ listTools }, { offerTools }] = await Promise.all([
        import("./listing.ts"),
        import("./tools.ts"),
      ]);
      const { server, settings } = resolveServer(definition, given);
      let connection: Connection;
      try {
        connection = await open(server, settings);
      } catch (error) {
        const hasNoneYet = given === undefined || given.secretsWithheld === true;
        if (!hasNoneYet || !wantsCredentials(error)) throw error;
        return describeLocked(definition, (error as McpFailure).status ?? 401);
      }
      try {
        const listed = await listTools(connection, config, { timeoutMs: config.listTimeoutMs });
        const { tools, leftOut } = offerTools(listed);
        if (leftOut.length > 0) {
          context.logger.warn(
            { leftOut: leftOut.slice(0, MAX_LEFT_OUT_SHOWN) },
            "tools of an MCP server cannot be offered",
          );
        }
        if (tools.length === 0 && leftOut.length > 0) {
          throw new McpFailure(
            "mcp_bad_answer",
            `None of the server's tools can be offered. ${sayLeftOut(leftOut)}`,
          );
        }
        return describeService(definition, connection, tools, leftOut);
      } finally {
        await connection.close();
      }
    },

    async hydrateService(state) {
      const definition = readSettings(serverDefinitionSchema, state.adapterDomain, "definition");
      refuseStdio(definition);
      const { server, settings } = resolveServer(definition, state);
      const tools = new Map<string, ToolDomain>();
      for (const [id, tool] of Object.entries(state.tools)) {
        tools.set(id, readSettings(toolDomainSchema, tool.adapterDomain, "tool"));
      }
      const link = createLink((signal) => open(server, settings, signal));
      const previous = services.get(state.id);
      services.set(state.id, { link, timeoutMs: settings.timeoutMs, tools });
      await previous?.link.close();
    },

    dehydrateService: takeDown,

    async invoke({ serviceId, toolId, parameters, signal }: InvokeInput) {
      const service = services.get(serviceId);
      const tool = service?.tools.get(toolId);
      if (service === undefined || tool === undefined) {
        throw new McpFailure("mcp_bad_settings", `There is no tool ${serviceId}.${toolId} in this adapter.`);
      }
      const { callAnswerSchema, readAnswer } = await import("./answer.ts");
      const params = { name: tool.name, arguments: parameters };
      const answer = await service.link.use(
        (connection) =>
          connection.request("tools/call", params, callAnswerSchema, {
            timeoutMs: service.timeoutMs,
            signal,
          }),
        signal,
      );
      return readAnswer(answer, tool.structured);
    },

    secretOrigins(use) {
      return [
        originOf(
          "definition" in use
            ? readDefinition(use.definition)
            : readSettings(serverDefinitionSchema, use.adapterDomain, "definition"),
        ),
      ];
    },
  };
}

/** A program gets its secrets as variables: any other way to start it may be another program. */
function originOf(definition: ServerDefinition): string {
  if (definition.transport === "http") return new URL(definition.url).origin;
  const { command, args, env } = definition;
  const whole = JSON.stringify([command, args, Object.entries(env).sort()]);
  const hash = createHash("sha256").update(whole).digest("hex").slice(0, 32);
  return `program ${quoteForeign(command, 200)} (arguments and environment ${hash})`;
}

/** A definition with the settings of its service; without any, those of a service that has none yet. */
function resolveServer(
  definition: ServerDefinition,
  given: Pick<ServiceState, "config" | "secrets"> | undefined,
): { server: Server; settings: ServiceConfig } {
  const { config = {}, secrets = {} } = given ?? {};
  if (definition.transport === "stdio") {
    const settings = readSettings(stdioServiceConfigSchema, config, "config");
    const { env = {} } = readSettings(stdioSecretsSchema, secrets, "secrets");
    return { server: { ...definition, env: { ...definition.env, ...env } }, settings };
  }
  const settings = readSettings(httpServiceConfigSchema, config, "config");
  const headers = makeHeaders(settings, readSettings(httpSecretsSchema, secrets, "secrets"));
  return { server: { ...definition, headers }, settings };
}

function wantsCredentials(error: unknown): boolean {
  return error instanceof McpFailure && (error.status === 401 || error.status === 403);
}

function describeService(
  definition: ServerDefinition,
  connection: Connection,
  tools: ServiceDefinition["tools"],
  leftOut: { name: string; reason: string }[],
): ServiceDefinition {
  const { name, instructions } = connection.server;
  const notes = leftOut.length === 0 ? [] : [`Left out: ${sayLeftOut(leftOut)}`];
  const own = quoteForeign(instructions, MAX_SERVICE_DESCRIPTION_CHARACTERS);
  return {
    ...settingsOf(definition),
    name: quoteForeign(name, 200) || nameOf(definition),
    description: [own, ...notes].filter(Boolean).join("\n\n") || `MCP server ${nameOf(definition)}.`,
    tools,
  };
}

/** A server that shows its tools to known callers only: the service comes first, then its secrets, then its tools. */
function describeLocked(definition: ServerDefinition, status: number): ServiceDefinition {
  return {
    ...settingsOf(definition),
    name: nameOf(definition),
    description: `The server wants credentials before it lists its tools (it answered ${status}). Set the secrets of this service, then POST /services/:id/sync.`,
    tools: [],
  };
}

function settingsOf(
  definition: ServerDefinition,
): Pick<ServiceDefinition, "configSchema" | "secretsSchema" | "adapterDomain"> {
  const isHttp = definition.transport === "http";
  return {
    configSchema: toSettingsSchema(isHttp ? httpServiceConfigSchema : stdioServiceConfigSchema),
    secretsSchema: toSettingsSchema(isHttp ? httpSecretsSchema : stdioSecretsSchema),
    adapterDomain: definition,
  };
}

function nameOf(definition: ServerDefinition): string {
  return definition.transport === "http"
    ? new URL(definition.url).host
    : quoteForeign(definition.command, 200);
}

function sayLeftOut(leftOut: { name: string; reason: string }[]): string {
  const shown = leftOut.slice(0, MAX_LEFT_OUT_SHOWN).map(({ name, reason }) => `${name} (${reason})`);
  const more = leftOut.length - shown.length;
  return `${shown.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
}
