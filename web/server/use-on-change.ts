/** Does something each time a signal changes, and not when the view is first shown. */
import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export function useOnChange({ value }: ReadonlySignal<unknown>, act: () => void): void {
  const seen = useRef(value);
  useEffect(() => {
    if (seen.current === value) return;
    seen.current = value;
    act();
  }, [value, act]);
}
