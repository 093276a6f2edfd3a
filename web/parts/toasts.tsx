/** Short notices of what was done, read out by screen readers. They go by themselves. */
import { signal } from "@preact/signals";
import { Check } from "lucide-preact";

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
      {shown.value.map(({ id, text }) => (
        <div key={id} class="notice good">
          <Check aria-hidden="true" />
          <div>{text}</div>
        </div>
      ))}
    </div>
  );
}
