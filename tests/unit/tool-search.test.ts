/** The search over tools: what a caller must not see leaves no trace, and questions in everyday words find the right tool. */
import { describe, expect, test } from "vitest";
import { writeLineSignature } from "#kernel/tool-docs/line-signature.ts";
import type { SearchableTool } from "#kernel/tool-search/entries.ts";
import { createToolIndex } from "#kernel/tool-search/tool-index.ts";
import { addUp, indexDefinitions, readQuestions, score } from "./search-questions/score.ts";

const PAGE = { after: null, limit: 100 };

function tool(
  path: string,
  name: string,
  description = "",
  more: Partial<SearchableTool> = {},
): SearchableTool {
  const [serviceId = "", ...id] = path.split(".");
  return { serviceId, id: id.join("."), name, description, ...more };
}

function indexOf(tools: readonly SearchableTool[]) {
  const index = createToolIndex();
  for (const serviceId of new Set(tools.map((one) => one.serviceId))) {
    index.put(serviceId, tools.filter((one) => one.serviceId === serviceId).map(index.read));
  }
  return index;
}

const VISIBLE = [
  tool("shop.createOrder", "Create an order", "Orders an article."),
  tool("shop.listOrders", "List orders", "All orders of a customer, the newest first."),
  tool("mail.send", "Send a letter", "Sends text to a person.", {
    inputSchema: { type: "object", properties: { recipient: { type: "string", enum: ["zebra"] } } },
  }),
];
const HIDDEN = [
  tool("shop.deleteOrder", "Delete an order", "Removes an order; orders, orders, letters."),
  tool("bank.acquireOrca", "Acquire Orca Limited", "The secret orxer of an acquisition."),
  ...Array.from({ length: 60 }, (_, at) =>
    tool(`bank.ordo${at}`, `Letter ${at}`, "zebra person customer newest"),
  ),
];
const isVisible = ({ serviceId, id }: { serviceId: string; id: string }) =>
  VISIBLE.some((one) => one.serviceId === serviceId && one.id === id);

describe("what a caller must not see", () => {
  const mixed = indexOf([...HIDDEN, ...VISIBLE]);
  const alone = indexOf(VISIBLE);

  test.each([
    "order",
    "orca",
    "acquire orca limited",
    "acquisition",
    "delete an order",
    "ord",
    "ordo5",
    "orxer",
    "lettre",
    "custmer letter",
    "send a letter to a person",
    "zebra",
    "recipient",
    "what's newest",
    "bank.acquireOrca",
    "zzqqxx",
    "",
    "!!!",
  ])(
    "leaves no trace in the answer to %j: neither in tools nor in scores nor among the nearest",
    (question) => {
      expect(mixed.search(question, isVisible, PAGE)).toEqual(alone.search(question, () => true, PAGE));
      expect(mixed.findNearest(question, isVisible, 5)).toEqual(alone.findNearest(question, () => true, 5));
      expect(mixed.listServices(isVisible).toSorted()).toEqual(alone.listServices(() => true).toSorted());
    },
  );
});

describe("the ranking", () => {
  const only = (one: SearchableTool, question = "heron") =>
    indexOf([one]).search(question, () => true, PAGE)[0]?.score ?? 0;

  test("counts a word 12 in the path, 10 in the name, 5 in the description, 3 among the parameters; a whole segment 8 more", () => {
    const elsewhere = [
      tool("a.x", "heron"),
      tool("a.x", "", "heron"),
      tool("a.x", "", "", { inputSchema: { properties: { heron: {} } } }),
      tool("a.x", "", "", { inputSchema: { properties: { bird: { enum: ["heron"] } } } }),
    ].map((one) => only(one));
    const [name = 0, description = 0, parameter = 0, value = 0] = elsewhere;
    // Rarity takes each holder by how much it holds, so the proportions are near those of the weights, not equal to them.
    expect(name / description).toBeCloseTo(10 / 5, 0);
    expect(description / parameter).toBeCloseTo(5 / 3, 0);
    expect(value).toBe(parameter);
    const inPath = only(tool("a.heronNest", "", ""));
    expect(inPath).toBeGreaterThan(name);
    expect(only(tool("a.heron", "", ""))).toBeGreaterThan(inPath + 8);
  });

  test("finds any of the words: more of them, rarer ones and shorter paths rank higher", () => {
    const tools = [
      tool("a.getIssue", "Get an issue"),
      tool("a.getIssueCommentOfRepository", "Get a comment"),
      tool("a.getHeron", "Get a heron"),
      ...Array.from({ length: 30 }, (_, at) => tool(`b.issue${at}`, "An issue")),
    ];
    const first = (question: string) =>
      indexOf(tools)
        .search(question, () => true, PAGE)
        .map(({ id }) => id);
    expect(first("issue heron")[0]).toBe("getHeron");
    expect(first("get an issue").slice(0, 1)).toEqual(["getIssue"]);
    expect(first("comment repository issue")[0]).toBe("getIssueCommentOfRepository");
  });

  test("prefers what changes something when something is to be changed, and the other way round", () => {
    const index = indexOf([
      tool("a.orderState", "Order state", "", { destructive: false }),
      tool("a.orderPlace", "Order place", "", { destructive: true }),
    ]);
    const first = (question: string) => index.search(question, () => true, PAGE)[0]?.id;
    expect(first("add order")).toBe("orderPlace");
    expect(first("which order")).toBe("orderState");
  });

  test("pages through everything exactly once", () => {
    const index = indexOf([...HIDDEN, ...VISIBLE]);
    const whole = index.search("order letter customer", () => true, PAGE);
    const seen = [];
    for (let after = null; ; ) {
      const page = index.search("order letter customer", () => true, { after, limit: 7 });
      if (page.length === 0) break;
      seen.push(...page);
      after = page.at(-1) as (typeof page)[number] as never;
    }
    expect(seen).toEqual(whole);
    expect(whole.length).toBeGreaterThan(60);
  });

  test("takes hostile texts and schemas", () => {
    const loop: Record<string, unknown> = { type: "object" };
    loop.properties = { self: loop, constructor: loop };
    const index = indexOf([tool("a.b", "x".repeat(10_000), "y ".repeat(10_000), { inputSchema: loop })]);
    for (const question of [
      "__proto__ constructor",
      "\u{1f600}".repeat(200),
      "(.*)+".repeat(100),
      "a".repeat(10_000),
    ]) {
      expect(() => index.search(question, () => true, PAGE)).not.toThrow();
    }
  });
});

describe("questions in everyday words", () => {
  // A floor: what a change of the ranking must not fall below. `npm run bench -- search` has the figures over all definitions.
  test("find the right tool among the first five of Figma's and ReadMe's", async () => {
    const indexed = await indexDefinitions(["figma", "readme"]);
    for (const [half, five, first] of [
      ["tuning", 0.9, 0.8],
      ["held-out", 0.75, 0.5],
    ] as const) {
      const all = addUp(score(indexed, readQuestions(half)).values());
      expect(all.asked).toBeGreaterThan(25);
      expect(all.five / all.asked, `${half}, first five`).toBeGreaterThanOrEqual(five);
      expect(all.first / all.asked, `${half}, first`).toBeGreaterThanOrEqual(first);
      expect(all.nothing).toBe(0);
    }
  }, 60_000);
});

describe("the signature on one line", () => {
  test("has required parameters first and counts what does not fit", () => {
    const input = {
      type: "object",
      required: ["path"],
      properties: {
        query: {
          type: "object",
          properties: { state: { enum: ["open", "closed"] }, "per page": { type: "integer" } },
        },
        path: { $ref: "#/$defs/path" },
      },
      $defs: { path: { type: "object", required: ["owner"], properties: { owner: { type: "string" } } } },
    };
    expect(writeLineSignature(input, { type: "array", items: { type: ["string", "null"] } })).toBe(
      '(params: { path: { owner: string }; query?: { state?: "open" | "closed"; "per page"?: number } }) => Promise<(string | null)[]>',
    );
    const many = Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [`property${at}`, { type: "string" }]),
    );
    const text = writeLineSignature({ type: "object", properties: many }, {});
    expect(text).toMatch(/; \/\* \d+ more \*\/ \}\) => Promise<unknown>$/);
    expect(text.length).toBeLessThan(400);
  });

  test("is one short line, whatever a schema holds", () => {
    const loop: Record<string, unknown> = { type: "object", properties: {} };
    (loop.properties as Record<string, unknown>).self = { anyOf: Array(50).fill(loop) };
    const hostile = [
      null,
      "text",
      [],
      loop,
      { $ref: "#" },
      { enum: ["a\n*/ }", "\u202e"] },
      { properties: { "x\ny */": {}, __proto__: {} } },
      { anyOf: Array(1000).fill({ type: "string" }) },
    ];
    for (const schema of hostile) {
      const text = writeLineSignature(schema, schema);
      expect(text).not.toMatch(/[\n\r\u2028\u2029\u202e]|\*\/(?=.*\n)/);
      expect(text.length).toBeLessThan(500);
    }
  });
});
