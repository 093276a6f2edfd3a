import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { ARTIFACTS_TEMPLATE, readArtifactResource } from "./artifacts.ts";
import type { ClientLink } from "./following.ts";
import { PATIENCE_KEY } from "./following.ts";
import type { McpPorts, RequestContext } from "./ports.ts";
import { callSurfaceTool, listSurfaceTools } from "./tools.ts";

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

export const DOCS_URI = "cyrnel://environment/docs";
const VERSION = "0.1.0";
const RESOURCE_NOT_FOUND = -32002;
const MAX_SHOWN_CHARACTERS = 200;

const INSTRUCTIONS =
  "One script replaces many tool calls: find tools with search_tools, read the ones you need with read_tool, then run a " +
  'script that calls them and returns only what matters. Scripts import npm packages (`import { z } from "zod"`). How to ' +
  `write scripts and which packages are installed: resource ${DOCS_URI}.`;

/** Disables validation: scripts provide the form schemas, which the SDK must not compile. */
const NO_VALIDATION = {
  getValidator: () => () => ({ valid: true as const, data: undefined as never, errorMessage: undefined }),
};

export interface ClientSession {
  readonly id: string;
  /** True once the client is initialized; until then there is no session. */
  readonly isOpen: boolean;
  handle(request: Request, body: unknown, context: RequestContext): Promise<Response>;
  close(): Promise<void>;
}

/** Opens a session. Calls `onEnd` when the client ends the session, or after `close`. */
export async function openSession(
  ports: McpPorts,
  id: string,
  onEnd: () => void = () => {},
): Promise<ClientSession> {
  const server = new Server(
    { name: "cyrnel", title: "Cyrnel", version: VERSION },
    {
      capabilities: { tools: {}, resources: {} },
      instructions: INSTRUCTIONS,
      jsonSchemaValidator: NO_VALIDATION,
    },
  );
  registerTools(server, ports);
  registerResources(server, ports);
  server.onerror = (error) =>
    ports.log.debug({ err: error, session: id }, "an MCP message could not be handled");
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
  await server.connect(transport as Transport);
  server.onclose = onEnd;
  return {
    id,
    get isOpen() {
      return transport.sessionId !== undefined;
    },
    handle: (request, body, context) =>
      transport.handleRequest(request, {
        parsedBody: body,
        authInfo: { token: "", clientId: context.caller.id, scopes: [], extra: { context } },
      }),
    close: () => server.close(),
  };
}

function registerTools(server: Server, ports: McpPorts): void {
  server.setRequestHandler(ListToolsRequestSchema, async (_request, extra) => ({
    tools: listSurfaceTools(contextOf(extra)),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const context = contextOf(extra);
    const link = linkOf(server, extra);
    const answer = await callSurfaceTool(params.name, params.arguments, { ports, context, link });
    if (answer !== null) return answer;
    throw new McpError(ErrorCode.InvalidParams, `There is no tool ${show(params.name)}. See tools/list.`);
  });
}

function registerResources(server: Server, ports: McpPorts): void {
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({
    resources: [
      {
        uri: DOCS_URI,
        name: "environment-docs",
        title: "Writing scripts",
        description: "What a script can use and how it returns results, for the active environment.",
        mimeType: "text/markdown",
      },
    ],
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, async (_request, extra) => ({
    resourceTemplates: contextOf(extra).caller.scopes.has("processes:read") ? [ARTIFACTS_TEMPLATE] : [],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }, extra) => {
    const context = contextOf(extra);
    const resource = await readResource(ports, uri, context).catch((error: unknown) => {
      const { code, message, status } = ports.describeError(error);
      const { requestId } = context;
      if (status >= 500) ports.log.error({ err: error, requestId }, "an MCP request failed");
      const rpcCode = code === "not_found" ? RESOURCE_NOT_FOUND : ErrorCode.InternalError;
      throw new McpError(rpcCode, message, { code, requestId });
    });
    if (resource !== null) return { contents: [resource] };
    throw new McpError(RESOURCE_NOT_FOUND, `There is no resource ${show(uri)}. See resources/list.`);
  });
}

async function readResource(ports: McpPorts, uri: string, context: RequestContext) {
  return uri === DOCS_URI
    ? { uri, mimeType: "text/markdown", text: await ports.readDocs(context.caller) }
    : readArtifactResource(ports, uri, context);
}

/**
 * Returns the context of the HTTP request that carried the message, because the session's other requests may have
 * other rights.
 */
function contextOf({ authInfo, signal }: Extra): RequestContext {
  const context = authInfo?.extra?.context as RequestContext | undefined;
  if (context === undefined) throw new Error("an MCP message came without its request");
  return { ...context, signal: AbortSignal.any([context.signal, signal]) };
}

function linkOf(server: Server, { sendNotification, sendRequest, _meta }: Extra): ClientLink {
  return {
    capabilities: server.getClientCapabilities(),
    progressToken: _meta?.progressToken,
    patienceMs: _meta?.[PATIENCE_KEY],
    notify: (params) => sendNotification({ method: "notifications/progress", params }),
    ask: (request, schema, options) => sendRequest(request, schema, options),
  };
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, MAX_SHOWN_CHARACTERS));
}
