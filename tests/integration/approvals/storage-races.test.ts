/** Concurrent writes for one run over real connections: no deadlock, no lost write. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApprovalStore } from "#api/approvals/run-approvals.ts";
import { parseKeyMaterial } from "#api/config/key-material.ts";
import type { JournaledCall } from "#api/processes/model/calls.ts";
import type { ApprovalStore } from "#api/processes/pausing/approvals.ts";
import { readRestoredRun } from "#api/processes/pausing/restored-run.ts";
import { createPauseStore } from "#api/processes/pausing/transactions.ts";
import { detachRun, lockProcess } from "#api/processes/store/pauses.ts";
import { createKeyring } from "#api/secrets/keyring.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { createVault, type Vault } from "#api/secrets/vault.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { SECRETS_KEY } from "../services-server.ts";

const ROUNDS = 25;
const NEVER = new AbortController().signal;
const NO_USAGE = { queuedMs: 0, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 };

let database: TestDatabase;
let vault: Vault;
let approvalStore: ApprovalStore;
beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 6 });
  const key = parseKeyMaterial(SECRETS_KEY);
  if (!key.ok) throw new Error(key.problem);
  vault = createVault(createKeyring(key.key, []), createRedactor());
  approvalStore = createApprovalStore(vault, 3_600_000);
});
afterAll(() => database.drop());

const storage = () => ({
  pool: database.pool,
  sealer: vault,
  approvalStore,
  room: { hasRoom: async () => true },
  files: { store: async () => [], open: () => [], maxStoredBytes: null },
});

async function startRun() {
  const claim = randomUUID();
  const [row] = await database.pool<{ id: number }[]>`
    insert into processes (code, state, claim, environment, queued_at, started_at)
    values ('', 'running', ${claim}::uuid, 'none', now(), now()) returning id`;
  const name = { id: row?.id ?? 0, claim, run: claim };
  return { name, records: createPauseStore(storage(), name) };
}

const call = (seq: number): JournaledCall => ({
  seq,
  serviceId: "s",
  toolId: "t",
  destructive: true,
  digest: Buffer.alloc(32, seq),
});

const checkpoint = (...unanswered: number[]) => ({
  calls: unanswered.map((seq) => ({ seq, reply: null })),
});

test("a call that begins while its run pauses is neither refused nor made twice", async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const { name, records } = await startRun();
    const approval = approvalStore.prepare({
      processId: name.id,
      run: name.run,
      seq: 1,
      kind: "call",
      path: { serviceId: "s", toolId: "t" },
      destructive: true,
      digest: call(1).digest,
      message: "?",
      content: { parameters: {} },
    });
    const rest = {
      trail: [],
      usage: NO_USAGE,
      packages: [],
      unanswered: [1, 2],
      saved: [],
      checkpoint: checkpoint(1, 2),
    };
    await records.pause({ ...rest, approvals: [approval], calls: [] });
    await database.pool`
      update approvals set state = 'approved', decided_at = now(), decided_by = 'x' where id = ${approval.id}`;
    const pausing = records.pause({
      ...rest,
      approvals: [],
      calls: [1, 2].map((seq) => ({ ...call(seq), reply: null })),
    });
    const [paused, first, second] = await Promise.all([
      pausing,
      records.beginCall(call(1), approval.id, NEVER),
      records.beginCall(call(2), null, NEVER),
    ]);
    expect([paused, first, second]).toEqual([{ replayable: true }, "begun", "begun"]);
    expect(await records.beginCall(call(1), approval.id, NEVER)).toBe("used");
  }
});

test("of a call that begins and another child that takes the run, one is first: then the other knows", async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const { name, records } = await startRun();
    await records.pause({
      trail: [],
      usage: NO_USAGE,
      packages: [],
      unanswered: [1],
      saved: [],
      checkpoint: checkpoint(1),
      approvals: [],
      calls: [],
    });
    const taking = database.pool.begin(async (db) => {
      await lockProcess(db, name.id);
      return detachRun(db, name, [], { usage: NO_USAGE, output: "{}" });
    });
    const [begun] = await Promise.all([records.beginCall(call(1), null, NEVER), taking]);
    const [row] = await database.pool<{ claim: string }[]>`select claim from processes where id = ${name.id}`;
    const carried = await readRestoredRun(storage(), { id: name.id, claim: row?.claim ?? "" });
    const known = typeof carried === "string" ? [] : carried.calls.map(({ seq }) => seq);
    expect(known).toEqual(begun === "begun" ? [1] : []);
  }
});

test("replies and pauses of many calls at once all get through", async () => {
  const { records } = await startRun();
  const seqs = Array.from({ length: 20 }, (_, n) => n + 1);
  const pause = (unanswered: number[]) =>
    records.pause({
      trail: [],
      usage: NO_USAGE,
      packages: [],
      unanswered,
      saved: [],
      checkpoint: checkpoint(...unanswered),
      approvals: [],
      calls: [],
    });
  await pause(seqs);
  expect(await Promise.all(seqs.map((seq) => records.beginCall(call(seq), null, NEVER)))).toEqual(
    seqs.map(() => "begun"),
  );
  await Promise.all([
    ...seqs.map((seq) => records.endCall(seq, { ok: true, value: seq }, [])),
    pause(seqs),
    records.resume([]),
    pause(seqs),
  ]);
});
