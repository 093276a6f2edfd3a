/** Two ways for one server to take what another has queued: the rows themselves, and jobs of graphile-worker beside them. */
import { randomUUID } from "node:crypto";
import { Logger, run, runMigrations } from "graphile-worker";
import { createPool, type Pool } from "#api/db/pool.ts";
import { claimQueued } from "#api/processes/store/queue.ts";
import { createAnnouncements } from "#api/replicas/announcements.ts";
import { finish, storeQueued } from "./processes.ts";

const CONNECTIONS = 10;
const SLOTS = 10;
const SILENT = { warn() {} };

export interface Queue extends AsyncDisposable {
  /** Stored, and whoever takes it knows. Resolves with its id. */
  add(n: number): Promise<number>;
}

/** Told of each process when it was claimed, and when its end was stored. */
export interface Watch {
  claimed(id: number): void;
  ended(id: number): void;
}

/** As the server does it: a notice in batches, and a claim of as many as there are free slots. */
export async function openRows(url: string, watch: Watch): Promise<Queue> {
  await using undo = new AsyncDisposableStack();
  const [adding, taking] = openPools(url, undo);
  const replica = randomUUID();
  const teller = undo.use(createAnnouncements({ pool: adding, id: randomUUID(), onGap() {}, log: SILENT }));
  const hearer = undo.use(createAnnouncements({ pool: taking, id: replica, onGap() {}, log: SILENT }));
  let free = SLOTS;
  let waiting = 0;
  let isClaiming = false;

  async function claim(): Promise<void> {
    if (isClaiming) return;
    isClaiming = true;
    try {
      while (free > 0 && waiting > 0) {
        const rows = await claimQueued(taking, {
          environment: "typescript-process",
          replica,
          maxRows: Math.min(free, waiting),
          maxPerCaller: null,
        });
        waiting -= rows.length;
        free -= rows.length;
        for (const row of rows) void serve(row.id, row.claim as string);
        if (rows.length === 0) return;
      }
    } finally {
      isClaiming = false;
    }
  }

  async function serve(id: number, token: string): Promise<void> {
    watch.claimed(id);
    await finish(taking, id, token);
    watch.ended(id);
    free += 1;
    await claim();
  }

  hearer.listen((_kind, ids) => {
    waiting += ids.length;
    void claim();
  });
  await hearer.start();
  const close = undo.move();
  return {
    async add(n) {
      const id = await storeQueued(adding, n);
      teller.tell("queued", [id]);
      return id;
    },
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

/** One job per process, added in the same transaction, `job_key` its id. */
export async function openJobs(url: string, watch: Watch): Promise<Queue> {
  await using undo = new AsyncDisposableStack();
  const [adding, taking] = openPools(url, undo);
  const logger = new Logger(() => () => {});
  await runMigrations({ connectionString: url, logger });
  const runner = await run({
    connectionString: url,
    concurrency: SLOTS,
    maxPoolSize: CONNECTIONS,
    noHandleSignals: true,
    logger,
    taskList: {
      async run(payload) {
        const { id } = payload as { id: number };
        const [row] = await taking<{ claim: string }[]>`
          update processes set state = 'running', claim = gen_random_uuid(), environment = 'typescript-process',
            started_at = now()
          where id = ${id} and state = 'queued' returning claim`;
        if (row === undefined) return;
        watch.claimed(id);
        await finish(taking, id, row.claim);
        watch.ended(id);
      },
    },
  });
  undo.defer(() => runner.stop());
  const close = undo.move();
  return {
    add: (n) =>
      adding.begin(async (db) => {
        const id = await storeQueued(db, n);
        await db`
          select from graphile_worker.add_job('run', ${JSON.stringify({ id })}::text::json, job_key := ${String(id)})`;
        return id;
      }) as Promise<number>,
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

function openPools(url: string, undo: AsyncDisposableStack): [adding: Pool, taking: Pool] {
  const open = () => {
    const pool = createPool(url, { maxConnections: CONNECTIONS });
    undo.defer(() => pool.end({ timeout: 5 }));
    return pool;
  };
  return [open(), open()];
}
