/** Integers beyond 2^53 to MCP servers and back. */
import { expect, test } from "vitest";
import { parseExactJson } from "#sdk";
import { hostMcp } from "./host.ts";
import { startScripted } from "./scripted-server.ts";

const ID = "9007199254740993";
const JSON_TEXT = `{"list":[{"id":${ID}}]}`;

test.each(["as JSON", "as an event stream"])(
  "arguments and structured content keep their digits, %s",
  async (how) => {
    await using server = await startScripted(
      ({ message, answer, stream }) => {
        if (message.method !== "tools/call") return false;
        const result = {
          content: [{ type: "text", text: "Found one." }],
          structuredContent: parseExactJson(JSON_TEXT),
        };
        if (how === "as JSON") return answer(result);
        const events = stream();
        events.send({ id: message.id, result });
        events.end();
        return true;
      },
      [
        {
          name: "find",
          inputSchema: { type: "object", properties: { id: { type: "integer", maximum: 2 ** 63 } } },
          outputSchema: { type: "object" },
        },
      ],
    );
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: server.url });
    const answer = await host.call("s", "find", parseExactJson(JSON_TEXT) as object);
    expect(JSON.stringify(answer)).toBe(JSON_TEXT);
    expect(server.bodies.find((body) => body.includes("tools/call"))).toContain(`"arguments":${JSON_TEXT}`);
  },
);
