/** The reference server of the protocol, over every transport. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServiceDefinition } from "#sdk";
import type { HostedAdapter } from "../host.ts";
import { EVERYTHING, hostMcp, type RunningServer, startEverything } from "./host.ts";

const TOOLS = [
  "echo",
  "get_annotated_message",
  "get_env",
  "get_resource_links",
  "get_resource_reference",
  "get_structured_content",
  "get_sum",
  "get_tiny_image",
  "gzip_file_as_resource",
  "toggle_simulated_logging",
  "toggle_subscriber_updates",
  "trigger_long_running_operation",
];

describe.each(["stdio", "streamableHttp", "sse"] as const)("%s", (kind) => {
  let server: RunningServer | null = null;
  let host: HostedAdapter;
  let definition: ServiceDefinition;
  const call = (toolId: string, parameters?: object) => host.call("everything", toolId, parameters);

  beforeAll(async () => {
    server = kind === "stdio" ? null : await startEverything(kind);
    host = await hostMcp({ allowStdio: true });
    definition = await host.install(
      "everything",
      server === null
        ? {
            transport: "stdio",
            command: process.execPath,
            args: [EVERYTHING, "stdio"],
            env: { FROM_DEFINITION: "yes" },
          }
        : { transport: "http", url: server.url },
      { secrets: kind === "stdio" ? { env: { FROM_SECRETS: "planted" } } : {} },
    );
  });
  afterAll(async () => {
    await host?.adapter.teardown();
    await server?.[Symbol.asyncDispose]();
  });

  test("its tools become tools, under ids that are identifiers", () => {
    expect(definition.name).toBe("Everything Reference Server");
    expect(definition.tools.map((tool) => tool.id)).toEqual(TOOLS);
    const sum = definition.tools.find((tool) => tool.id === "get_sum");
    expect(sum).toMatchObject({
      name: "Get Sum Tool",
      adapterDomain: { name: "get-sum" },
      inputSchema: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
    });
    expect(definition.description).toContain("Everything Server");
  });

  test("the same server gives the same definition again", async () => {
    const again = await host.adapter.generateDefinition(JSON.stringify(definition.adapterDomain));
    expect(again).toEqual(definition);
  });

  test("a tool that works in the background only is left out, and said so", () => {
    expect(definition.problems).toContain(
      "The tool simulate-research-query is left out: it can be called as a background task only.",
    );
  });

  test("text is a string, structured content is as it is, other content has its type and base64", async () => {
    expect(await call("echo", { message: "hällo\u2028" })).toBe("Echo: hällo\u2028");
    expect(await call("get_structured_content", { location: "Chicago" })).toEqual({
      temperature: 36,
      conditions: "Light rain / drizzle",
      humidity: 82,
    });
    const image = (await call("get_tiny_image")) as { base64: string }[];
    expect(image[1]).toMatchObject({ type: "image", mimeType: "image/png" });
    expect(
      Buffer.from(image[1]?.base64 ?? "", "base64")
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    const [, link] = (await call("get_resource_links", { count: 1 })) as unknown[];
    expect(link).toMatchObject({ type: "resource_link", uri: expect.stringContaining("demo://") });
    const reference = (await call("get_resource_reference", {
      resourceType: "Text",
      resourceId: 1,
    })) as unknown[];
    expect(reference[1]).toMatchObject({ type: "resource", text: expect.stringContaining("Resource 1") });
  });

  test("every tool can be called with what its schema asks for", async () => {
    const parameters: Record<string, object> = {
      echo: { message: "x" },
      get_annotated_message: { messageType: "success", includeImage: true },
      get_resource_links: { count: 2 },
      get_resource_reference: { resourceType: "Blob", resourceId: 2 },
      get_structured_content: { location: "New York" },
      get_sum: { a: 1, b: 2 },
      gzip_file_as_resource: { name: "x.gz", data: "data:text/plain,hello", outputType: "resource" },
      trigger_long_running_operation: { duration: 0.1, steps: 2 },
    };
    let accepted = 0;
    for (const { id } of definition.tools) {
      await call(id, parameters[id] ?? {});
      accepted += 1;
    }
    console.log(
      `mcp ${kind}: tools ${TOOLS.length + 1}, imported ${definition.tools.length}, called ${accepted}, accepted ${accepted}`,
    );
    expect(accepted).toBe(TOOLS.length);
  });

  test("an answer that says it is an error is thrown, in the tool's words", async () => {
    await expect(call("get_sum", { a: "one" })).rejects.toMatchObject({
      code: "mcp_tool_error",
      message: expect.stringContaining("expected number"),
    });
  });

  test("twenty calls at once share the connection and get their own answers", async () => {
    const sums = await Promise.all(Array.from({ length: 20 }, (_, n) => call("get_sum", { a: n, b: 1 })));
    expect(sums).toEqual(Array.from({ length: 20 }, (_, n) => `The sum of ${n} and 1 is ${n + 1}.`));
  });

  test.runIf(kind === "stdio")(
    "a program gets what it was promised, and nothing of the server's own environment",
    async () => {
      process.env.PLANTED_IN_SERVER = "leak";
      const text = JSON.stringify(await call("get_env"));
      delete process.env.PLANTED_IN_SERVER;
      expect(text).toContain("FROM_DEFINITION");
      expect(text).toContain("planted");
      expect(text).not.toContain("PLANTED_IN_SERVER");
      expect(text).not.toContain("VITEST");
    },
  );
});
