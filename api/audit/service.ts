import { type PageRequest, readPage } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import { AppError } from "../errors.ts";
import type { AuditWriter } from "./log.ts";
import type { AuditFilter, AuditPosition, AuditRecord } from "./model.ts";
import { readAuditRows, readLastAuditId, type StoredAuditRow } from "./store-reads.ts";

const EXPORT_BATCH_RECORDS = 500;
const MAX_EXPORTS = 4;
const MAX_ON_THE_WAY_MS = 1000;

export interface AuditPage {
  records: AuditRecord[];
  next: AuditPosition | null;
}

export interface AuditTrail {
  list(filter: AuditFilter, page: PageRequest<AuditPosition>): Promise<AuditPage>;
  /** Exports records made before the call. Throws AppError `rate_limited` while `MAX_EXPORTS` are in progress. */
  openExport(filter: AuditFilter): Promise<AuditExport>;
}

export interface AuditExport extends Disposable {
  lines: AsyncGenerator<string, void>;
}

export function createAuditTrail(db: Db, audit: Pick<AuditWriter, "allStored">): AuditTrail {
  let exports = 0;

  async function* exportLines(filter: AuditFilter, upTo: number): AsyncGenerator<string, void> {
    for (let from: AuditPosition | null = null; ; ) {
      const rows: StoredAuditRow[] = await readAuditRows(db, filter, {
        order: "oldest first",
        from,
        upTo,
        limit: EXPORT_BATCH_RECORDS,
      });
      if (rows.length > 0) yield rows.map((row) => `${JSON.stringify(toRecord(row))}\n`).join("");
      const last = rows.at(-1);
      if (last === undefined || rows.length < EXPORT_BATCH_RECORDS) return;
      from = positionOf(last);
    }
  }

  return {
    async list(filter, page) {
      await audit.allStored(MAX_ON_THE_WAY_MS);
      const order = { order: "newest first", upTo: null } as const;
      const read = (at: PageRequest<AuditPosition>) => readAuditRows(db, filter, { ...at, ...order });
      const { rows, next } = await readPage(page, read, positionOf);
      return { records: rows.map(toRecord), next };
    },
    async openExport(filter) {
      if (exports >= MAX_EXPORTS) {
        throw new AppError(
          "rate_limited",
          `${MAX_EXPORTS} exports are already in progress. Try again shortly.`,
          {
            retryAfterSeconds: 5,
          },
        );
      }
      exports += 1;
      using undo = new DisposableStack();
      undo.defer(() => {
        exports -= 1;
      });
      await audit.allStored(MAX_ON_THE_WAY_MS);
      const lines = exportLines(filter, await readLastAuditId(db));
      const close = undo.move();
      return { lines, [Symbol.dispose]: () => close.dispose() };
    },
  };
}

function positionOf({ atUs, id }: StoredAuditRow): AuditPosition {
  return { atUs, id };
}

function toRecord(row: StoredAuditRow): AuditRecord {
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: { kind: row.actorKind, id: row.actorKind === "key" ? row.actorId : null, name: row.actorName },
    action: row.action,
    object: row.objectKind === null ? null : { kind: row.objectKind, id: row.objectId },
    outcome: row.outcome,
    code: row.code,
    httpStatus: row.httpStatus,
    requestId: row.requestId,
    processId: row.processId,
    decision: row.decision,
    policyId: row.policyId,
    parametersSha256: row.parametersSha256?.toString("hex") ?? null,
    parameters: row.parametersPreview === null ? null : JSON.parse(row.parametersPreview),
    files: row.files === null ? [] : JSON.parse(row.files),
  };
}
