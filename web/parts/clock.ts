/** The clock of what says how long ago something was: moves on while the page is visible. */
import { signal } from "@preact/signals";

const TICK_MS = 5000;

export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, TICK_MS);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) now.value = Date.now();
});
