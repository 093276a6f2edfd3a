/** The demo service: what it says of its definition, its limits, and that boards are separate. */
import { beforeEach, expect, test } from "vitest";
import { instantiate } from "#modules/demo/index.ts";
import type { AdapterModule } from "#sdk";

let adapter: AdapterModule;
beforeEach(async () => {
  adapter = instantiate();
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  await adapter.setup({ config: {}, secrets: {}, logger, fetch: globalThis.fetch });
});

async function hydrate(id: string, config: Record<string, unknown> = {}): Promise<void> {
  const made = await adapter.generateDefinition("{}");
  const tools = Object.fromEntries(made.tools.map((tool) => [tool.id, tool]));
  await adapter.hydrateService({ id, adapterDomain: null, tools, config, secrets: {} });
}
const call = (serviceId: string, toolId: string, parameters: Record<string, unknown> = {}) =>
  adapter.invoke({ serviceId, toolId, parameters });

test.each(["", "[]", "null", '{"url": "http://x"}', "{"])("the definition %j is refused", async (input) => {
  await expect(adapter.generateDefinition(input)).rejects.toThrow("Expected {} as the definition of a demo");
});

test("only clearing the board is destructive", async () => {
  const { tools } = await adapter.generateDefinition("{}");
  expect(tools.filter(({ destructive }) => destructive).map(({ id }) => id)).toEqual(["clearBoard"]);
});

test("each service has a board of its own, which begins anew", async () => {
  await hydrate("one", { owner: "me" });
  await hydrate("other");
  expect(await call("one", "addTask", { title: "more" })).toEqual({
    id: 4,
    title: "more",
    status: "open",
    points: 1,
    owner: "me",
  });
  expect(await call("one", "finishTask", { id: 4 })).toMatchObject({ status: "done" });
  expect(await call("one", "listTasks", { status: "done" })).toMatchObject({ tasks: [{ id: 4 }] });
  expect(await call("one", "clearBoard", { reason: "r" })).toEqual({ removed: 4 });
  expect(await call("other", "listTasks")).toMatchObject({ tasks: [{ id: 3 }, { id: 2 }, { id: 1 }] });
  await adapter.dehydrateService("other");
  await expect(call("other", "listTasks")).rejects.toThrow("There is no tool other.listTasks");
});

test("a full board and an unknown task are refused in words", async () => {
  await hydrate("small", { maxTasks: 3 });
  await expect(call("small", "addTask", { title: "x" })).rejects.toThrow(
    "The board is full: the limit is 3 tasks.",
  );
  await expect(call("small", "finishTask", { id: 9 })).rejects.toThrow("There is no task 9");
  await expect(call("small", "constructor")).rejects.toThrow("There is no tool small.constructor");
});
