/** Waiting for approvers is measured separately, so a slow decision does not make a tool look slow. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { until } from "../processes-server.ts";
import { type ApprovalsServer, startApprovalsServer } from "./server.ts";

const WAIT_MS = 1500;
const CALL_MS = 100;
const functions = { ask_slowly: { destructive: true, invoke: () => sleep(CALL_MS, "made") } };

async function readMetrics(on: ApprovalsServer): Promise<Map<string, number>> {
  const { text } = await on.server.get("/metrics");
  const lines = text.split("\n").filter((line) => line.startsWith("cyrnel_"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}

test.each([
  ["in its child", "60000"],
  ["repeated in another child", "0"],
])(
  "the waiting of a call %s is no part of its duration: in the trail, in the histogram, in the log",
  async (_name, holdMs) => {
    const environment = { CYRNEL_APPROVAL_HOLD_MS: holdMs };
    await using on = await startApprovalsServer({ functions, environment });
    const before = await readMetrics(on);
    expect(before.get("cyrnel_approvals_pending")).toBe(0);
    expect(before.get("cyrnel_approval_oldest_seconds")).toBe(0);

    const id = await on.submit("call shop list {}\ncall shop ask_slowly {}");
    const [approval = ""] = await on.paused(id);
    await sleep(WAIT_MS);
    const meanwhile = await readMetrics(on);
    expect(meanwhile.get("cyrnel_approvals_pending")).toBe(1);
    expect(meanwhile.get("cyrnel_processes_paused")).toBe(1);
    expect(meanwhile.get("cyrnel_approval_oldest_seconds")).toBeGreaterThanOrEqual(WAIT_MS / 1000);

    await on.decide(approval, "approve");
    expect(await on.read(id, "?wait=20000")).toMatchObject({ exitState: "success" });
    const { calls } = (await on.server.get(`/processes/${id}/calls`)).body;
    const [listed, asked] = calls;
    expect(listed).toMatchObject({ toolId: "list", waitedMs: 0 });
    expect(asked).toMatchObject({ toolId: "ask_slowly", status: "ok" });
    expect(asked.waitedMs).toBeGreaterThanOrEqual(WAIT_MS);
    expect(asked.durationMs).toBeGreaterThanOrEqual(CALL_MS - 1);
    const [logged] = await until("the log has the call", () => {
      const lines = on.server.logs().filter((line) => line.toolId === "ask_slowly" && line.outcome === "ok");
      return lines.length > 0 && lines;
    });
    expect(logged?.waitedMs).toBeGreaterThanOrEqual(WAIT_MS);
    expect(logged?.durationMs).toBeGreaterThanOrEqual(CALL_MS - 1);

    const after = await readMetrics(on);
    const duration = after.get(
      'cyrnel_tool_call_duration_seconds_sum{service="shop",tool="ask_slowly",status="ok",http_status=""}',
    );
    const waited = after.get('cyrnel_tool_call_wait_seconds_sum{status="ok"}') ?? 0;
    expect(after.get('cyrnel_tool_call_wait_seconds_count{status="ok"}')).toBe(1);
    expect(waited).toBeGreaterThanOrEqual(WAIT_MS / 1000);
    expect(Math.abs((duration ?? 0) * 1000 - Number(logged?.durationMs))).toBeLessThan(1);
    expect(after.get("cyrnel_approvals_pending")).toBe(0);
    expect(after.get("cyrnel_processes_paused")).toBe(0);
  },
);

test("a run that is killed while a person is waited for shows the time until then as waiting", async () => {
  await using on = await startApprovalsServer({ functions });
  const id = await on.submit("call shop ask_slowly {}");
  await on.paused(id);
  await sleep(WAIT_MS);
  await on.agent.send("POST", `/processes/${id}/signals/kill`);
  expect(await on.read(id, "?wait=20000")).toMatchObject({ exitState: "canceled" });
  const [call] = (await on.server.get(`/processes/${id}/calls`)).body.calls;
  expect(call).toMatchObject({ status: "canceled" });
  const { records } = (await on.server.get(`/audit?action=tool.call&processId=${id}`)).body;
  expect(records).toMatchObject([{ outcome: "canceled", code: "call_canceled" }]);
  expect(call.waitedMs).toBeGreaterThanOrEqual(WAIT_MS);
  expect(call.durationMs).toBeLessThan(call.waitedMs);
});
