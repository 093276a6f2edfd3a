/**
 * One request with all its I/O: everything the MCP library sends and reads for it runs in the exchange's context,
 * ends with it and can fail it. The library alone would keep streams open after a response, and wait if a stream
 * ended without one.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { McpFailure } from "../failures.ts";

export interface Exchange {
  /** Aborts when the exchange ends. */
  readonly over: AbortSignal;
  /** Set once the response has arrived. A body that ends before that has ended too early. */
  answered: boolean;
  fail(error: Error): void;
}

export interface ExchangeLimits {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

const context = new AsyncLocalStorage<Exchange>();

export function currentExchange(): Exchange | undefined {
  return context.getStore();
}

/** Runs work that must outlast the exchange, such as a cancellation notice. */
export function outsideExchange<T>(work: () => T): T {
  return context.exit(work);
}

/**
 * Runs `work` as one exchange and rejects with its first failure. `canceled` aborts when the exchange fails or is
 * given up.
 */
export async function runExchange<T>(
  limits: ExchangeLimits,
  pending: Set<Exchange>,
  work: (canceled: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const canceled = new AbortController();
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => {});
  const exchange: Exchange = { over: over.signal, answered: false, fail };
  const giveUp = () => fail(new McpFailure("mcp_canceled", "The call was canceled."));
  const timer = setTimeout(
    () => fail(new McpFailure("mcp_timeout", `The server did not answer within ${limits.timeoutMs} ms.`)),
    limits.timeoutMs,
  );
  pending.add(exchange);
  try {
    if (limits.signal?.aborted) giveUp();
    limits.signal?.addEventListener("abort", giveUp, { once: true });
    if (limits.signal?.aborted) return await failed;
    const done = context.run(exchange, () => work(canceled.signal));
    done.catch(() => {});
    return await Promise.race([done, failed]);
  } catch (error) {
    canceled.abort(new McpFailure("mcp_canceled", "The call was given up."));
    throw error;
  } finally {
    clearTimeout(timer);
    limits.signal?.removeEventListener("abort", giveUp);
    pending.delete(exchange);
    over.abort();
  }
}
