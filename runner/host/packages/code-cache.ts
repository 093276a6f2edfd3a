/**
 * V8 code caches of packages. Each is created in a child that evaluates only this package and no script, and is sent
 * only to children that evaluate the same package.
 */
import { prepareSource } from "../../preparer/prepare.ts";
import { encodePackage } from "../../wire/frames.ts";
import { DEFAULT_SESSION_LIMITS } from "../../wire/protocol.ts";
import type { CallHandlers } from "../calls/calls.ts";
import { type ExecutionContext, superviseTaken } from "../execution.ts";
import { reportSuspectedEscape } from "../outcome.ts";
import { makeStart } from "../start-message.ts";
import type { MakeCodeCache } from "./packages.ts";

const MAX_MS = 10_000;

export function createCodeCacheMaker(
  on: Omit<ExecutionContext, "packages">,
  signal: AbortSignal,
): MakeCodeCache {
  return async (loaded) => {
    const { use } = loaded;
    const source = await prepareSource(`import ${JSON.stringify(use.name)};`, {
      findPackage: async () => use,
    });
    if (!source.ok) return null;
    const child = await on.pool.take(signal);
    if (child === null) return null;
    const limits = { timeoutMs: MAX_MS, cpuMs: null, memoryMb: on.config.memoryMb };
    const start = makeStart({ eid: 0, code: "" }, source, DEFAULT_SESSION_LIMITS, null);
    let data: Buffer | null = null;
    const run = superviseTaken(
      { child, opened: on.openRun?.(child, limits) },
      {
        monitor: on.monitor,
        start: { ...start, makesCodeCache: true },
        packages: [encodePackage({ ...loaded, cache: Buffer.alloc(0) })],
        openCalls: () => NO_CALLS,
        events: {
          stdout() {},
          stderr() {},
          output() {},
          codeCache(digest, made) {
            if (digest === use.digest) data = made;
          },
        },
        sessionLimits: { ...DEFAULT_SESSION_LIMITS, maxCalls: 0 },
        limits,
        killSignal: signal,
      },
    );
    const outcome = await run.outcome;
    if (!outcome.wasNeverStarted) reportSuspectedEscape(on, { package: use.name }, outcome);
    if (outcome.state !== "success" || data === null) return null;
    return { kind: child.ready.isFork === true ? "fork" : "booted", data };
  };
}

const rejectCall = async (): Promise<never> => {
  throw new Error("A package that is being evaluated for its code cache cannot make calls.");
};
const NO_CALLS: CallHandlers = {
  invoke: rejectCall,
  discoverServices: rejectCall,
  discoverTools: rejectCall,
  getService: rejectCall,
  getTool: rejectCall,
  getToolDocs: rejectCall,
  ask: rejectCall,
  readFile: rejectCall,
  writeFile: rejectCall,
  removeFile: rejectCall,
  copyFile: rejectCall,
  resizeFile: rejectCall,
};
