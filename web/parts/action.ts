/** Something that a page does on the server: one at a time, with what went wrong kept for showing. */
import { useCallback, useRef, useState } from "preact/hooks";

export interface Action {
  isBusy: boolean;
  error: unknown;
  /** Does nothing while another is under way. `after` is called whether `work` succeeded or not. */
  run(work: () => Promise<unknown>, after?: () => void): void;
  clear(): void;
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const isUnderWay = useRef(false);
  const run = useCallback((work: () => Promise<unknown>, after?: () => void) => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    setBusy(true);
    setError(null);
    void work()
      .catch(setError)
      .finally(() => {
        isUnderWay.current = false;
        setBusy(false);
        after?.();
      });
  }, []);
  return { isBusy, error, run, clear: useCallback(() => setError(null), []) };
}
