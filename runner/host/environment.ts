/**
 * Common part of the bundled environments: everything between `setup` and `teardown`, and the executions in progress.
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
import { type EnvironmentFacts, generateEnvironmentDocs } from "./environment-docs.ts";
import {
  type Execution,
  type ExecutionContext,
  pauseExecution,
  resumeExecution,
  runExecution,
} from "./execution.ts";
import { createCodeCacheMaker } from "./packages/code-cache.ts";
import { createPackages } from "./packages/packages.ts";
import type { RunSettings } from "./settings-schema.ts";
import { createSlotPool } from "./slots.ts";

export interface EnvironmentKind<Config extends RunSettings> {
  facts: Pick<EnvironmentFacts, "id" | "name" | "isolation">;
  /** How the first child proves layers 0 and 1, for the isolation report. */
  observed: { realm: string; permissions: string };
  /** Name of the resource that a run waits for, in messages to its author: "process" or "slot". */
  unit: string;
  /** @throws Error that names the invalid setting. */
  readConfig(raw: Record<string, unknown>): Config;
  countSlots(config: Config): number;
  /** Opens the jail and creates the pool, but starts no child yet. @throws JailUnavailableError */
  open(
    config: Config,
    asked: { level: IsolationLevel; isExposed: boolean; zygote: boolean },
    logger: ModuleLogger,
  ): Promise<Children>;
}

/** The children that run an environment's scripts. Disposing ends them and removes their files. */
export interface Children
  extends AsyncDisposable,
    Pick<ExecutionContext, "pool" | "monitor" | "wall" | "onSuspectedEscape" | "openRun"> {
  readonly node: NodeBinary;
  /** Returns the memory of all children together in bytes, or undefined if it cannot be read. */
  readMemoryBytes(): number | undefined;
  /** Returns null while every child boots. Only for environments with zygotes. */
  readZygote?(): NonNullable<EnvironmentStatus["zygote"]> | null;
}

interface Running extends ExecutionContext {
  isolation: IsolationReport;
  children: Children;
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

  /** Counts executions that have a slot or wait for one. */
  function countActive(): number {
    let active = 0;
    for (const { isPaused } of executions.values()) if (!isPaused) active++;
    return active;
  }

  return {
    async setup(context) {
      if (running !== null) throw new Error("The environment is set up already.");
      running = await open(kind, context);
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
      const execution: Execution = { kill: new AbortController(), over, isPaused: false, current: null };
      executions.set(input.eid, execution);
      try {
        return await runExecution(on, input, execution, countActive() > on.slots.size);
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

    status: () => describeStatus(requireRunning(), countActive()),

    importsPackages: true,

    async generateDocs() {
      const { config, slots } = requireRunning();
      const { memoryMb, maxMemoryMb, maxCalls, maxConcurrentCalls, maxMessageBytes, allowEval, allowWasm } =
        config;
      return generateEnvironmentDocs({
        ...kind.facts,
        limits: { memoryMb, maxMemoryMb, maxCalls, maxConcurrentCalls, maxMessageBytes, slots: slots.size },
        allowEval,
        allowWasm,
      });
    },

    generateToolDocs,
  };
}

async function open<Config extends RunSettings>(
  kind: EnvironmentKind<Config>,
  { bindings, logger, config: raw, isolation, isExposed, zygote }: EnvironmentSetupContext,
): Promise<Running> {
  await using undo = new AsyncDisposableStack();
  const config = kind.readConfig(raw);
  const asked = { level: isolation ?? "strict", isExposed: isExposed === true, zygote: zygote !== false };
  const children = undo.use(await kind.open(config, asked, logger));
  const { pool, monitor, wall, onSuspectedEscape, openRun, node } = children;
  // Starts the compiler together with the first child, so that no run waits for it.
  const [first] = await Promise.all([pool.warmUp(), prepareSource("")]);
  const isMonitored = monitor.isSupported;
  if (!node.isPinned) {
    logger.warn(
      { node: node.path, version: node.version },
      "Runs use the server's Node, which is not the version that package.json pins and is untested.",
    );
  }
  const slots = createSlotPool(kind.countSlots(config));
  const closing = new AbortController();
  const { unit } = kind;
  const parts = { config, bindings, logger, pool, slots, monitor, wall, unit, onSuspectedEscape, openRun };
  const packages = createPackages(bindings, createCodeCacheMaker(parts, closing.signal));
  const report = reportIsolation({ wall, node, first, isMonitored, observed: kind.observed });
  undo.move();
  return { ...parts, packages, isolation: report, children, closing };
}

function describeStatus(
  { config, children, slots: { size }, isolation }: Running,
  active: number,
): EnvironmentStatus {
  return {
    slots: size,
    busy: Math.min(active, size),
    warm: children.pool.status().warm,
    // A getter, because reading memory is slow and most callers need only the rest.
    get memoryBytes() {
      return children.readMemoryBytes();
    },
    limits: { memoryMb: config.memoryMb, maxMemoryMb: config.maxMemoryMb },
    isolation,
    ...(children.readZygote && { zygote: children.readZygote() }),
  };
}
