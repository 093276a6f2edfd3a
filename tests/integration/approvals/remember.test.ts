/** What `remember` on an approval opens, and for whom: never for another role, never past a block, never for a key that is gone. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../processes-server.ts";
import { type ApprovalsServer, type Person, startApprovalsServer } from "./server.ts";

const SCOPES = ["processes:write", "processes:read"];
const FOR_THE_TOOL = { remember: { for: "tool", minutes: 5 } };
const BUY = 'call shop buy {"n":1}';

let on: ApprovalsServer;
beforeEach(async () => {
  on = await startApprovalsServer();
});
afterEach(() => on[Symbol.asyncDispose]());

const makeRole = async (name: string): Promise<string> =>
  (await on.server.post("/roles", { name, allow: ["shop.*"] })).body.id;

async function add(decision: string, more: Record<string, unknown> = {}): Promise<string> {
  const rule = { servicePattern: "shop", toolPattern: "buy", decision, ...more };
  const answer = await on.server.post("/policies", rule);
  expect(answer.status).toBe(201);
  return answer.body.id;
}

const listRules = async (): Promise<{ id: string; decision: string }[]> =>
  (await on.server.get("/policies")).body.policies;

async function putFirst(id: string): Promise<void> {
  const others = (await listRules()).map((rule) => rule.id).filter((other) => other !== id);
  expect(
    (await on.server.request("PUT", "/policies/order", { json: { orderedIds: [id, ...others] } })).status,
  ).toBe(200);
}

async function submit(person: Person): Promise<number> {
  const answer = await person.send("POST", "/processes", { code: BUY });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

/** Outcome of a call by a script of this key. */
async function outcomeFor(person: Person): Promise<"made" | "asked" | "blocked"> {
  const id = await submit(person);
  const record = await until(`process ${id} has ended or asks`, async () => {
    const now = await on.read(id);
    return (now.state === "paused" || now.exitState !== null) && now;
  });
  if (record.state === "paused") {
    await on.server.post(`/processes/${id}/signals/kill`);
    return "asked";
  }
  const [call] = (await on.server.get(`/processes/${id}/calls`)).body.calls;
  return call.status === "ok" ? "made" : "blocked";
}

/** Has a call of this key approved and remembered. */
async function remember(person: Person, decider = on.boss): Promise<void> {
  const id = await submit(person);
  const [approval] = await on.paused(id);
  const answer = await decider.send("POST", `/approvals/${approval}/approve`, FOR_THE_TOOL);
  expect(answer.status).toBe(200);
  expect((await on.read(id, "?wait=10000")).exitState).toBe("success");
}

describe("a remembered approval of a tool", () => {
  test("counts for the role of the process: no role, this role and another role are three different things", async () => {
    const [one, two] = [await makeRole("one"), await makeRole("two")];
    const [free, ofOne, ofTwo] = [
      await on.makeKey(SCOPES),
      await on.makeKey(SCOPES, one),
      await on.makeKey(SCOPES, two),
    ];
    await remember(free);
    expect(await outcomeFor(free)).toBe("made");
    expect(await outcomeFor(on.agent)).toBe("made");
    expect([await outcomeFor(ofOne), await outcomeFor(ofTwo)]).toEqual(["asked", "asked"]);
    await remember(ofOne);
    expect([await outcomeFor(ofOne), await outcomeFor(ofTwo)]).toEqual(["made", "asked"]);
    expect((await listRules()).filter(({ decision }) => decision === "allow")).toMatchObject([
      { roleId: one, noRole: false, remembered: { keyIds: [ofOne.id, on.boss.id].sort() } },
      { roleId: null, noRole: true, remembered: { keyIds: [free.id, on.boss.id].sort() } },
    ]);
  });

  test("never overrides a blocking rule, whatever its age and position", async () => {
    const role = await makeRole("blocked");
    const blocked = await on.makeKey(SCOPES, role);
    await putFirst(await add("block", { roleId: role }));
    await remember(on.agent);
    expect([await outcomeFor(on.agent), await outcomeFor(blocked)]).toEqual(["made", "blocked"]);
    const later = await add("block");
    expect(await outcomeFor(on.agent)).toBe("made");
    await putFirst(later);
    expect(await outcomeFor(on.agent)).toBe("blocked");
  });

  test("replaces the ask of one rule, not of a later one", async () => {
    await remember(on.agent);
    expect(await outcomeFor(on.agent)).toBe("made");
    const stricter = await add("ask");
    await putFirst(stricter);
    expect(await outcomeFor(on.agent)).toBe("asked");
    await on.server.request("DELETE", `/policies/${stricter}`);
    expect(await outcomeFor(on.agent)).toBe("made");
  });

  test.each(["submitter", "decider"])("stops counting when the key of the %s is revoked", async (gone) => {
    const boss = await on.makeKey(["approvals:decide"]);
    const key = await on.makeKey(SCOPES);
    await remember(key, boss);
    expect(await outcomeFor(on.agent)).toBe("made");
    await on.server.request("DELETE", `/keys/${gone === "submitter" ? key.id : boss.id}`);
    expect(await outcomeFor(on.agent)).toBe("asked");
  });

  test.each(["revoked", "expired"])(
    "cannot be made for a key that is %s, not even when its role is gone too",
    async (how) => {
      const role = await makeRole("gone");
      const expiresAt = how === "expired" ? new Date(Date.now() + 1500).toISOString() : null;
      const made = await on.server.post("/keys", { name: "gone", scopes: SCOPES, roleId: role, expiresAt });
      const headers = { authorization: `Bearer ${made.body.key}` };
      const { id } = (await on.server.post("/processes", { code: BUY }, headers)).body;
      const [approval = ""] = await on.paused(id);
      if (how === "revoked") {
        await on.server.request("DELETE", `/keys/${made.body.id}`);
        expect((await on.server.request("DELETE", `/roles/${role}`)).status).toBe(204);
      } else {
        await until(
          "the key is expired",
          async () => (await on.server.get("/tools", headers)).status === 401,
        );
      }
      const refused = await on.decide(approval, "approve", FOR_THE_TOOL);
      expect([refused.status, refused.body.code, refused.body.issues[0].path]).toEqual([
        400,
        "invalid_request",
        "body.remember",
      ]);
      expect((await on.boss.send("GET", `/approvals/${approval}`)).body.state).toBe("pending");
      expect((await listRules()).filter(({ decision }) => decision === "allow")).toEqual([]);
      expect((await on.decide(approval, "approve")).status).toBe(200);
    },
  );

  test("is refused for a run started under another role than it was submitted with", async () => {
    const submitter = await on.makeKey(SCOPES, await makeRole("submitters"));
    const starter = await on.makeKey([...SCOPES, "processes:all"], await makeRole("starters"));
    const { id } = (await submitter.send("POST", "/processes", { code: BUY, autorun: false })).body;
    await starter.send("POST", `/processes/${id}/signals/run`, {});
    const [approval = ""] = await on.paused(id);
    const refused = await on.decide(approval, "approve", FOR_THE_TOOL);
    expect([refused.status, refused.body.issues[0].path]).toEqual([400, "body.remember"]);
    expect((await on.decide(approval, "approve")).status).toBe(200);
  });

  test("is listed, and only its end can be changed", async () => {
    await remember(on.agent);
    const [rule] = (await on.server.get("/policies")).body.policies;
    expect(rule).toMatchObject({
      decision: "allow",
      servicePattern: "shop",
      toolPattern: "buy",
      processId: null,
    });
    const patch = (json: unknown) => on.server.request("PATCH", `/policies/${rule.id}`, { json });
    for (const change of [
      { roleId: null, noRole: false },
      { toolPattern: "*" },
      { servicePattern: "*" },
      { decision: "allow" },
      { expiresAt: null },
    ]) {
      expect([change, (await patch(change)).status]).toEqual([change, 400]);
    }
    expect((await patch({ expiresAt: new Date(Date.now() + 500).toISOString() })).status).toBe(200);
    await until("it is over", async () => (await outcomeFor(on.agent)) === "asked");
  });
});

test("an administrator's rule applies to everybody, one role, or callers without a role", async () => {
  const role = await makeRole("some");
  const ofRole = await on.makeKey(SCOPES, role);
  const rule = await add("block", { noRole: true });
  await putFirst(rule);
  expect([await outcomeFor(on.agent), await outcomeFor(ofRole)]).toEqual(["blocked", "asked"]);
  const both = { servicePattern: "shop", toolPattern: "buy", decision: "block", noRole: true, roleId: role };
  expect((await on.server.post("/policies", both)).status).toBe(400);
  expect((await on.server.request("PATCH", `/policies/${rule}`, { json: { roleId: role } })).status).toBe(
    400,
  );
  expect(
    (await on.server.request("PATCH", `/policies/${rule}`, { json: { roleId: role, noRole: false } })).status,
  ).toBe(200);
  expect([await outcomeFor(on.agent), await outcomeFor(ofRole)]).toEqual(["asked", "blocked"]);
});
