/** The official MCP client, connected to the endpoint of a test server. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  type ClientCapabilities,
  type ElicitRequest,
  ElicitRequestSchema,
  type ElicitResult,
  type Progress,
} from "@modelcontextprotocol/sdk/types.js";

export interface ToolAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  value: any;
  isError: boolean;
  /** Content after the JSON: embedded resources and links. */
  attached: unknown[];
}

export interface McpClient extends AsyncDisposable {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport | null;
  call(
    name: string,
    args?: Record<string, unknown>,
    options?: { patienceMs?: number; onprogress?: (progress: Progress) => void; signal?: AbortSignal },
  ): Promise<ToolAnswer>;
}

export interface McpClientOptions {
  key?: string;
  /** The person at the client. */
  elicit?: (request: ElicitRequest["params"]) => ElicitResult | Promise<ElicitResult>;
  headers?: Record<string, string>;
}

/** `server`: its address without a path. */
export async function connectMcp(server: string, options: McpClientOptions = {}): Promise<McpClient> {
  const headers = { ...(options.key && { authorization: `Bearer ${options.key}` }), ...options.headers };
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", server), { requestInit: { headers } });
  const connected = await connectWith(transport as Transport, options);
  return { ...connected, transport };
}

export async function connectWith(transport: Transport, options: McpClientOptions = {}): Promise<McpClient> {
  const { elicit } = options;
  const capabilities: ClientCapabilities = elicit ? { elicitation: { form: {} } } : {};
  const client = new Client({ name: "test", version: "1" }, { capabilities });
  if (elicit) client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params));
  await client.connect(transport);
  return {
    client,
    transport: null,
    async call(name, args = {}, { patienceMs, ...rest } = {}) {
      const _meta = patienceMs === undefined ? {} : { _meta: { "cyrnel/patienceMs": patienceMs } };
      const answer = await client.callTool({ name, arguments: args, ..._meta }, undefined, rest);
      const [text, ...attached] = answer.content as { type: string; text: string }[];
      const value = JSON.parse(text?.text ?? "");
      if (JSON.stringify(answer.structuredContent) !== text?.text) throw new Error("text and data differ");
      return { value, isError: answer.isError === true, attached };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
