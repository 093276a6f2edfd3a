/** Short notices of what was done, shown for some seconds, and that the server is away. Read out by screen readers. */
import { signal } from "@preact/signals";
import { isAway } from "../server/connection.ts";
import { Check, Unplug } from "./icons.tsx";
import { Notice } from "./layout.tsx";

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
        <Notice look="wait" icon={Unplug}>
          The server does not answer. This page goes on asking; what you have written stays.
        </Notice>
      ) : null}
      {shown.value.map(({ id, text }) => (
        <Notice key={id} look="good" icon={Check}>
          {text}
        </Notice>
      ))}
    </div>
  );
}
