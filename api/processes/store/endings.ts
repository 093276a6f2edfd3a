/**
 * Stores how runs ended, and keeps trying while the database is away: an ending is never dropped while the server
 * lives. What waits in memory is bounded by the slots: without a database no further run starts.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "#api/db/pool.ts";
import type { ModuleLogger } from "#sdk";
import { failedWith, type ProcessRow, type RunEnding } from "../model/records.ts";
import { finishRun } from "./changes.ts";
import { readProcessRow } from "./reads.ts";

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2000;
/** Postgres error classes that say the values cannot be stored, however often they are sent. */
const REFUSED_CLASSES = new Set(["22", "23", "42", "54"]);

export class EndingWriter {
  readonly #db: Db;
  readonly #log: ModuleLogger;
  readonly #stopped = new AbortController();
  readonly #waiting = new Set<number>();

  constructor(db: Db, log: ModuleLogger) {
    this.#db = db;
    this.#log = log;
  }

  /** Endings that could not be stored yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Gives up on what is waiting; the next start finds those runs interrupted. */
  stop(): void {
    this.#stopped.abort();
  }

  /** The row as stored, or null when the run was ended by someone else or the server stops without a database. */
  async store(ending: RunEnding): Promise<ProcessRow | null> {
    let current = ending;
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)) {
      try {
        const row = (await finishRun(this.#db, current)) ?? (await this.#findOwn(ending));
        this.#waiting.delete(ending.id);
        if (!row)
          this.#log.warn({ processId: ending.id }, "a run was ended by someone else; its ending is dropped");
        return row;
      } catch (error) {
        if (isRefused(error) && current === ending) {
          this.#log.error({ err: error, processId: ending.id }, "the database refused the results of a run");
          current = withoutValues(ending);
          continue;
        }
        if (!this.#waiting.has(ending.id)) {
          this.#waiting.add(ending.id);
          this.#log.error(
            { err: error, processId: ending.id },
            "the ending of a run cannot be stored yet; it is retried",
          );
        }
      }
      try {
        await sleep(retryMs, undefined, { signal: this.#stopped.signal });
      } catch {
        this.#log.error({ processId: ending.id }, "the server stops and could not store the ending of a run");
        return null;
      }
    }
  }

  /** An attempt whose answer was lost may have been committed. */
  async #findOwn(ending: RunEnding): Promise<ProcessRow | null> {
    const row = await readProcessRow(this.#db, ending.id);
    return row?.state === "idle" && row.claim === ending.claim ? row : null;
  }
}

function isRefused(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return false;
  return error.name === "PostgresError" && REFUSED_CLASSES.has(error.code.slice(0, 2));
}

function withoutValues(ending: RunEnding): RunEnding {
  const empty = Buffer.alloc(0);
  return {
    ...ending,
    ...failedWith("crashed", "StorageError", "The results of the run could not be stored."),
    stdout: empty,
    stderr: empty,
    output: "{}",
    outputs: 0,
    result: null,
    calls: [],
    artifacts: [],
    packages: [],
    warnings: [],
  };
}
