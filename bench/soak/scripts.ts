/** What a soak runs: scripts of the kinds that leave different things behind, and how each has to end. */

export interface SoakScript {
  code: string;
  exitState: "success" | "failed" | "timeout";
  options?: { timeout?: number };
}

const PLAIN: SoakScript = {
  code: "const values = Array.from({ length: 100 }, (_, i) => i * i); return values.reduce((a, b) => a + b)",
  exitState: "success",
};
const SCRIPTS: readonly SoakScript[] = [
  PLAIN,
  {
    code: 'for (let i = 0; i < 200; i++) console.log("line", i, "x".repeat(80)); return 1',
    exitState: "success",
  },
  PLAIN,
  { code: "return (await cyrnel.discoverServices()).length >= 0", exitState: "success" },
  PLAIN,
  { code: 'console.error("about to fail"); throw new TypeError("on purpose")', exitState: "failed" },
  PLAIN,
  {
    code: 'return { text: "y".repeat(50_000), list: Array.from({ length: 500 }, (_, i) => ({ i })) }',
    exitState: "success",
  },
  PLAIN,
  { code: "await new Promise((resolve) => setTimeout(resolve, 5)); return null", exitState: "success" },
];
/** One in so many runs is ended by its time limit. */
const TIMEOUT_EVERY = 200;
const TIMED_OUT: SoakScript = { code: "for (;;);", exitState: "timeout", options: { timeout: 50 } };

/** The script of the n-th run. */
export function chooseScript(n: number): SoakScript {
  if (n % TIMEOUT_EVERY === TIMEOUT_EVERY - 1) return TIMED_OUT;
  return SCRIPTS[n % SCRIPTS.length] as SoakScript;
}
