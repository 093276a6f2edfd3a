/** What a view shows of the server: loaded, loaded anew, and loaded again and again while somebody looks. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { returns } from "./connection.ts";
import { useOnChange } from "./use-on-change.ts";

export interface Resource<T> {
  data: T | null;
  /** Of the last attempt; `data` may be from before. */
  error: unknown;
  /** Loads anew; what is loading already is loaded once more after it. */
  reload(): void;
}

/**
 * `parts` are what the answer depends on: when they change, what was loaded for others is dropped. Loads anew when the page
 * becomes visible and when the server was away. `everyMs`: also at this pace while the page is visible, one request at a time.
 */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  parts: readonly unknown[],
  everyMs?: number,
): Resource<T> {
  const [state, setState] = useState<{ data: T | null; error: unknown; of: readonly unknown[] }>({
    data: null,
    error: null,
    of: parts,
  });
  const current = useRef(load);
  current.current = load;
  const refresh = useRef(() => {});
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLoading = false;
    let isWantedAgain = false;
    async function loadOnce() {
      try {
        const data = await current.current(stop.signal);
        if (!stop.signal.aborted) setState({ data, error: null, of: parts });
      } catch (error) {
        if (!stop.signal.aborted) {
          setState((before) => ({ data: isSame(before.of, parts) ? before.data : null, error, of: parts }));
        }
      }
    }
    async function refreshNow() {
      isWantedAgain = isLoading;
      if (isLoading) return;
      isLoading = true;
      clearTimeout(timer);
      do {
        isWantedAgain = false;
        await loadOnce();
      } while (isWantedAgain && !stop.signal.aborted);
      isLoading = false;
      if (everyMs !== undefined && !stop.signal.aborted && !document.hidden) {
        timer = setTimeout(() => void refreshNow(), everyMs);
      }
    }
    const onVisible = () => {
      if (!document.hidden) void refreshNow();
    };
    refresh.current = () => void refreshNow();
    document.addEventListener("visibilitychange", onVisible);
    void refreshNow();
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [...parts, everyMs]);
  const reload = useCallback(() => refresh.current(), []);
  useOnChange(returns, reload);
  const isOther = !isSame(state.of, parts);
  return { data: isOther ? null : state.data, error: isOther ? null : state.error, reload };
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((part, index) => Object.is(part, other[index]));
}
