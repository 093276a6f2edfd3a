/** Integers beyond 2^53 to MCP servers and back. */
import { expect, test } from "vitest";
import { restoreIntegers } from "#modules/mcp/call/integers.ts";
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
        const content = [
          { type: "text", text: "Found one." },
          { type: "text", text: JSON_TEXT },
        ];
        const result = { content, structuredContent: parseExactJson(JSON_TEXT) };
        if (how === "as JSON") return answer(result);
        const events = stream();
        events.send({ id: message.id, result });
        events.end();
        return true;
      },
      [{ name: "find", inputSchema: { type: "object" }, outputSchema: { type: "object" } }],
    );
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: server.url });
    const answer = await host.call("s", "find", parseExactJson(JSON_TEXT) as object);
    expect(JSON.stringify(answer)).toBe(JSON_TEXT);
    expect(server.bodies.find((body) => body.includes("tools/call"))).toContain(`"arguments":${JSON_TEXT}`);
  },
);

test("structured content without its text is warned of, where a number may have been rounded", () => {
  const messages: string[] = [];
  const warn = (message: string) => void messages.push(message);
  const rounded = JSON.parse(JSON_TEXT);
  expect(restoreIntegers(rounded, ["Found one.", '{"list":[]}'], warn)).toBe(rounded);
  expect(messages).toEqual([expect.stringContaining("was rounded")]);
  expect(restoreIntegers({ id: 5 }, [], warn)).toEqual({ id: 5 });
  expect(messages).toHaveLength(1);
});
