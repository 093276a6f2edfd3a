/** Short notices of what was done, which go by themselves, and that the server is away, as long as it is. Read out by screen readers. */
import { signal } from "@preact/signals";
import { isAway } from "../server/connection.ts";
import { Check, Unplug } from "./icons.tsx";

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
        <div class="notice wait">
          <Unplug />
          <div>The server does not answer. This page goes on asking; what you have written stays.</div>
        </div>
      ) : null}
      {shown.value.map(({ id, text }) => (
        <div key={id} class="notice good">
          <Check />
          <div>{text}</div>
        </div>
      ))}
    </div>
  );
}
