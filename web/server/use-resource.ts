/** What a view shows of the server: loaded, loaded anew, and loaded again and again while somebody looks. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Resource<T> {
  data: T | null;
  /** Of the last attempt; `data` may be from before. */
  error: unknown;
  reload(): void;
}

/**
 * `parts` are what the answer depends on: when they change, what was loaded for others is dropped. `everyMs`: also loads
 * anew at this pace while the page is visible, one request at a time.
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
  const [round, setRound] = useState(0);
  const current = useRef(load);
  current.current = load;
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLoading = false;
    async function once() {
      if (isLoading || stop.signal.aborted) return;
      isLoading = true;
      clearTimeout(timer);
      try {
        const data = await current.current(stop.signal);
        if (!stop.signal.aborted) setState({ data, error: null, of: parts });
      } catch (error) {
        if (!stop.signal.aborted) {
          setState((before) => ({ data: isSame(before.of, parts) ? before.data : null, error, of: parts }));
        }
      }
      isLoading = false;
      if (everyMs !== undefined && !stop.signal.aborted && !document.hidden) {
        timer = setTimeout(() => void once(), everyMs);
      }
    }
    const onVisible = () => {
      if (!document.hidden && everyMs !== undefined) void once();
    };
    document.addEventListener("visibilitychange", onVisible);
    void once();
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [...parts, round, everyMs]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const isOther = !isSame(state.of, parts);
  return { data: isOther ? null : state.data, error: isOther ? null : state.error, reload };
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((part, index) => Object.is(part, other[index]));
}
