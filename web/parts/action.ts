/** Doing something on the server from a view: one at a time, with what went wrong kept for showing. */
import { useCallback, useRef, useState } from "preact/hooks";

export interface Action {
  isBusy: boolean;
  error: unknown;
  /** Never rejects. Answers whether it was done; a second one while the first is under way is not. */
  run(work: () => Promise<unknown>): Promise<boolean>;
  clear(): void;
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const isUnderWay = useRef(false);
  const run = useCallback(async (work: () => Promise<unknown>) => {
    if (isUnderWay.current) return false;
    isUnderWay.current = true;
    setBusy(true);
    setError(null);
    try {
      await work();
      return true;
    } catch (failure) {
      setError(failure);
      return false;
    } finally {
      isUnderWay.current = false;
      setBusy(false);
    }
  }, []);
  return { isBusy, error, run, clear: useCallback(() => setError(null), []) };
}
