/** GET /approvals/stream: whoever decides sees what is asked for and decided, as it happens, and only what the role shows. */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../processes-server.ts";
import { type ApprovalsServer, startApprovalsServer } from "./server.ts";

let on: ApprovalsServer;
beforeAll(async () => {
  on = await startApprovalsServer();
});
afterAll(() => on[Symbol.asyncDispose]());

interface Stream extends Disposable {
  status: number;
  events: EventSourceMessage[];
  /** `id state` of each approval. */
  seen(): string[];
  hasEnded(): boolean;
}

async function follow(key: string, lastEventId?: string): Promise<Stream> {
  const quit = new AbortController();
  const response = await fetch(`${on.server.url}/approvals/stream`, {
    headers: {
      authorization: `Bearer ${key}`,
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    },
    signal: quit.signal,
  });
  const events: EventSourceMessage[] = [];
  let hasEnded = false;
  const parser = createParser({ onEvent: (event) => events.push(event) });
  const decoder = new TextDecoder();
  void (async () => {
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  })()
    .catch(() => {})
    .finally(() => {
      hasEnded = true;
    });
  return {
    status: response.status,
    events,
    seen: () =>
      events
        .filter(({ event }) => event === "approval")
        .map(({ data }) => JSON.parse(data) as { id: string; state: string })
        .map(({ id, state }) => `${id} ${state}`),
    hasEnded: () => hasEnded,
    [Symbol.dispose]: () => quit.abort(),
  };
}

async function makeDecider(roleId?: string): Promise<{ key: string; id: string }> {
  const body = { name: "decider", scopes: ["approvals:decide"], ...(roleId && { roleId }) };
  return (await on.server.post("/keys", body)).body;
}

test("shows each approval when it is asked for and when it is decided, without what it is about", async () => {
  using stream = await follow((await makeDecider()).key);
  expect(stream.status).toBe(200);
  const id = await on.submit('call shop delete_item {"name":"in-the-stream"}');
  const [approval = ""] = await on.paused(id);
  await until("it is shown", () => stream.seen().includes(`${approval} pending`));
  await on.decide(approval, "approve");
  await until("the decision is shown", () => stream.seen().includes(`${approval} approved`));
  expect(stream.seen()).toEqual([`${approval} pending`, `${approval} approved`]);
  const last = JSON.parse(stream.events.at(-1)?.data ?? "{}");
  expect(last).toMatchObject({
    processId: id,
    serviceId: "shop",
    toolId: "delete_item",
    decidedBy: on.boss.id,
  });
  expect(JSON.stringify(stream.events)).not.toContain("in-the-stream");
});

test("goes on where a client was; one that was away for too long, or at another server, reads the list anew", async () => {
  const { key } = await makeDecider();
  using before = await follow(key);
  const id = await on.submit('call shop delete_item {"name":"a"}');
  const [first = ""] = await on.paused(id);
  await until("it is shown", () => before.seen().includes(`${first} pending`));
  const lastEventId = before.events.at(-1)?.id;
  await on.decide(first, "deny");
  using after = await follow(key, lastEventId);
  await until("what was missed is shown", () => after.seen().includes(`${first} denied`));
  expect(after.seen()).toEqual([`${first} denied`]);
  for (const unknown of ["000000000000.1", "nonsense", `${lastEventId}0000`, "."]) {
    using anew = await follow(key, unknown);
    await until("it is told to read the list", () => anew.events.length > 0);
    expect(anew.events.map(({ event }) => event)).toEqual(["reset"]);
  }
});

test("hides what the role hides", async () => {
  const { id: roleId } = (await on.server.post("/roles", { name: "buyers", allow: ["shop.buy"] })).body;
  using stream = await follow((await makeDecider(roleId)).key);
  const hidden = await on.submit('call shop delete_item {"name":"a"}');
  const [unseen = ""] = await on.paused(hidden);
  const shown = await on.submit('call shop buy {"n":1}');
  const [seen = ""] = await on.paused(shown);
  await until("the other is shown", () => stream.seen().includes(`${seen} pending`));
  expect(stream.seen()).toEqual([`${seen} pending`]);
  for (const approval of [unseen, seen]) await on.decide(approval, "deny");
});

test("needs the scope, and ends with its key", async () => {
  const other = (await on.server.post("/keys", { name: "reader", scopes: ["processes:read"] })).body;
  using refused = await follow(other.key);
  expect(refused.status).toBe(403);
  const { key, id } = await makeDecider();
  using stream = await follow(key);
  await on.server.request("DELETE", `/keys/${id}`);
  await until("the stream has ended", () => stream.hasEnded());
});
