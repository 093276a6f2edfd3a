/**
 * MCP servers as services: lists a server's tools once, keeps one connection per service, and calls tools over it.
 * The libraries are loaded on first use, because many servers have no such service.
 */
import { createHash } from "node:crypto";
import { createAdapter, mustWaitForSecrets } from "#modules/shared/adapter.ts";
import { quoteForeign } from "#modules/shared/failures.ts";
import { httpSecretsSchema, makeHeaders, readSettings, toSettingsSchema } from "#modules/shared/settings.ts";
import type {
  AdapterModule,
  AdapterSetupContext,
  DefinitionContext,
  ServiceDefinition,
  ServiceState,
} from "#sdk";
import type { Connection } from "./call/connection.ts";
import { createLink, type Link } from "./call/link.ts";
import type { Server } from "./call/open.ts";
import {
  httpServiceConfigSchema,
  type ModuleConfig,
  moduleConfigSchema,
  PROTOCOL_HEADERS,
  type ServiceConfig,
  stdioSecretsSchema,
  stdioServiceConfigSchema,
} from "./config.ts";
import {
  readDefinition,
  type ServerDefinition,
  serverDefinitionSchema,
  type ToolDomain,
  toolDomainSchema,
} from "./definition.ts";
import { McpFailure, refuseSettings } from "./failures.ts";

interface Service {
  link: Link;
  timeoutMs: number;
}

interface Host {
  context: AdapterSetupContext;
  config: ModuleConfig;
}

const MAX_SERVICE_DESCRIPTION_CHARACTERS = 4000;
const MAX_LEFT_OUT_SHOWN = 10;

export function createMcpAdapter(): AdapterModule {
  return createAdapter<Host, Service, ToolDomain>({
    toolSchema: toolDomainSchema,
    refuse: refuseSettings,

    setup: (context) => ({
      context,
      config: readSettings(moduleConfigSchema, context.config, "config", refuseSettings),
    }),

    async define(host, input, given) {
      const { config } = host;
      const definition = readDefinition(input);
      refuseStdio(host, definition);
      const { listTools, offerTools } = await import("./generate/tools.ts");
      const { server, settings } = resolveServer(definition, given);
      let connection: Connection;
      try {
        connection = await open(host, server, settings);
      } catch (error) {
        if (!mustWaitForSecrets(error, given)) throw error;
        return describeLocked(definition, (error as McpFailure).status ?? 401);
      }
      try {
        const listed = await listTools(connection, config, { timeoutMs: config.listTimeoutMs });
        const { tools, leftOut } = offerTools(listed, readIds(given));
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

    hydrate(host, state) {
      const definition = readServer(state.adapterDomain);
      refuseStdio(host, definition);
      const { server, settings } = resolveServer(definition, state);
      const link = createLink((signal) => open(host, server, settings, signal));
      return { link, timeoutMs: settings.timeoutMs };
    },

    async invoke(_host, { link, timeoutMs }, tool, { parameters, signal, warn }) {
      const { callAnswerSchema, readAnswer } = await import("./call/answer.ts");
      const params = { name: tool.name, arguments: parameters };
      const answer = await link.use(
        (connection) => connection.request("tools/call", params, callAnswerSchema, { timeoutMs, signal }),
        signal,
      );
      return readAnswer(answer, tool, (message) => warn?.({ code: "answer_odd", message }));
    },

    release: ({ link }) => link.close(),

    secretOrigins: (use) => [
      originOf("definition" in use ? readDefinition(use.definition) : readServer(use.adapterDomain)),
    ],
  });
}

/** Returns the service's tool ids by the server's tool names. */
function readIds(given: DefinitionContext | undefined): Map<string, string> {
  const ids = new Map<string, string>();
  for (const [id, { adapterDomain }] of Object.entries(given?.tools ?? {})) {
    const { data } = toolDomainSchema.safeParse(adapterDomain);
    if (data !== undefined) ids.set(data.name, id);
  }
  return ids;
}

function readServer(domain: unknown): ServerDefinition {
  return readSettings(serverDefinitionSchema, domain, "definition", refuseSettings);
}

async function open(
  { context, config }: Host,
  server: Server,
  { maxResponseBytes }: ServiceConfig,
  signal?: AbortSignal,
): Promise<Connection> {
  const { openServer } = await import("./call/open.ts");
  return openServer(server, {
    fetch: context.fetch,
    maxResponseBytes,
    timeoutMs: config.connectTimeoutMs,
    signal,
  });
}

function refuseStdio({ context }: Host, definition: ServerDefinition): void {
  if (definition.transport !== "stdio" || context.allowStdio === true) return;
  throw refuseSettings(
    'The transport "stdio" starts a program on the host of this server, which is disabled. The operator of the server can enable it with CYRNEL_ALLOW_STDIO_MCP=true.',
  );
}

/**
 * A program gets its secrets as environment variables, so the secrets are bound to the exact command that starts it.
 */
function originOf(definition: ServerDefinition): string {
  if (definition.transport === "http") return new URL(definition.url).origin;
  const { command, args, env } = definition;
  const whole = JSON.stringify([command, args, Object.entries(env).sort()]);
  const hash = createHash("sha256").update(whole).digest("hex").slice(0, 32);
  return `program ${quoteForeign(command, 200)} (arguments and environment ${hash})`;
}

/** Merges a definition with its service's settings, or with default settings if the service is new. */
function resolveServer(
  definition: ServerDefinition,
  given: Pick<ServiceState, "config" | "secrets"> | undefined,
): { server: Server; settings: ServiceConfig } {
  const { config = {}, secrets = {} } = given ?? {};
  if (definition.transport === "stdio") {
    const settings = readSettings(stdioServiceConfigSchema, config, "config", refuseSettings);
    const { env = {} } = readSettings(stdioSecretsSchema, secrets, "secrets", refuseSettings);
    return { server: { ...definition, env: { ...definition.env, ...env } }, settings };
  }
  const settings = readSettings(httpServiceConfigSchema, config, "config", refuseSettings);
  const shown = readSettings(httpSecretsSchema, secrets, "secrets", refuseSettings);
  const headers = makeHeaders(settings, shown, refuseSettings, PROTOCOL_HEADERS);
  return { server: { ...definition, headers }, settings };
}

function describeService(
  definition: ServerDefinition,
  connection: Connection,
  tools: ServiceDefinition["tools"],
  leftOut: { name: string; reason: string }[],
): ServiceDefinition {
  const { name, instructions } = connection.server;
  const own = quoteForeign(instructions, MAX_SERVICE_DESCRIPTION_CHARACTERS);
  return {
    ...settingsOf(definition),
    name: quoteForeign(name, 200) || nameOf(definition),
    description: own || `MCP server ${nameOf(definition)}.`,
    tools,
    problems: leftOut.map((tool) => `The tool ${tool.name} is left out: ${tool.reason}.`),
  };
}

/**
 * Describes a server that shows its tools to authenticated callers only: the service is created first, then its
 * secrets, then its tools.
 */
function describeLocked(definition: ServerDefinition, status: number): ServiceDefinition {
  return {
    ...settingsOf(definition),
    name: nameOf(definition),
    description: `The server requires credentials to list its tools (status ${status}). Set the secrets of this service, then POST /services/:id/sync.`,
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
