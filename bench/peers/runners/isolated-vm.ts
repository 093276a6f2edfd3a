/** An isolate of `isolated-vm` per run in the embedder's own process: memory and time limits, one function for output. */
import ivm from "isolated-vm";
import type { OpenRunner } from "../runner.ts";

export const open: OpenRunner = async () => ({
  async run(body, { timeoutMs, memoryMb }) {
    const isolate = new ivm.Isolate({ memoryLimit: memoryMb });
    // `timeout` bounds what runs at once; a script that awaits is ended with its isolate.
    const timer = setTimeout(() => {
      if (!isolate.isDisposed) isolate.dispose();
    }, timeoutMs + 50);
    try {
      const context = await isolate.createContext();
      await context.global.set("print", new ivm.Callback(() => undefined));
      const script = await isolate.compileScript(
        `globalThis.console = { log: (...values) => print(values.map(String).join(" ")) };
        (async () => {\n${body}\n})().then((value) => JSON.stringify(value ?? null))`,
      );
      const answer = await script.run(context, { promise: true, copy: true, timeout: timeoutMs });
      return JSON.parse(String(answer));
    } finally {
      clearTimeout(timer);
      if (!isolate.isDisposed) isolate.dispose();
    }
  },
  async [Symbol.asyncDispose]() {},
});
