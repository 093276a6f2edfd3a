/** Writing and reading the audit log, filtered in every way, some of it for what was long ago. */
import { randomUUID } from "node:crypto";
import type { AuditFilter } from "#api/audit/model.ts";
import { insertAuditRows } from "#api/audit/store.ts";
import { readAuditRows } from "#api/audit/store-reads.ts";
import type { Pool } from "#api/db/pool.ts";
import { DAY_MS, type Operation, PAGE } from "./operation.ts";

export function auditOperations(pool: Pool, size: number): Operation[] {
  const now = Date.now();
  const daysAgo = (days: number) => new Date(now - days * DAY_MS);
  const record = {
    at: new Date(now),
    actorKind: "anonymous",
    actorId: null,
    actorName: "anonymous",
    action: "process.create",
    objectKind: "process",
    outcome: "ok",
    code: null,
    httpStatus: null,
    decision: null,
    policyId: null,
    parametersSha256: null,
    parametersPreview: null,
    files: null,
  } as const;
  const read = (name: string, filter: AuditFilter): Operation => ({
    name: `audit log, ${name}`,
    run: () => readAuditRows(pool, filter, { order: "newest first", from: null, upTo: null, limit: PAGE }),
  });
  return [
    {
      name: "record in the audit log",
      run: () =>
        insertAuditRows(pool, [{ ...record, objectId: "1", requestId: randomUUID(), processId: size }]),
    },
    read("newest", {}),
    read("of a process", { processId: size - 300 }),
    read("of a key", { actor: `key_${"2".padStart(20, "0")}` }),
    read("of a key, two weeks ago", { actor: `key_${"2".padStart(20, "0")}`, to: daysAgo(14) }),
    read("of a day, two weeks ago", { from: daysAgo(15), to: daysAgo(14) }),
    read("up to two weeks ago", { to: daysAgo(14) }),
    read("since two weeks ago", { from: daysAgo(14) }),
    read("refused", { outcome: "refused" }),
    read("failed, of a month", { outcome: "failed", from: daysAgo(30) }),
    read("failed, of today: none", { outcome: "failed", from: daysAgo(1) }),
    read("ok", { outcome: "ok" }),
    read("blocked", { decision: "block" }),
    read("asked", { decision: "ask" }),
    read("allowed", { decision: "allow" }),
    read("of an action, all long ago", { action: "policy.change" }),
    read("of actions, all long ago", { action: "policy.*" }),
    read("of actions", { action: "process.*" }),
    read("of an object", { objectKind: "process", objectId: String(size - 300) }),
    read("of an object of any kind", { objectId: String(size - 300) }),
    read("of a kind, all long ago", { objectKind: "policy" }),
    {
      name: "export of the audit log, first lines of what was refused",
      run: () =>
        readAuditRows(
          pool,
          { outcome: "refused" },
          { order: "oldest first", from: null, upTo: size * 2, limit: PAGE },
        ),
    },
  ];
}
