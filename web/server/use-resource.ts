/** What a page shows of the server: loaded once, loaded again when told to, or at a pace while the page is visible. */
import type { ReadonlySignal } from "@preact/signals";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Answer, get, type InitOf, type PathOf } from "./api.ts";
import { returns } from "./connection.ts";

export interface Resource<T> {
  data: T | null;
  /** Of the last attempt; `data` may be from before. */
  error: unknown;
  /** Loads again; what is loading already is loaded once more after it. */
  reload(): void;
}

/**
 * When it loads again: "when seen": when the page becomes visible and when the server was away; a number: also every so many
 * ms while the page is visible, one request at a time; "until loaded": like the first, but no more once it is there.
 */
type Pace = "when seen" | "until loaded" | number;

/** What a GET answers. A change of `path` or `init` drops what was loaded for others. */
export function useGet<P extends PathOf<"GET">, I extends InitOf<"GET", P>>(
  path: P,
  init: I,
  pace?: Pace,
): Resource<Answer<P, "GET", I>> {
  type Get = (path: P, init: I) => Promise<Answer<P, "GET", I>>;
  return useResource(
    (signal) => (get as unknown as Get)(path, { ...init, signal }),
    [path, JSON.stringify(init)],
    pace,
  );
}

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
  useOnChange(
    returns,
    useCallback(() => refreshSeen.current(), []),
  );
  const isOther = !isSame(state.of, parts);
  return { data: isOther ? null : state.data, error: isOther ? null : state.error, reload };
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((part, index) => Object.is(part, other[index]));
}

/** Calls `act` each time a signal changes, and not when the page is first shown. */
export function useOnChange({ value }: ReadonlySignal<unknown>, act: () => void): void {
  const seen = useRef(value);
  useEffect(() => {
    if (seen.current === value) return;
    seen.current = value;
    act();
  }, [value, act]);
}
