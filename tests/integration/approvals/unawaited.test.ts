/** Calls and questions that a script does not await: they pause its run like any other, in place and when it is repeated. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type ApprovalsServer, startApprovalsServer } from "./server.ts";

const EACH = `
  ["a", "b"].forEach(async (name) => {
    const { echoed } = await tools.shop.delete_item({ name });
    await tools.shop.list({ deleted: echoed.name });
    console.log("deleted", name);
  });
  return "asked";
`;

describe.each(["typescript-process", "typescript-ivm"])("%s", (environmentId) => {
  let database: TestDatabase;
  const open: ApprovalsServer[] = [];
  beforeEach(async () => {
    database = await createTestDatabase({ maxConnections: 12 });
  });
  afterEach(async () => {
    for (const on of open.splice(0)) await on[Symbol.asyncDispose]();
    await database.drop();
  });

  async function start(holdMs: number): Promise<ApprovalsServer> {
    const environments = BUILTIN_MODULES.filter(({ type }) => type === "environment");
    const environment = { CYRNEL_APPROVAL_HOLD_MS: String(holdMs) };
    const on = await startApprovalsServer({ database, environments, environment });
    open.push(on);
    await on.server.post(`/modules/${environmentId}/enabled`, { enabled: true });
    return on;
  }

  test("a call that nothing awaits pauses the run, and is made once it is approved", async () => {
    const on = await start(60_000);
    const id = await on.submit('tools.shop.delete_item({ name: "x" });\nreturn "cleared";');
    const [approval = ""] = await on.paused(id);
    expect(on.made()).toEqual([]);
    await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=30000");
    expect([record.exitState, record.result, on.made()]).toEqual([
      "success",
      "cleared",
      ['delete_item {"name":"x"}'],
    ]);
    expect(record.warnings).toMatchObject([{ code: "call_not_awaited", line: 1 }]);
  });

  test("a denial that nothing handles fails the run as approval_denied", async () => {
    const on = await start(60_000);
    const id = await on.submit("tools.shop.delete_item({}); return 1;");
    const [approval = ""] = await on.paused(id);
    await on.decide(approval, "deny");
    expect(await on.read(id, "?wait=30000")).toMatchObject({
      exitState: "failed",
      reason: "approval_denied",
    });
  });

  test.each([
    ["in place", 60_000, false],
    ["after its child has gone and the server was started anew", 0, true],
  ])("code behind calls that nothing awaits goes on %s", async (_where, holdMs, restarts) => {
    let on = await start(holdMs);
    const id = await on.submit(EACH);
    const approvals = await on.paused(id, 2);
    const made = on.made();
    if (restarts) {
      open.splice(0);
      await on[Symbol.asyncDispose]();
      on = await start(holdMs);
    }
    for (const approval of approvals) await on.decide(approval, "approve");
    const record = await on.read(id, "?wait=30000");
    expect([record.exitState, record.error, record.result, record.warnings]).toEqual([
      "success",
      null,
      "asked",
      [],
    ]);
    expect(record.stdout.trim().split("\n").sort()).toEqual(["deleted a", "deleted b"]);
    expect([...made, ...on.made()].map((call) => call.split(" ")[0]).sort()).toEqual([
      "delete_item",
      "delete_item",
      "list",
      "list",
    ]);
  });

  test("calls that are aborted while they wait to be sent are recorded as canceled, and not made", async () => {
    const on = await start(60_000);
    const id = await on.submit(`
      const given = new AbortController();
      for (let n = 0; n < 40; n++) tools.shop.list({ n }, { signal: given.signal }).catch(() => {});
      given.abort();
      return (await tools.shop.list({ n: 40 })).echoed.n;`);
    const record = await on.read(id, "?wait=30000");
    expect([record.error, record.result, record.warnings]).toEqual([null, 40, []]);
    const { calls } = (await on.server.get(`/processes/${id}/calls?limit=100`)).body;
    expect(calls.map(({ parameters }: { parameters: { n: number } }) => parameters.n)).toEqual(
      Array.from({ length: 41 }, (_, n) => n),
    );
    expect(calls.slice(32).map(({ status }: { status: string }) => status)).toEqual([
      ...Array.from({ length: 8 }, () => "canceled"),
      "ok",
    ]);
    const unsent = Array.from({ length: 8 }, (_, n) => `list {"n":${n + 32}}`);
    expect(on.made().filter((call) => unsent.includes(call))).toEqual([]);
  });

  test("a question that lost a race leaves the run paused; one that the script aborts does not", async () => {
    const on = await start(60_000);
    const script = (ending: string) => `
      const given = new AbortController();
      const asked = cyrnel.ask({ message: "Sure?" }, { signal: given.signal }).catch(({ name }) => name);
      const won = await Promise.race([asked, Promise.resolve("quick")]);
      ${ending}
      return won;`;
    const lost = await on.submit(script(""));
    const [approval = ""] = await on.paused(lost);
    await on.decide(approval, "approve", { data: true });
    expect(await on.read(lost, "?wait=30000")).toMatchObject({ exitState: "success", result: "quick" });
    const aborted = await on.submit(script("given.abort(); console.log(await asked);"));
    expect(await on.read(aborted, "?wait=30000")).toMatchObject({
      exitState: "success",
      result: "quick",
      stdout: "AbortError\n",
    });
  });
});
