/** `evaluate` of `secure-exec` after its `init()`: a fresh virtual machine per call, its default permissions, limits set. */
import { pathToFileURL } from "node:url";
import type { OpenRunner } from "../runner.ts";

interface SecureExec {
  init(): Promise<void>;
  shutdown(): Promise<void>;
  evaluate(
    expression: string,
    options: object,
  ): Promise<{ outcome: string; value?: unknown; error?: { message: string } }>;
}

export const open: OpenRunner = async ({ packages }) => {
  const entry = pathToFileURL(`${packages}/node_modules/secure-exec/dist/index.js`).href;
  const { init, shutdown, evaluate } = (await import(entry)) as SecureExec;
  await init();
  return {
    async run(body, { timeoutMs, memoryMb }) {
      const { outcome, value, error } = await evaluate(`(async () => {\n${body}\n})()`, {
        timeoutMs,
        limits: { jsRuntime: { v8HeapLimitMb: memoryMb } },
      });
      if (outcome !== "succeeded") throw new Error(`${outcome}: ${error?.message}`);
      return value;
    },
    [Symbol.asyncDispose]: shutdown,
  };
};
