/**
 * The default environment: every execution in a locked-down Node process of its own. Owns what executions share, from
 * `setup` to `teardown`. Knows no HTTP and no database.
 */

import { generateEnvironmentDocs } from "#runner/docs/environment-docs.ts";
import { generateToolDocs } from "#runner/docs/tool-docs.ts";
import { reportIsolation } from "#runner/isolation/report.ts";
import type { WallOptions } from "#runner/isolation/wall.ts";
import { DIST } from "#runner/places.ts";
import { createMonitor } from "#runner/process/monitor.ts";
import { PROCESS_OBSERVED } from "#runner/process/process-launch.ts";
import { prepareSource } from "#runner/source/prepare.ts";
import type {
  EnvironmentModule,
  EnvironmentSetupContext,
  EnvironmentStatus,
  ExecutionInput,
  ExecutionOutcome,
  IsolationReport,
} from "#sdk";
import { openChildren } from "./children.ts";
import { type ProcessConfig, readConfig } from "./config.ts";
import { type ExecutionContext, type ExecutionPause, runExecution } from "./execution.ts";
import { createSlots } from "./slots.ts";

/** Everything that exists between `setup` and `teardown`. */
interface Running extends ExecutionContext {
  isolation: IsolationReport;
  resources: AsyncDisposableStack;
}

interface Execution {
  kill: AbortController;
  over: Promise<unknown>;
  /** Null until it has a child. */
  pause: ExecutionPause | null;
}

export type ProcessEnvironment = Omit<EnvironmentModule, "execute"> & {
  execute(input: ExecutionInput): Promise<ExecutionOutcome>;
} & Required<Pick<EnvironmentModule, "pause" | "resume" | "status">>;

/** `folder` holds a build of the child; `test`: how the wall is tested, see WallOptions. */
export function createProcessEnvironment(
  folder: string = DIST,
  { test = "apart" }: Pick<WallOptions, "test"> = {},
): ProcessEnvironment {
  const executions = new Map<number, Execution>();
  let running: Running | null = null;

  function requireRunning(): Running {
    if (running === null) throw new Error("The environment is not set up.");
    return running;
  }

  return {
    async setup({ config: raw, bindings, logger, isolation: level, isExposed }: EnvironmentSetupContext) {
      if (running !== null) throw new Error("The environment is set up already.");
      await using undo = new AsyncDisposableStack();
      const config = readConfig(raw);
      const monitor = undo.use(createMonitor());
      const where = { level: level ?? "strict", folder, test, isExposed: isExposed === true };
      const children = undo.use(await openChildren(where, config, logger));
      const { node, wall } = children;
      const { isSupported: isMonitored } = monitor;
      const warming = children.pool.warmUp();
      // The first preparation starts the compiler, beside the first child: no run should wait for that.
      const [first] = await Promise.all([warming, prepareSource("")]);
      const isolation = reportIsolation({ wall, node, first, isMonitored, observed: PROCESS_OBSERVED });
      if (!node.isPinned) {
        logger.warn(
          { node: node.path, version: node.version },
          "Runs use the server's own Node, which is not the version that package.json pins: nothing was tested with it.",
        );
      }
      const slots = createSlots(config.maxConcurrency);
      running = { config, bindings, logger, children, monitor, slots, isolation, resources: undo.move() };
    },

    async teardown() {
      const ending = running;
      running = null;
      for (const execution of executions.values()) execution.kill.abort("teardown");
      await Promise.allSettled([...executions.values()].map(({ over }) => over));
      await ending?.resources.disposeAsync();
    },

    async execute(input) {
      const on = requireRunning();
      if (executions.has(input.eid)) throw new Error(`Execution ${input.eid} is running already.`);
      const kill = new AbortController();
      const execution: Execution = { kill, over: Promise.resolve(), pause: null };
      const over = runExecution(on, input, kill.signal, (pause) => {
        execution.pause = pause;
      });
      execution.over = over;
      executions.set(input.eid, execution);
      try {
        return await over;
      } finally {
        executions.delete(input.eid);
      }
    },

    async kill(eid) {
      const execution = executions.get(eid);
      execution?.kill.abort("killed");
      await execution?.over.catch(() => {});
    },

    async pause(eid) {
      const pause = executions.get(eid)?.pause;
      if (!pause) throw new Error(`Execution ${eid} is not running.`);
      return pause.pause();
    },

    resume: (eid) => executions.get(eid)?.pause?.resume(),

    status(): EnvironmentStatus {
      const { config, slots, children, isolation } = requireRunning();
      const memoryBytes = children.readMemoryBytes();
      return {
        slots: config.maxConcurrency,
        busy: slots.busy,
        warm: children.pool.status().warm,
        ...(memoryBytes !== undefined && { memoryBytes }),
        limits: { memoryMb: config.memoryMb, maxMemoryMb: config.maxMemoryMb },
        isolation,
      };
    },

    async generateDocs() {
      return generateEnvironmentDocs({ ...FACTS, ...describeConfig(requireRunning().config) });
    },

    generateToolDocs: (input) => generateToolDocs(input),
  };
}

const FACTS = {
  id: "typescript-process",
  name: "TypeScript in a process",
  isolation:
    "every run gets a Node process of its own that never ran anything else, without permissions, without an environment and without files; the process is ended with the run.",
};

function describeConfig(config: ProcessConfig) {
  const { memoryMb, maxMemoryMb, maxCalls, maxConcurrentCalls, maxMessageBytes, maxConcurrency } = config;
  return {
    limits: { memoryMb, maxMemoryMb, maxCalls, maxConcurrentCalls, maxMessageBytes, slots: maxConcurrency },
    allowEval: config.allowEval,
    allowWasm: config.allowWasm,
  };
}
