/** Something that moves on a terminal while a server works, with the time it has taken so far. */
import yoctoSpinner from "yocto-spinner";
import { safeLine } from "./safe-text.ts";

/** What is quicker is not announced. */
const MIN_SHOWN_MS = 250;

/** Standard error only. Gone without a trace when `work` has ended. */
export async function startSpinner<T>(text: string | (() => string), work: Promise<T>): Promise<T> {
  const say = () => safeLine(typeof text === "string" ? text : text());
  const spinner = yoctoSpinner({ text: say(), stream: process.stderr, handleSignals: false });
  const startedAt = performance.now();
  const appear = setTimeout(() => spinner.start(), MIN_SHOWN_MS);
  const tick = setInterval(() => {
    spinner.text = `${say()} ${Math.round((performance.now() - startedAt) / 1000)} s`;
  }, 1000);
  try {
    return await work;
  } finally {
    clearTimeout(appear);
    clearInterval(tick);
    spinner.stop();
  }
}
