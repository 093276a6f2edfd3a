/**
 * Server actions of a page, one at a time, with the last error kept for display; and short notices of what was done
 * or that the server is unreachable. Screen readers announce them.
 */
import { signal } from "@preact/signals";
import { useCallback, useRef, useState } from "preact/hooks";
import { isAway } from "../server/connection.ts";
import { Notice } from "./layout.tsx";

export interface Action {
  isBusy: boolean;
  error: unknown;
  /** Does nothing while another action runs. `after` is called whether `work` succeeded or not. */
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

const SHOWN_MS = 5000;
const MAX_SHOWN = 3;
const shown = signal<readonly { id: number; text: string }[]>([]);
let lastId = 0;

export function tell(text: string): void {
  const id = ++lastId;
  shown.value = [...shown.value, { id, text }].slice(-MAX_SHOWN);
  setTimeout(() => {
    shown.value = shown.value.filter((toast) => toast.id !== id);
  }, SHOWN_MS);
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {isAway.value ? (
        <Notice look="wait" icon="unplug">
          Cannot reach the server. Retrying; your changes are kept.
        </Notice>
      ) : null}
      {shown.value.map(({ id, text }) => (
        <Notice key={id} look="good" icon="check">
          {text}
        </Notice>
      ))}
    </div>
  );
}
