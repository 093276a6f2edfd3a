/** Cyrnel over HTTP, started as `npm start` starts it; one of its two environments. */
import { startService } from "../../service.ts";
import type { OpenRunner } from "../runner.ts";

const openEnvironment =
  (environment: string): OpenRunner =>
  async ({ secret }) => {
    const service = await startService({ SECRET: secret });
    if (environment !== "typescript-process") {
      const { status, body } = await service.request("POST", `/modules/${environment}/enabled`, {
        enabled: true,
      });
      if (status >= 300) throw new Error(`${environment} could not be enabled: ${JSON.stringify(body)}`);
    }
    return {
      async run(code, { timeoutMs, memoryMb }) {
        const { status, body } = await service.request("POST", "/processes", {
          code,
          options: { timeout: timeoutMs, memoryMb },
          block: true,
        });
        const record = body as { exitState?: string; result?: unknown; error?: string };
        if (status !== 201 || record.exitState !== "success")
          throw new Error(`HTTP ${status}: ${JSON.stringify(record.error ?? body).slice(0, 300)}`);
        return record.result;
      },
      [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    };
  };

export const openProcesses = openEnvironment("typescript-process");
export const openIsolates = openEnvironment("typescript-ivm");
