/**
 * Code caches of packages, for V8: each is made in a child that evaluates this package and nothing else, as a run that is none.
 * What comes of it is only ever given to children that evaluate the same package.
 */
import { prepareSource } from "../preparer/prepare.ts";
import { encodePackage } from "../wire/frames.ts";
import { DEFAULT_SESSION_LIMITS } from "../wire/protocol.ts";
import type { CallHandlers } from "./calls.ts";
import type { ExecutionContext } from "./execution.ts";
import { tellSuspicion } from "./outcome.ts";
import type { LoadedPackage, MakeCodeCache } from "./packages.ts";
import { makeStart } from "./session.ts";
import { superviseRun } from "./supervisor.ts";

const MAX_MS = 10_000;

/** `signal` aborts when the environment is taken down. */
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
    const opened = on.openRun?.(child, limits);
    let data: Buffer | null = null;
    const run = superviseRun({
      child: opened?.child ?? child,
      monitor: on.monitor,
      start: {
        ...makeStart({ eid: 0, code: "" }, source, DEFAULT_SESSION_LIMITS, null),
        makesCodeCache: true,
      },
      packages: [encodeAlone(loaded)],
      calls: NO_CALLS,
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
      afterEnd: opened === undefined ? "kill" : "keep",
    });
    let outcome = await run.outcome;
    if (opened !== undefined) outcome = await opened.conclude(outcome);
    if (!outcome.wasNeverStarted) tellSuspicion(on, { package: use.name }, outcome);
    if (outcome.state !== "success" || data === null) return null;
    return { kind: child.ready.isFork === true ? "fork" : "booted", data };
  };
}

function encodeAlone(loaded: LoadedPackage): Buffer[] {
  return encodePackage({ ...loaded, cache: Buffer.alloc(0) });
}

const refuse = async (): Promise<never> => {
  throw new Error("A package that is only evaluated can call nothing.");
};
const NO_CALLS: CallHandlers = {
  invoke: refuse,
  discoverServices: refuse,
  discoverTools: refuse,
  getService: refuse,
  getTool: refuse,
  getToolDocs: refuse,
  ask: refuse,
  readFile: refuse,
  writeFile: refuse,
  removeFile: refuse,
  copyFile: refuse,
  resizeFile: refuse,
};
