/** A call of a run whose tool host asks for an approval only after the run has ended. */
import { expect, test } from "vitest";
import { createBindings } from "#api/processes/calls/bindings.ts";
import { RunRegistry } from "#api/processes/live/registry.ts";
import { LiveRun } from "#api/processes/live/run.ts";
import type { ProcessRow } from "#api/processes/model/records.ts";
import { createPausing, type PausingOptions } from "#api/processes/pausing/pausing.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { Workspace } from "#runner/workspace/workspace.ts";
import { createTools } from "../integration/harness/tools.ts";

function beginRun(): LiveRun {
  return new LiveRun({
    row: {
      id: 1,
      claim: "claim",
      timeoutMs: null,
      queuedAt: new Date(),
      startedAt: new Date(),
    } as ProcessRow,
    environment: "test",
    submitted: { code: "await tools.shop.buy({});", input: null, inputSchema: null, files: null, name: null },
    memoryMb: null,
    limits: {
      maxStdoutBytes: 10,
      maxStderrBytes: 10,
      maxOutputBytes: 10,
      maxResultBytes: 10,
      maxWorkspaceBytes: 10,
    },
    openWorkspace: () => new Workspace({ files: [], maxBytes: 10, maxFiles: 10 }),
    redactor: createRedactor(),
    onChange() {},
    execution: {
      requestEnd() {},
      confirmed: Promise.resolve(),
      canPause: true,
      pause: async () => null,
      resume() {},
    },
    slot: { giveUp() {}, takeBack() {} },
    onOverdue() {},
  });
}

test("a person is not asked for a run that ended while the policies were looked up", async () => {
  const live = beginRun();
  const registry = new RunRegistry();
  registry.add(live);
  // Nothing of it may be used: what is asked for is refused before it is sealed or stored.
  const pausing = createPausing({ holdMs: 0, maxApprovals: 100 } as PausingOptions);
  const planning = Promise.withResolvers<void>();
  const decided = Promise.withResolvers<void>();
  const tools = createTools(
    async () => {
      throw new Error("it is never made");
    },
    async () => {
      planning.resolve();
      await decided.promise;
      return { parameters: {}, files: [], destructive: true };
    },
  );
  const bindings = createBindings({ registry, pausing, tools });
  const calling = bindings.invokeTool({ eid: live.id, serviceId: "shop", toolId: "buy", parameters: {} });
  await planning.promise;

  live.conclude({ kind: "returned", value: "success" });
  live.opened.dispose();
  decided.resolve();

  await expect(calling).rejects.toMatchObject({
    code: "run_ended",
    message: expect.stringContaining("has ended"),
  });
  expect(pausing.find(live)).toBeNull();
  expect(pausing.pending()).toEqual([]);
});
