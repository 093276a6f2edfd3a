/** An MCP server (JSON over HTTP) with the oddities of real ones in its tools and responses. */

type Json = Record<string, unknown>;
interface Call {
  tool: Json;
  /** The `result` of `tools/call`. */
  answer: (args: Json) => Json;
}

const text = (value: string) => ({ content: [{ type: "text", text: value }] });
const object = (properties: Json, required?: string[]) => ({
  type: "object",
  properties,
  ...(required && { required }),
});
/** Returns a number that is written with exactly these digits. */
const raw = (digits: string) => (JSON as unknown as { rawJSON(text: string): object }).rawJSON(digits);
const COUNT = object({ count: { type: "integer" } }, ["count"]);

const CALLS: Record<string, Call> = {
  add: {
    tool: {
      inputSchema: object({ a: { type: "number" }, b: { type: "number" } }, ["a", "b"]),
      outputSchema: COUNT,
    },
    answer: ({ a, b }) => ({ ...text("sum"), structuredContent: { count: Number(a) + Number(b) } }),
  },
  say: {
    tool: { inputSchema: object({ text: { type: "string" } }) },
    answer: ({ text: said }) => text(String(said)),
  },
  null_hints: {
    tool: {
      title: null,
      description: null,
      outputSchema: null,
      annotations: { destructiveHint: null, readOnlyHint: null },
      inputSchema: object({}),
    },
    answer: () => text("null hints"),
  },
  null_annotations: {
    tool: { annotations: null, inputSchema: object({}) },
    answer: () => text("no annotations"),
  },
  text_hint: {
    tool: { annotations: { readOnlyHint: "true" }, inputSchema: object({}) },
    answer: () => text("text hint"),
  },
  null_properties: {
    tool: { inputSchema: { type: "object", properties: null, required: null } },
    answer: () => text("null properties"),
  },
  required_inside: {
    tool: { inputSchema: object({ coin: { type: "string", required: true } }) },
    answer: ({ coin }) => text(`coin ${coin}`),
  },
  type_int: { tool: { inputSchema: object({ n: { type: "int" } }) }, answer: ({ n }) => text(`n ${n}`) },
  draft4: {
    tool: { inputSchema: object({ n: { type: "number", minimum: 0, exclusiveMinimum: true } }) },
    answer: ({ n }) => text(`n ${n}`),
  },
  constructor_member: {
    tool: { inputSchema: object({ constructor: { type: "string" }, season: { type: "integer" } }) },
    answer: (args) => text(JSON.stringify(args)),
  },
  unstructured: { tool: { inputSchema: object({}), outputSchema: COUNT }, answer: () => text('{"count":4}') },
  wrong_structure: {
    tool: { inputSchema: object({}), outputSchema: COUNT },
    answer: () => ({ ...text('{"count":5}'), structuredContent: [5] }),
  },
  unknown_block: {
    tool: { inputSchema: object({}) },
    answer: () => ({
      content: [
        { type: "text", text: "a text" },
        { type: "chart", points: [1, 2] },
      ],
    }),
  },
  null_members: {
    tool: { inputSchema: object({}) },
    answer: () => ({
      content: [{ type: "text", text: "fine", annotations: null }],
      structuredContent: null,
      isError: null,
    }),
  },
  failing: {
    tool: { inputSchema: object({}) },
    answer: () => ({ ...text("the printer is out of paper"), isError: true }),
  },
  big_number: {
    tool: { inputSchema: object({}), outputSchema: object({ id: { type: "integer" } }) },
    answer: () => ({ ...text("id"), structuredContent: { id: raw("9007199254740993") } }),
  },
  "issues.list": { tool: { inputSchema: object({}) }, answer: () => text("dotted") },
  "issues/list": { tool: { inputSchema: object({}) }, answer: () => text("slashed") },
  "repo.open": { tool: { inputSchema: object({}) }, answer: () => text("opened") },
  nothing: { tool: { inputSchema: object({}) }, answer: () => ({ content: [] }) },
};

/** Returns null for a notification. Calls `note` for each tool call. */
export function answerMcp(
  { id, method, params }: { id?: number; method: string; params?: Json },
  note: (name: string, body: string) => void,
): Json | null {
  if (id === undefined) return null;
  const result = answer(method, params ?? {}, note);
  return result === null
    ? { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }
    : { jsonrpc: "2.0", id, result };
}

function answer(method: string, params: Json, note: (name: string, body: string) => void): Json | null {
  if (method === "initialize") {
    const capabilities = { tools: {} };
    return { protocolVersion: "2025-06-18", capabilities, serverInfo: { name: "odd", version: "1" } };
  }
  if (method === "ping") return {};
  // Every page points to the same next page.
  if (method === "tools/list") {
    return {
      tools: Object.entries(CALLS).map(([name, { tool }]) => ({ name, ...tool })),
      nextCursor: "again",
    };
  }
  const name = String(params.name);
  if (method !== "tools/call" || !Object.hasOwn(CALLS, name)) return null;
  const args = (params.arguments ?? {}) as Json;
  note(name, JSON.stringify(args));
  return (CALLS[name] as Call).answer(args);
}
