/** MCP servers that lie, flood, stall and lure. Each is refused with a sentence; nothing is left behind. */
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import type { HostedAdapter } from "../host.ts";
import { hostMcp } from "./host.ts";
import { type Exchange, eventually, startScripted } from "./scripted-server.ts";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

async function prepare(
  handle: (exchange: Exchange) => boolean | undefined,
  options: { module?: Record<string, unknown>; tools?: unknown[] } = {},
) {
  const server = await startScripted(handle, options.tools);
  const host = await hostMcp({ config: options.module ?? {} });
  open.push(server, host);
  return { server, host, definition: { transport: "http", url: server.url } };
}

/** Installed while the server is still honest; then calls meet `handle`. */
async function prepareCalls(
  handle: (exchange: Exchange) => boolean | undefined,
  config: Record<string, unknown> = {},
): Promise<HostedAdapter> {
  const { host, definition } = await prepare((exchange) =>
    exchange.message.method === "tools/call" ? handle(exchange) : false,
  );
  await host.install("s", definition, { config });
  return host;
}

const listing = (tools: (exchange: Exchange) => unknown) => (exchange: Exchange) => {
  if (exchange.message.method !== "tools/list") return false;
  exchange.answer(tools(exchange));
  return true;
};

describe("the list of tools", () => {
  test("pages without end are refused", async () => {
    let page = 0;
    const { host, definition, server } = await prepare(
      listing(() => ({ tools: [], nextCursor: `page-${++page}` })),
      { module: { maxListPages: 7 } },
    );
    await expect(host.install("s", definition)).rejects.toThrow("has more than 7 pages (maxListPages");
    expect(server.received.filter((message) => message.method === "tools/list")).toHaveLength(7);
  });

  test("a page that points back to an earlier one is the last", async () => {
    const { host, definition } = await prepare(
      listing(({ message }) => {
        const { cursor = "start" } = message.params ?? {};
        const tools = [{ name: `t_${cursor}`, inputSchema: { type: "object" } }];
        return { tools, nextCursor: cursor === "a" ? "b" : "a" };
      }),
    );
    const made = await host.adapter.generateDefinition(JSON.stringify(definition));
    expect(made.tools.map(({ id }) => id)).toEqual(["t_a", "t_b", "t_start"]);
  });

  test("an installed tool keeps its id, whatever other names come", async () => {
    const names = ["issues/list"];
    const { host, definition } = await prepare(
      listing(() => ({ tools: names.map((name) => ({ name, inputSchema: { type: "object" } })) })),
    );
    const make = async (tools = {}) => {
      const given = { config: {}, secrets: {}, tools };
      const made = await host.adapter.generateDefinition(JSON.stringify(definition), given);
      return Object.fromEntries(made.tools.map((tool) => [tool.id, tool]));
    };
    const installed = await make();
    expect(Object.keys(installed)).toEqual(["issues.list"]);
    names.unshift("issues.list");
    const synced = await make(installed);
    expect(synced["issues.list"]?.adapterDomain).toMatchObject({ name: "issues/list" });
    expect(synced.issues_list?.adapterDomain).toMatchObject({ name: "issues.list" });
  });

  test("too many tools, and too large ones, are refused", async () => {
    const tool = (name: string, description = "") => ({ name, description, inputSchema: { type: "object" } });
    const many = await prepare(
      listing(() => ({ tools: Array.from({ length: 11 }, (_, n) => tool(`t${n}`)) })),
      { module: { maxTools: 10 } },
    );
    await expect(many.host.install("s", many.definition)).rejects.toThrow("more than 10 tools");
    const large = await prepare(
      listing(() => ({ tools: [tool("t", "x".repeat(50_000))] })),
      { module: { maxListBytes: 20_000 } },
    );
    await expect(large.host.install("s", large.definition)).rejects.toThrow("larger than 20000 bytes");
    const gigantic = await prepare(listing(() => ({ tools: [tool("t", "x".repeat(9 * 1024 * 1024))] })));
    await expect(gigantic.host.install("s", gigantic.definition)).rejects.toMatchObject({
      code: "mcp_too_large",
    });
  });

  test("a list that takes for ever is given up", async () => {
    const { host, definition } = await prepare((exchange) => exchange.message.method === "tools/list", {
      module: { listTimeoutMs: 300 },
    });
    await expect(host.install("s", definition)).rejects.toMatchObject({ code: "mcp_timeout" });
  });

  test("something else than a list is refused", async () => {
    for (const result of [null, { tools: "many" }, { tools: [], nextCursor: 7 }]) {
      const { host, definition } = await prepare(listing(() => result));
      await expect(host.install("s", definition)).rejects.toMatchObject({ code: "mcp_bad_answer" });
    }
  });

  test("tools that cannot be offered are left out by name, with the reason; the others are there", async () => {
    const deep: Record<string, unknown> = { type: "object" };
    let node = deep;
    for (let n = 0; n < 200; n += 1) {
      node.properties = { a: { type: "object" } };
      node = (node.properties as { a: Record<string, unknown> }).a;
    }
    const schema = (inputSchema: unknown) => ({ name: "x", inputSchema });
    const bad: [string, object, string][] = [
      ["text_schema", schema("object"), "its inputSchema does not follow the protocol"],
      ["array_input", schema({ type: "array" }), "does not describe an object"],
      [
        "bad_type",
        schema({ type: "object", properties: { a: { type: "banana" } } }),
        "not valid JSON Schema at /properties/a/type",
      ],
      ["bad_pattern", schema({ type: "object", required: "a" }), "not valid JSON Schema"],
      [
        "remote",
        schema({ type: "object", properties: { a: { $ref: "http://127.0.0.1:1/schema" } } }),
        "has no target in the schema",
      ],
      [
        "dangling",
        schema({ type: "object", properties: { a: { $ref: "#/$defs/none" } } }),
        "has no target in the schema",
      ],
      ["deep", schema(deep), "nested deeper than 64 levels"],
      ["nul", schema({ type: "object", description: "a\0b" }), "NUL character"],
      ["huge", schema({ type: "object", description: "x".repeat(300_000) }), "larger than 262144 bytes"],
      [
        "background",
        { ...schema({ type: "object" }), execution: { taskSupport: "required" } },
        "background task only",
      ],
    ];
    const tools = [
      ...bad.map(([name, tool]) => ({ ...tool, name })),
      { name: "good", inputSchema: { type: "object" } },
      { name: "good", inputSchema: { type: "object" } },
      "not a tool",
      { name: "bell\u0007", inputSchema: { type: "object" } },
    ];
    const { host, definition } = await prepare(() => false, { tools });
    const made = await host.adapter.generateDefinition(JSON.stringify(definition));
    expect(made.tools.map((tool) => tool.id)).toEqual(["good"]);
    expect(made.problems?.[0]).toMatch(/^The tool text_schema is left out: its inputSchema does not/);
    expect(made.problems).toHaveLength(bad.length + 3);
    const { offerTools } = await import("#modules/mcp/generate/tools.ts");
    const { leftOut } = offerTools(tools);
    for (const [name, , reason] of bad) {
      expect(leftOut.find((entry) => entry.name === name)?.reason, name).toContain(reason);
    }
    expect(leftOut).toHaveLength(bad.length + 3);
  });

  test("what servers get wrong without doubt about what they mean is mended", async () => {
    const object = { type: "object" };
    const odd: Record<string, object> = {
      null_hint: { inputSchema: object, annotations: { destructiveHint: null } },
      null_members: {
        inputSchema: object,
        annotations: null,
        title: null,
        description: null,
        outputSchema: null,
      },
      text_hint: { inputSchema: object, annotations: { readOnlyHint: "true" } },
      null_lists: { inputSchema: { ...object, properties: null, required: null } },
      required_inside: {
        inputSchema: {
          ...object,
          properties: { coin: { type: "string", required: true }, n: { type: "int" } },
        },
      },
      old_bound: {
        inputSchema: { ...object, properties: { n: { type: "number", minimum: 1, exclusiveMinimum: true } } },
      },
    };
    const tools = Object.entries(odd).map(([name, tool]) => ({ name, ...tool }));
    const { host, definition } = await prepare(() => false, { tools });
    const made = await host.adapter.generateDefinition(JSON.stringify(definition));
    expect(made.problems).toEqual([]);
    const byId = Object.fromEntries(made.tools.map((tool) => [tool.id, tool]));
    expect(Object.keys(byId).sort()).toEqual(Object.keys(odd).sort());
    expect([byId.null_hint?.destructive, byId.text_hint?.destructive]).toEqual([true, false]);
    expect(byId.required_inside?.inputSchema).toEqual({
      type: "object",
      properties: { coin: { type: "string" }, n: { type: "integer" } },
      required: ["coin"],
    });
    expect(byId.old_bound?.inputSchema.properties).toEqual({ n: { type: "number", exclusiveMinimum: 1 } });
  });

  test("a list nested without end is refused", async () => {
    const depth = 200_000;
    const deep = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    const { host, definition } = await prepare(({ message, response }) => {
      if (message.method !== "tools/list") return false;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        `{"jsonrpc":"2.0","id":${message.id},"result":{"tools":[{"name":"x","inputSchema":${deep}}]}}`,
      );
      return true;
    });
    await expect(host.install("s", definition)).rejects.toMatchObject({ code: "mcp_bad_answer" });
  });

  test("if nothing can be offered, the install is refused", async () => {
    const { host, definition } = await prepare(() => false, { tools: [{ name: "x", inputSchema: 1 }] });
    await expect(host.install("s", definition)).rejects.toThrow(
      "None of the server's tools can be offered. x (its inputSchema",
    );
  });
});

describe("connecting", () => {
  test("a server that never answers is given up", async () => {
    const { host, definition } = await prepare(() => true, { module: { connectTimeoutMs: 300 } });
    await expect(host.install("s", definition)).rejects.toMatchObject({ code: "mcp_timeout" });
  });

  test.each([
    ["a page", 200, "text/html", "<html>", "mcp_unreachable"],
    ["broken JSON", 200, "application/json", "{", "mcp_bad_answer"],
    ["another protocol", 200, "application/json", '{"hello":1}', "mcp_bad_answer"],
    ["a server error", 500, "text/plain", "database password is hunter2", "mcp_refused"],
  ])("%s is no MCP server", async (_name, status, type, body, code) => {
    const { host, definition } = await prepare(
      ({ response }) => {
        response.writeHead(status, { "content-type": type });
        response.end(body);
        return true;
      },
      { module: { connectTimeoutMs: 2000 } },
    );
    await expect(host.install("s", definition)).rejects.toMatchObject({ code });
  });

  test("a protocol version nobody knows is refused", async () => {
    const { host, definition } = await prepare(({ message, answer }) => {
      if (message.method !== "initialize") return false;
      answer({
        protocolVersion: "1999-01-01",
        capabilities: { tools: {} },
        serverInfo: { name: "x", version: "1" },
      });
      return true;
    });
    await expect(host.install("s", definition)).rejects.toThrow("1999-01-01");
  });

  test("a server that says it has no tools is refused", async () => {
    const { host, definition } = await prepare(({ message, answer }) => {
      if (message.method !== "initialize") return false;
      answer({
        protocolVersion: message.params?.protocolVersion,
        capabilities: {},
        serverInfo: { name: "x", version: "1" },
      });
      return true;
    });
    await expect(host.install("s", definition)).rejects.toThrow("it has no tools");
  });

  test.each([301, 302, 303, 307, 308])(
    "a redirect (%i) to another origin is not followed, and no secret goes there",
    async (status) => {
      const other = await startScripted();
      open.push(other);
      const { host, definition } = await prepare(({ refuse, message }) => {
        if (message.method !== "tools/call") return false;
        refuse(status, "", { location: other.url });
        return true;
      });
      await host.install("s", definition, { secrets: { bearerToken: "planted-secret" } });
      await expect(host.call("s", "ping")).rejects.toMatchObject({ code: "mcp_refused", status });
      expect(other.received).toEqual([]);
    },
  );

  test("the older transport's endpoint on another origin is not used", async () => {
    const other = await startScripted();
    open.push(other);
    const { host, definition } = await prepare(
      ({ request, refuse, stream }) => {
        if (request.method === "POST") refuse(404, "use the old transport");
        else stream().raw(`event: endpoint\ndata: ${other.url}\n\n`);
        return true;
      },
      { module: { connectTimeoutMs: 3000 } },
    );
    await expect(host.install("s", definition)).rejects.toThrow("use the old transport");
    expect(other.received).toEqual([]);
  });

  test("the host's refusal of an address is told as it is", async () => {
    const refused = Object.assign(new Error("CYRNEL_EGRESS_DENY 127.0.0.0/8 refuses 127.0.0.1"), {
      code: "egress_refused",
    });
    await using host = await hostMcp({
      fetch: async () => {
        throw new TypeError("fetch failed", { cause: refused });
      },
    });
    await expect(host.install("s", { transport: "http", url: "http://127.0.0.1:1/" })).rejects.toBe(refused);
  });

  test.each([
    ["not JSON", "http://127.0.0.1/", "it is not JSON"],
    ["another transport", { transport: "carrier-pigeon" }, 'transport: expected "http" or "stdio"'],
    ["another scheme", { transport: "http", url: "file:///etc/passwd" }, "expected an http or https URL"],
    [
      "credentials in the URL",
      { transport: "http", url: "https://u:hunter2@h/" },
      "must not contain credentials",
    ],
    ["a misspelt key", { transport: "http", url: "https://h/", header: {} }, "header"],
    ["a NUL in an argument", { transport: "stdio", command: "a", args: ["\0"] }, "NUL"],
    ["a variable that is none", { transport: "stdio", command: "a", env: { "A=B": "" } }, "A=B"],
  ])("a definition with %s is refused with what was expected", async (_name, definition, message) => {
    await using host = await hostMcp({ allowStdio: true });
    const input = typeof definition === "string" ? definition : JSON.stringify(definition);
    const made = host.adapter.generateDefinition(input);
    await expect(made).rejects.toThrow(message);
    await expect(made).rejects.toThrow("Expected JSON");
    await expect(made).rejects.not.toThrow("hunter2");
  });
});

describe("answers", () => {
  test("larger than allowed: given up after that many bytes, plain, packed or as a stream", async () => {
    const big = Buffer.alloc(64 * 1024 * 1024, 120);
    const plain = await prepareCalls(
      ({ response }) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(big);
        return true;
      },
      { maxResponseBytes: 100_000 },
    );
    await expect(plain.call("s", "ping")).rejects.toMatchObject({ code: "mcp_too_large" });

    const packed = gzipSync(big);
    expect(packed.length).toBeLessThan(100_000);
    const bomb = await prepareCalls(
      ({ response }) => {
        response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
        response.end(packed);
        return true;
      },
      { maxResponseBytes: 100_000 },
    );
    await expect(bomb.call("s", "ping")).rejects.toMatchObject({ code: "mcp_too_large" });

    const endless = await prepareCalls(
      ({ stream, response }) => {
        const events = stream();
        const more = () => {
          while (
            !response.destroyed &&
            events.raw(
              `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: {} })}\n\n`,
            )
          );
          if (!response.destroyed) response.once("drain", more);
        };
        more();
        return true;
      },
      { maxResponseBytes: 100_000 },
    );
    await expect(endless.call("s", "ping")).rejects.toMatchObject({ code: "mcp_too_large" });
  });

  test("a stream that says nothing, but does not end, costs its time limit", async () => {
    let closed = false;
    const host = await prepareCalls(
      ({ stream, response }) => {
        const events = stream();
        const timer = setInterval(() => events.raw(": still here\n\n"), 20);
        response.on("close", () => {
          clearInterval(timer);
          closed = true;
        });
        return true;
      },
      { timeoutMs: 300 },
    );
    await expect(host.call("s", "ping")).rejects.toMatchObject({ code: "mcp_timeout" });
    await eventually(() => closed);
  });

  test.each([
    ["ends without an answer", (exchange: Exchange) => exchange.stream().end()],
    [
      "breaks off",
      (exchange: Exchange) => {
        exchange.stream().raw("data: {\n");
        setTimeout(() => exchange.response.destroy(), 20);
      },
    ],
    [
      "asks for a reconnection in a month",
      (exchange: Exchange) => {
        const events = exchange.stream();
        events.raw("retry: 2592000000\nid: 1\ndata: \n\n");
        events.end();
      },
    ],
  ])("a stream that %s fails the call at once", async (_name, answer) => {
    const host = await prepareCalls((exchange) => {
      answer(exchange);
      return true;
    });
    await expect(host.call("s", "ping")).rejects.toMatchObject({ code: "mcp_connection_lost" });
  });

  test("content that is nothing is refused", async () => {
    const host = await prepareCalls(({ answer }) => {
      answer(null);
      return true;
    });
    await expect(host.call("s", "ping")).rejects.toMatchObject({ code: "mcp_bad_answer" });
  });

  const hologram = { type: "hologram", depth: 3 };
  const text = (words: string) => ({ type: "text", text: words });

  test("null means absent, everywhere but in the data of a tool", async () => {
    const nothing = { annotations: null, _meta: null };
    const resource = { uri: "a:b", mimeType: null, text: "r", blob: null, _meta: null };
    const content = [
      { ...text("fine"), ...nothing },
      { type: "resource", resource, ...nothing },
    ];
    const structuredContent = { none: null, _meta: null };
    const tools = ["content", "structured"].map((name) => ({ name, inputSchema: { type: "object" } }));
    const { host, definition } = await prepare(
      ({ message, response, answer }) => {
        const { id, method, params } = message;
        if (method === "initialize") {
          answer({
            protocolVersion: params?.protocolVersion,
            capabilities: { tools: { listChanged: null }, prompts: null, logging: null },
            serverInfo: { name: "nulls", version: "1", title: null, icons: null },
            instructions: null,
            _meta: null,
          });
          return true;
        }
        if (method !== "tools/call") return false;
        const given =
          params?.name === "content" ? { content, structuredContent: null } : { content, structuredContent };
        response.writeHead(200, { "content-type": "application/json" });
        response.end(
          JSON.stringify({
            jsonrpc: "2.0",
            id,
            error: null,
            result: { ...given, isError: null, _meta: null },
          }),
        );
        return true;
      },
      { tools },
    );
    const made = await host.install("s", definition);
    expect(made.name).toBe("nulls");
    const warnings: unknown[] = [];
    const call = (toolId: string) =>
      host.adapter.invoke({
        serviceId: "s",
        toolId,
        parameters: {},
        warn: (warning) => void warnings.push(warning),
      });
    expect(await call("content")).toEqual(["fine", { type: "resource", uri: "a:b", text: "r" }]);
    expect(await call("structured")).toEqual(structuredContent);
    expect(warnings).toEqual([]);
  });

  test.each([
    ["of another shape", false, { content: "text" }, "text"],
    ["of an unknown kind", false, { content: [text("a"), hologram] }, ["a", hologram]],
    ["that is a list where structure is", false, { content: [], structuredContent: [1] }, [1]],
    ["without the promised structure", true, { content: [text('{"a":1}')] }, { a: 1 }],
    ["without the promised list", { type: "array" }, { content: [text("[1,2]")] }, [1, 2]],
    ["without the promised integer", { type: "integer" }, { content: [text("7")] }, 7],
    ["of another type than promised", { type: "array" }, { content: [text('{"a":1}')] }, '{"a":1}'],
    ["that lacks a member", { type: "object", required: ["b"] }, { content: [text('{"a":1}')] }, '{"a":1}'],
    [
      "with structure of another type",
      { type: "object", required: ["a"] },
      { content: [text('{"a":5}')], structuredContent: [5] },
      { a: 5 },
    ],
    ["that is no JSON", true, { content: [text("plain")] }, "plain"],
    ["whose structure is null", true, { content: [text('{"a":2}')], structuredContent: null }, { a: 2 }],
  ])("content %s is given, and warned of", async (_name, promises, result, expected) => {
    const { host, definition } = await prepare(
      ({ message, answer }) => {
        if (message.method !== "tools/call") return false;
        answer(result);
        return true;
      },
      {
        tools: [
          {
            name: "ping",
            inputSchema: { type: "object" },
            ...(promises && { outputSchema: promises === true ? { type: "object" } : promises }),
          },
        ],
      },
    );
    await host.install("s", definition);
    const warnings: string[] = [];
    const input = { serviceId: "s", toolId: "ping", parameters: {} };
    const warn = ({ code }: { code: string }) => void warnings.push(code);
    expect(await host.adapter.invoke({ ...input, warn })).toEqual(expected);
    expect(warnings).toEqual(["answer_odd"]);
  });

  test("structure of a promised type other than an object is given", async () => {
    const outputSchema = { type: "array", items: { type: "integer" } };
    const { host, definition } = await prepare(
      ({ message, answer }) => {
        if (message.method !== "tools/call") return false;
        answer({ content: [], structuredContent: [1] });
        return true;
      },
      { tools: [{ name: "ping", inputSchema: { type: "object" }, outputSchema }] },
    );
    await host.install("s", definition);
    const input = { serviceId: "s", toolId: "ping", parameters: {} };
    const warn = ({ message }: { message: string }) => expect.unreachable(message);
    expect(await host.adapter.invoke({ ...input, warn })).toEqual([1]);
  });

  test("an error's text is cut, and free of control characters", async () => {
    const host = await prepareCalls(({ message, response }) => {
      response.writeHead(200, { "content-type": "application/json" });
      const error = { code: -32000, message: `\u001b[31m${"long ".repeat(100_000)}` };
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
      return true;
    });
    const error = (await host.call("s", "ping").catch((thrown) => thrown)) as Error;
    expect(error.message.length).toBeLessThan(2200);
    expect(error.message).not.toContain("\u001b");
  });
});

describe("requests of the server's own", () => {
  test("sampling, elicitation and roots are declined, and the call goes on", async () => {
    const replies: unknown[] = [];
    const asked = ["sampling/createMessage", "elicitation/create", "roots/list"];
    const { host, definition } = await prepare((exchange) => {
      const { message, refuse } = exchange;
      if (message.error !== undefined || message.result !== undefined) {
        replies.push(message.error?.code ?? "answered");
        refuse(202);
        return true;
      }
      if (message.method !== "tools/call") return false;
      const events = exchange.stream();
      for (const [index, method] of asked.entries()) events.send({ id: 100 + index, method, params: {} });
      void eventually(() => replies.length === asked.length).then(() =>
        events.send({ id: message.id, result: { content: [{ type: "text", text: "went on" }] } }),
      );
      return true;
    });
    await host.install("s", definition);
    expect(await host.call("s", "ping")).toBe("went on");
    expect(replies).toEqual([-32601, -32601, -32601]);
  });

  test("more of them than a client could wait for end the connection", async () => {
    const host = await prepareCalls(({ stream, message }) => {
      const events = stream();
      for (let n = 0; n < 2000; n += 1) events.send({ id: n, method: "ping" });
      void message;
      return true;
    });
    await expect(host.call("s", "ping")).rejects.toThrow("sends requests to this client without waiting");
  });
});
