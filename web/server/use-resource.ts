/** What a view shows of the server: loaded once, loaded anew, or loaded again and again while somebody looks. */
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
 * When it loads anew: "when seen": when the page becomes visible and when the server was away; a number: also every so many
 * ms while the page is visible, one request at a time; "until loaded": like the first, but no more once it is there.
 */
type Pace = "when seen" | "until loaded" | number;

/** `parts` are what the answer depends on: when they change, what was loaded for others is dropped. */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  parts: readonly unknown[],
  pace: Pace = "when seen",
): Resource<T> {
  const [state, setState] = useState<{ data: T | null; error: unknown; of: readonly unknown[] }>({
    data: null,
    error: null,
    of: parts,
  });
  const current = useRef(load);
  current.current = load;
  const refresh = useRef(() => {});
  const refreshSeen = useRef(() => {});
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLoading = false;
    let isWantedAgain = false;
    let isLoaded = false;
    async function loadOnce() {
      try {
        const data = await current.current(stop.signal);
        isLoaded = true;
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
      if (typeof pace === "number" && !stop.signal.aborted && !document.hidden) {
        timer = setTimeout(() => void refreshNow(), pace);
      }
    }
    const onSeen = () => {
      if (!document.hidden && !(isLoaded && pace === "until loaded")) void refreshNow();
    };
    refresh.current = () => void refreshNow();
    refreshSeen.current = onSeen;
    document.addEventListener("visibilitychange", onSeen);
    void refreshNow();
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onSeen);
    };
  }, [...parts, pace]);
  const reload = useCallback(() => refresh.current(), []);
  const onReturn = useCallback(() => refreshSeen.current(), []);
  useOnChange(returns, onReturn);
  const isOther = !isSame(state.of, parts);
  return { data: isOther ? null : state.data, error: isOther ? null : state.error, reload };
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((part, index) => Object.is(part, other[index]));
}
