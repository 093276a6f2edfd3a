/**
 * What the bundled environments have in common: everything between `setup` and `teardown`, and the executions under way.
 * An environment adds how its children are started and what they serve. Knows no HTTP and no database.
 */

import { generateToolDocs } from "#kernel/tool-docs/tool-docs.ts";
import type {
  EnvironmentModule,
  EnvironmentSetupContext,
  EnvironmentStatus,
  ExecutionInput,
  ExecutionOutcome,
  IsolationLevel,
  IsolationReport,
  ModuleLogger,
} from "#sdk";
import { reportIsolation } from "../isolation/report.ts";
import { prepareSource } from "../preparer/prepare.ts";
import type { NodeBinary } from "../process/node-binary.ts";
import { createCodeCacheMaker } from "./code-cache.ts";
import { type EnvironmentFacts, generateEnvironmentDocs } from "./environment-docs.ts";
import {
  type Execution,
  type ExecutionContext,
  type Place,
  type Places,
  pauseExecution,
  resumeExecution,
  runExecution,
} from "./execution.ts";
import { createPackages } from "./packages.ts";
import type { RunSettings } from "./settings-schema.ts";

/** What one environment is. */
export interface EnvironmentKind<Config extends RunSettings> {
  /** For the author of a script. */
  facts: Pick<EnvironmentFacts, "id" | "name" | "isolation">;
  /** How its first child shows layers 0 and 1: for the report. */
  observed: { realm: string; permissions: string };
  /** What a run waits for: "process" or "slot". */
  unit: string;
  /** @throws Error naming the setting that does not fit. */
  readConfig(raw: Record<string, unknown>): Config;
  /** How many runs go on at once. */
  countPlaces(config: Config): number;
  /** Opens the wall and makes the pool; no child is started yet. @throws JailUnavailableError */
  open(
    config: Config,
    asked: { level: IsolationLevel; isExposed: boolean; zygote: boolean },
    logger: ModuleLogger,
  ): Promise<Children>;
}

/** What runs the scripts of an environment. Disposing ends every child and removes what was made for them. */
export interface Children
  extends AsyncDisposable,
    Pick<ExecutionContext, "pool" | "monitor" | "wall" | "suspect" | "openRun"> {
  readonly node: NodeBinary;
  /** Memory of all of them together, in bytes; undefined where it cannot be read. */
  readMemoryBytes(): number | undefined;
  /** What children are forked from; null: each boots. Absent: it has no zygotes. */
  readZygote?(): NonNullable<EnvironmentStatus["zygote"]> | null;
}

interface Running extends ExecutionContext {
  placeCount: number;
  isolation: IsolationReport;
  children: Children;
  /** Aborts what goes on beside the executions. */
  closing: AbortController;
}

export type BundledEnvironment = Omit<EnvironmentModule, "execute"> & {
  execute(input: ExecutionInput): Promise<ExecutionOutcome>;
} & Required<Pick<EnvironmentModule, "pause" | "resume" | "status">>;

export function createEnvironment<Config extends RunSettings>(
  kind: EnvironmentKind<Config>,
): BundledEnvironment {
  const executions = new Map<number, Execution>();
  let running: Running | null = null;

  function requireRunning(): Running {
    if (running === null) throw new Error("The environment is not set up.");
    return running;
  }

  /** Executions that have a place or wait for one. */
  function countActive(): number {
    let active = 0;
    for (const { isFrozen } of executions.values()) if (!isFrozen) active++;
    return active;
  }

  return {
    async setup(context: EnvironmentSetupContext) {
      if (running !== null) throw new Error("The environment is set up already.");
      await using undo = new AsyncDisposableStack();
      const { bindings, logger } = context;
      const config = kind.readConfig(context.config);
      const asked = {
        level: context.isolation ?? "strict",
        isExposed: context.isExposed === true,
        zygote: context.zygote !== false,
      };
      const children = undo.use(await kind.open(config, asked, logger));
      const { pool, monitor, wall, suspect, openRun, node } = children;
      const warming = pool.warmUp();
      // The first preparation starts the compiler, beside the first child: no run should wait for that.
      const [first] = await Promise.all([warming, prepareSource("")]);
      const isMonitored = monitor.isSupported;
      const isolation = reportIsolation({ wall, node, first, isMonitored, observed: kind.observed });
      if (!node.isPinned) {
        logger.warn(
          { node: node.path, version: node.version },
          "Runs use the server's own Node, which is not the version that package.json pins: nothing was tested with it.",
        );
      }
      const placeCount = kind.countPlaces(config);
      const places = createPlaces(placeCount);
      const { unit } = kind;
      undo.move();
      const closing = new AbortController();
      const parts = { config, bindings, logger, pool, places, monitor, wall, unit, suspect, openRun };
      running = {
        ...parts,
        packages: createPackages(bindings, createCodeCacheMaker(parts, closing.signal)),
        placeCount,
        isolation,
        children,
        closing,
      };
    },

    async teardown() {
      const ending = running;
      running = null;
      ending?.closing.abort(new Error("teardown"));
      for (const execution of executions.values()) execution.kill.abort("teardown");
      await Promise.all([...executions.values()].map(({ over }) => over.promise));
      await ending?.packages.settled();
      await ending?.children[Symbol.asyncDispose]();
    },

    async execute(input) {
      const on = requireRunning();
      if (executions.has(input.eid)) throw new Error(`Execution ${input.eid} is running already.`);
      const over = Promise.withResolvers<void>();
      const execution: Execution = { kill: new AbortController(), over, isFrozen: false, current: null };
      executions.set(input.eid, execution);
      try {
        return await runExecution(on, input, execution, countActive() > on.placeCount);
      } finally {
        executions.delete(input.eid);
        over.resolve();
      }
    },

    async kill(eid) {
      const execution = executions.get(eid);
      execution?.kill.abort("killed");
      await execution?.over.promise;
    },

    async pause(eid) {
      const execution = executions.get(eid);
      if (!execution?.current) throw new Error(`Execution ${eid} is not running.`);
      return pauseExecution(execution, execution.current);
    },

    resume(eid) {
      const execution = executions.get(eid);
      if (execution !== undefined) resumeExecution(execution);
    },

    status(): EnvironmentStatus {
      const { config, children, placeCount, isolation } = requireRunning();
      return {
        slots: placeCount,
        busy: Math.min(countActive(), placeCount),
        warm: children.pool.status().warm,
        // Read where it is looked at: each run asks for the rest.
        get memoryBytes() {
          return children.readMemoryBytes();
        },
        limits: { memoryMb: config.memoryMb, maxMemoryMb: config.maxMemoryMb },
        isolation,
        ...(children.readZygote && { zygote: children.readZygote() }),
      };
    },

    importsPackages: true,

    async generateDocs() {
      const { config, placeCount } = requireRunning();
      const { memoryMb, maxMemoryMb, maxCalls, maxConcurrentCalls, maxMessageBytes, allowEval, allowWasm } =
        config;
      return generateEnvironmentDocs({
        ...kind.facts,
        limits: { memoryMb, maxMemoryMb, maxCalls, maxConcurrentCalls, maxMessageBytes, slots: placeCount },
        allowEval,
        allowWasm,
      });
    },

    generateToolDocs,
  };
}

/** The longest delay a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** How many runs go on at once, and the line of those that wait. First come, first served. */
export function createPlaces(count: number): Places {
  const line = new Set<() => void>();
  let busy = 0;

  function occupy(): Place {
    busy++;
    let isHeld = true;
    return {
      release() {
        if (!isHeld) return;
        isHeld = false;
        busy--;
        const [enter] = line;
        if (busy < count) enter?.();
      },
      takeBack() {
        if (!isHeld) busy++;
        isHeld = true;
      },
    };
  }

  return {
    async acquire(ttlMs, signal) {
      if (signal.aborted) return "aborted";
      if (busy < count) return occupy();
      const { promise, resolve } = Promise.withResolvers<Place | "expired" | "aborted">();
      const enter = () => {
        line.delete(enter);
        resolve(occupy());
      };
      const onAbort = () => leave("aborted");
      const leave = (why: "expired" | "aborted") => {
        if (line.delete(enter)) resolve(why);
      };
      line.add(enter);
      signal.addEventListener("abort", onAbort, { once: true });
      const timer = ttlMs === null ? undefined : setTimeout(leave, Math.min(ttlMs, MAX_TIMER_MS), "expired");
      return promise.finally(() => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      });
    },
  };
}
