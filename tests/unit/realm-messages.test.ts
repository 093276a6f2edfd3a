import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { childMessageSchema } from "#runner/wire/protocol.ts";
import { runBody, runCode } from "./realm-harness.ts";

describe("messages of the realm", () => {
  test("fit the protocol, one by one, whatever text a script prints, emits, sends and returns", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary" }),
        fc.jsonValue({ stringUnit: "binary" }),
        async (text, value) => {
          const data = JSON.stringify({ text, value });
          const { texts, end } = await runBody(
            `const { text, value } = JSON.parse(${JSON.stringify(data)});
           console.log(text); console.error([text]); cyrnel.output({ [text || "k"]: value });
           await tools["s" + text.slice(0, 100)].t({ value });
           return value;`,
            { answer: ({ params }) => params.parameters.value },
          );
          for (const message of texts) childMessageSchema.parse(JSON.parse(message));
          expect(end).toEqual({ ok: true, result: JSON.parse(JSON.stringify(value)) });
        },
      ),
      { numRuns: 60 },
    );
  });

  test("stay below maxMessageBytes and heal no pair of surrogates apart", async () => {
    const { texts, stdout } = await runBody('console.log("a😀\\u0001".repeat(60_000))', {
      limits: { maxMessageBytes: 65_536 },
    });
    expect(stdout).toBe(`${"a😀\u0001".repeat(60_000)}\n`);
    expect(Math.max(...texts.map((text) => Buffer.byteLength(text)))).toBeLessThanOrEqual(65_536);
  });

  test("stop at the end: nothing follows, and the end comes once", async () => {
    const { messages } = await runBody(
      'setTimeout(() => { console.log("late"); throw new Error("late"); }, 0); queueMicrotask(() => console.log("micro")); return 1',
    );
    expect(messages.at(-1)?.method).toBe("end");
    expect(messages.filter(({ method }) => method === "end")).toHaveLength(1);
  });

  test("count calls up from one and keep to the cap", async () => {
    let open = 0;
    let most = 0;
    const { messages, end } = await runBody(
      "return (await Promise.all(Array.from({ length: 20 }, (_, i) => tools.s.t({ i })))).length",
      {
        limits: { maxConcurrentCalls: 4 },
        answer: async () => {
          most = Math.max(most, ++open);
          await new Promise((resolve) => setTimeout(resolve, 2));
          open--;
        },
      },
    );
    expect([end.result, most]).toEqual([20, 4]);
    expect(messages.filter(({ id }) => id !== undefined).map(({ id }) => id)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
  });

  test("arm timers once, with whole milliseconds, and disarm those that are cleared", async () => {
    const { messages } = await runBody(`
      clearTimeout(setTimeout(() => {}, 12.7)); setImmediate(() => {}); clearTimeout(setTimeout(() => {}, 1e10));
      { using timer = setTimeout(() => {}, "40"); } const t = setTimeout(() => {}, 9); clearInterval(+t); clearTimeout(t);`);
    // Timer 0 is the realm's own.
    const ours = messages.filter(
      ({ method, params }) => (method === "timer" && params.id !== 0) || method === "clear",
    );
    expect(ours.map(({ method, params }) => [method, params.ms])).toEqual([
      ["timer", 12],
      ["clear", undefined],
      ["timer", 0],
      ["timer", 1],
      ["clear", undefined],
      ["timer", 40],
      ["clear", undefined],
      ["timer", 9],
      ["clear", undefined],
    ]);
  });

  test("say why a source that does not compile cannot run", async () => {
    const { end } = await runCode("(async () => {})", { mainInstead: "Unexpected token" });
    expect(end).toMatchObject({
      ok: false,
      reason: "script_error",
      error: { name: "SyntaxError", message: "Unexpected token" },
    });
  });

  test("ignore replies nobody waits for", async () => {
    const { end } = await runBody("return await tools.s.t({})", { answer: () => 1, echoReplies: true });
    expect(end).toEqual({ ok: true, result: 1 });
  });
});
