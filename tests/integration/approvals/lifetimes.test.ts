/** Approvals that outlive or lose what they are about: their tool, their service, their key, the key they are sealed with. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { until } from "../processes-server.ts";
import { SECRETS_KEY } from "../services-server.ts";
import { type ApprovalsServer, type ApprovalsServerOptions, startApprovalsServer } from "./server.ts";

const run = promisify(execFile);
const NEW_KEY = Buffer.from("9f31c7be2408d56a1bc07a93ee6422d8417fe0ac3b9d6482c5f70e19a8d35b61", "hex");

let database: TestDatabase;
const open: ApprovalsServer[] = [];
beforeEach(async () => {
  database = await createTestDatabase({ maxConnections: 12 });
});
afterEach(async () => {
  for (const on of open.splice(0)) await on[Symbol.asyncDispose]();
  await database.drop();
});

async function start(options: ApprovalsServerOptions = {}): Promise<ApprovalsServer> {
  const on = await startApprovalsServer({ database, ...options });
  open.push(on);
  return on;
}

async function stop(on: ApprovalsServer): Promise<void> {
  open.splice(open.indexOf(on), 1);
  await on[Symbol.asyncDispose]();
}

/** For a run without pending approvals: `?wait` also returns while the run is paused. */
function ended(on: ApprovalsServer, id: number) {
  return until(`process ${id} has ended`, async () => {
    const record = await on.read(id);
    return record.state === "idle" && record;
  });
}

describe("what an approval is about goes away", () => {
  test("ends when its tool or its service is removed: scripts get an error, and it cannot be decided", async () => {
    const on = await start();
    const about = (name: string) => on.submit(`call shop ${name} {"n":1}\nprint went on`);
    const removed = await about("delete_item");
    const kept = await about("buy");
    const [gone = ""] = await on.paused(removed);
    const [stays = ""] = await on.paused(kept);
    await on.server.addService("shop", { buy: { destructive: true }, list: {} });
    const told = await ended(on, removed);
    expect(told.stdout).toMatch(/approval_expired: .*\nwent on\n$/);
    expect((await on.decide(gone, "approve")).body.code).toBe("approval_expired");
    expect((await on.read(kept)).approvals).toEqual([stays]);
    expect((await on.server.request("DELETE", "/services/shop")).status).toBeLessThan(300);
    expect((await ended(on, kept)).stdout).toMatch(/approval_expired: .*\nwent on\n$/);
    const reasons = await on.server.pool`select state, reason from approvals where id in (${gone}, ${stays})`;
    const removal = { state: "expired", reason: "The tool was removed." };
    expect([...reasons]).toEqual([removal, removal]);
    expect(on.made()).toEqual([]);
  });

  test("an approved tool that was disabled, blocked or hidden meanwhile is not called", async () => {
    const on = await start();
    const role = (await on.server.post("/roles", { name: "shoppers", allow: ["shop.*"] })).body.id;
    const changes = [
      ["tool_disabled", () => on.server.post("/tools/shop/buy/enabled", { enabled: false })],
      [
        "policy_blocked",
        async () => {
          const rule = { servicePattern: "shop", toolPattern: "buy", decision: "block" };
          const { id } = (await on.server.post("/policies", rule)).body;
          const others = (await on.server.get("/policies")).body.policies.map(
            (one: { id: string }) => one.id,
          );
          const orderedIds = [id, ...others.filter((other: string) => other !== id)];
          return on.server.request("PUT", "/policies/order", { json: { orderedIds } });
        },
      ],
      [
        "not_found",
        () =>
          on.server.request("PATCH", `/roles/${role}`, { json: { allow: ["shop.*"], deny: ["shop.buy"] } }),
      ],
    ] as const;
    const agent = await on.makeKey(["processes:write", "processes:read"], role);
    const waiting = [];
    for (const [code] of changes) {
      const made = await agent.send("POST", "/processes", { code: 'call shop buy {"n":1}\nprint went on' });
      const [approval = ""] = await on.paused(made.body.id);
      waiting.push({ code, id: made.body.id, approval });
    }
    for (const [index, [code, change]] of changes.entries()) {
      const { id, approval } = waiting[index] as (typeof waiting)[number];
      const answer = await change();
      expect([code, answer.status < 300 || answer.text]).toEqual([code, true]);
      expect((await on.decide(approval, "approve")).status).toBe(200);
      const record = await on.read(id, "?wait=10000");
      expect([record.exitState, record.stdout]).toEqual([
        "success",
        expect.stringMatching(new RegExp(`^ToolError ${code}: .*\\nwent on\\n$`)),
      ]);
      if (code === "tool_disabled") await on.server.post("/tools/shop/buy/enabled", { enabled: true });
      if (code === "policy_blocked") {
        const [block] = (await on.server.get("/policies")).body.policies;
        await on.server.request("DELETE", `/policies/${block.id}`);
      }
    }
    expect(on.made()).toEqual([]);
  });

  test.each([
    ["in the same child", "60000"],
    ["in a later child", "0"],
  ])(
    "a key that is revoked while its run waits: approved, the call is not made, %s",
    async (_where, holdMs) => {
      const on = await start({ environment: { CYRNEL_APPROVAL_HOLD_MS: holdMs } });
      const id = await on.submit('call shop buy {"n":1}\nprint went on');
      const [approval = ""] = await on.paused(id);
      if (holdMs === "0") await until("the child has gone", () => on.server.environment.held === 0);
      expect((await on.server.request("DELETE", `/keys/${on.agent.id}`)).status).toBeLessThan(300);
      expect((await on.decide(approval, "approve")).status).toBe(200);
      const record = await on.read(id, "?wait=10000");
      expect(record.stdout).toMatch(/^ToolError (not_found|policy_blocked): .*\nwent on\n$/);
      expect(on.made()).toEqual([]);
    },
  );

  test("a revoked key decides nothing", async () => {
    const on = await start();
    const id = await on.submit('call shop buy {"n":1}');
    const [approval = ""] = await on.paused(id);
    await on.server.request("DELETE", `/keys/${on.boss.id}`);
    expect((await on.decide(approval, "approve")).status).toBe(401);
    expect((await on.read(id)).approvals).toEqual([approval]);
    expect((await on.server.post(`/approvals/${approval}/deny`, {})).status).toBe(200);
  });
});

test("after `secrets rotate`, pending approvals are read, approved and replayed with the new key alone", async () => {
  const first = await start({ environment: { CYRNEL_APPROVAL_HOLD_MS: "0" } });
  const id = await first.submit('call shop list {"page":1}\ncall shop buy {"n":4711}\nprint end');
  const [approval = ""] = await first.paused(id);
  await until("the child has gone", () => first.server.environment.held === 0);
  const asking = await first.submit('ask {"message":"How much?","schema":{"type":"integer"}}');
  const [question = ""] = await first.paused(asking);
  await stop(first);
  const rotated = await run(process.execPath, ["dist/server/rotate-secrets.js"], {
    env: {
      PATH: process.env.PATH ?? "",
      DATABASE_URL: database.url,
      CYRNEL_SECRETS_KEY: NEW_KEY.toString("base64"),
      CYRNEL_SECRETS_PREVIOUS_KEYS: SECRETS_KEY,
    },
  });
  expect(rotated.stderr).toMatch(/; 0 remain\./);
  const second = await start({ environment: { CYRNEL_SECRETS_KEY: NEW_KEY.toString("base64") } });
  expect((await second.boss.send("GET", `/approvals/${approval}`)).body.parameters).toEqual({ n: 4711 });
  expect((await second.boss.send("GET", `/approvals/${question}`)).body.schema).toEqual({ type: "integer" });
  await second.decide(approval, "approve");
  const record = await second.read(id, "?wait=10000");
  expect([record.exitState, record.error]).toEqual(["success", null]);
  expect(record.stdout).toBe('{"echoed":{"page":1}}\n{"echoed":{"n":4711}}\nend\n');
  expect(second.made()).toEqual(['buy {"n":4711}']);
  expect((await second.decide(question, "approve", { data: 5 })).status).toBe(200);
  expect((await second.read(asking, "?wait=10000")).stdout).toBe("5\n");
});

test("a late decision is refused, even before the expiry sweep has run", async () => {
  const on = await start();
  const id = await on.submit('call shop buy {"n":1}\nprint went on');
  const [approval = ""] = await on.paused(id);
  await on.server.pool`update approvals set expires_at = now() - interval '1 second' where id = ${approval}`;
  const late = await on.decide(approval, "approve");
  expect([late.status, late.body.code]).toEqual([409, "approval_expired"]);
  expect((await ended(on, id)).stdout).toMatch(/approval_expired: .*\nwent on\n$/);
  expect(on.made()).toEqual([]);
});
