/**
 * Stores run endings and retries while the database is down. An ending is never dropped while the server lives. The
 * number of waiting endings is bounded by the slots: without a database no new run starts.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "#api/db/pool.ts";
import type { ModuleLogger } from "#sdk";
import { failedWith, type ProcessRow, type RunEnding } from "../model/records.ts";
import { finishRun } from "./changes.ts";
import { readProcessRow } from "./reads.ts";

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2000;
/** Postgres error classes that mean the values can never be stored, no matter how often they are sent. */
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

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Gives up on waiting endings. The next start marks those runs as interrupted. */
  stop(): void {
    this.#stopped.abort();
  }

  /** Returns the stored row, or null if another server ended the run or this server stops without a database. */
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

  /** An attempt whose reply was lost may have been committed. */
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
