/**
 * A service's only connection: opened at the first call, shared by all calls, reopened after it was lost or the
 * server ended the session.
 */
import { orAborted } from "#modules/shared/limits.ts";
import { McpFailure } from "../failures.ts";
import type { Connection } from "./connection.ts";

export interface Link {
  /**
   * Runs `work` on the connection. Resends a request once if the server rejected it because the session had ended.
   */
  use<T>(work: (connection: Connection) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Closes permanently. Idempotent. */
  close(): Promise<void>;
}

/** For this long after a failed attempt, calls get its error instead of trying again. */
const RETRY_AFTER_MS = 500;

export function createLink(open: (signal: AbortSignal) => Promise<Connection>): Link {
  const closed = new AbortController();
  const closings = new Set<Promise<void>>();
  const uses = new Map<Connection, number>();
  let current: Promise<Connection> | null = null;
  let held: Connection | null = null;
  let lastFailure: { error: unknown; at: number } | null = null;

  /** New calls no longer use the connection; those in progress finish on it. */
  function retire(connection: Connection): void {
    if (held === connection) {
      held = null;
      current = null;
    }
    if ((uses.get(connection) ?? 0) === 0) close(connection);
  }

  function close(connection: Connection): void {
    const closing = connection.close().finally(() => closings.delete(closing));
    closings.add(closing);
  }

  async function useOnce<T>(
    connection: Connection,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    uses.set(connection, (uses.get(connection) ?? 0) + 1);
    try {
      return await work(connection);
    } catch (error) {
      if (isForgotten(error)) retire(connection);
      throw error;
    } finally {
      const left = (uses.get(connection) ?? 1) - 1;
      if (left > 0) uses.set(connection, left);
      else {
        uses.delete(connection);
        if (connection !== held) close(connection);
      }
    }
  }

  function connect(): Promise<Connection> {
    if (held?.lost) retire(held);
    if (current !== null) return current;
    if (lastFailure !== null && performance.now() - lastFailure.at < RETRY_AFTER_MS) {
      return Promise.reject(lastFailure.error);
    }
    const opening = open(closed.signal).then(
      (connection) => {
        lastFailure = null;
        held = connection;
        if (closed.signal.aborted) retire(connection);
        return connection;
      },
      (error: unknown) => {
        current = null;
        lastFailure = { error, at: performance.now() };
        throw error;
      },
    );
    current = opening;
    return opening;
  }

  return {
    async use(work, signal) {
      for (let attempt = 1; ; attempt += 1) {
        if (closed.signal.aborted)
          throw new McpFailure("mcp_canceled", "The service was removed or changed.");
        const isReused = held !== null && !held.lost;
        const connection = await orAborted(
          connect(),
          signal,
          () => new McpFailure("mcp_canceled", "The call was canceled."),
        );
        try {
          return await useOnce(connection, work);
        } catch (error) {
          if (!isForgotten(error) || attempt > 1 || !isReused || closed.signal.aborted) throw error;
        }
      }
    },
    async close() {
      closed.abort();
      const open = new Set(uses.keys());
      if (held !== null) open.add(held);
      for (const connection of open) close(connection);
      held = null;
      await current?.catch(() => {});
      await Promise.all(closings);
    },
  };
}

/** The protocol prescribes 404 for an ended session; some servers send 400. In neither case did the request run. */
function isForgotten(error: unknown): boolean {
  return (
    error instanceof McpFailure &&
    error.code === "mcp_refused" &&
    (error.status === 404 || error.status === 400)
  );
}
