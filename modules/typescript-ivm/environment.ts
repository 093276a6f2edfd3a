/**
 * The isolate environment: every execution in a fresh V8 isolate inside a slot process. Waits for a slot, has the run
 * supervised, and reports through the bindings. Knows no HTTP and no database.
 */
import { generateEnvironmentDocs } from "#runner/docs/environment-docs.ts";
import { generateToolDocs } from "#runner/docs/tool-docs.ts";
import { logSuspicion } from "#runner/host/outcome.ts";
import { createPausable, findCheckpointFault, type PausableRun } from "#runner/host/pausable.ts";
import { reportIsolation } from "#runner/isolation/report.ts";
import { createMonitor, type Monitor } from "#runner/process/monitor.ts";
import { prepareSource } from "#runner/source/prepare.ts";
import type {
  EnvironmentBindings,
  EnvironmentModule,
  EnvironmentSetupContext,
  EnvironmentStatus,
  ErrorDetail,
  ExecutionExitState,
  ExecutionInput,
  ExecutionOutcome,
  IsolationReport,
  ModuleLogger,
} from "#sdk";
import { type IvmConfig, readConfig } from "./config.ts";
import { openSlotProcesses, type SlotProcesses } from "./processes.ts";
import { runOnSlot } from "./run-on-slot.ts";
import type { Slot } from "./slot.ts";
import { createLateMonitor } from "./watch.ts";

/** Everything that exists between `setup` and `teardown`. */
interface Running {
  config: IvmConfig;
  bindings: EnvironmentBindings;
  logger: ModuleLogger;
  processes: SlotProcesses;
  monitor: Monitor;
  isolation: IsolationReport;
  resources: AsyncDisposableStack;
}

interface Execution {
  kill: AbortController;
  over: Promise<unknown>;
  /** Null until it has a slot. */
  run: PausableRun | null;
  isFrozen: boolean;
}

/** A slot may die while it is idle, and the server learns of it from the failed run: then another one is taken. */
const MAX_ATTEMPTS = 3;

export function createIvmEnvironment(): EnvironmentModule {
  const executions = new Map<number, Execution>();
  let running: Running | null = null;

  function requireRunning(): Running {
    if (running === null) throw new Error("The environment is not set up.");
    return running;
  }

  const countFrozen = () => [...executions.values()].filter(({ isFrozen }) => isFrozen).length;

  async function run(on: Running, input: ExecutionInput, execution: Execution): Promise<ExecutionOutcome> {
    const { bindings, config } = on;
    const { signal } = execution.kill;
    const { eid } = input;
    const givenAt = performance.now();
    const refuse = (exitState: ExecutionExitState, error: ErrorDetail, queuedMs = 0): ExecutionOutcome => ({
      exitState,
      error,
      usage: { queuedMs },
    });
    const fault = findCheckpointFault(input.checkpoint);
    if (fault !== null) return refuse("failed", fault);
    const source = await prepareSource(input.code);
    if (!source.ok) return refuse("failed", { ...source.error, reason: "syntax_error" });
    if (executions.size - countFrozen() > config.slots) bindings.setState(eid, "queued");
    const queuedAt = performance.now();
    for (let attempt = 1; ; attempt++) {
      const slot = await waitForSlot(on, signal);
      const queuedMs = performance.now() - queuedAt;
      if (slot === "aborted") return refuse("canceled", KILLED, queuedMs);
      if (slot === "expired") return refuse("canceled", describeExpiry(config), queuedMs);
      if (attempt === 1) bindings.setState(eid, "running");
      const pausable = createPausable(input.checkpoint);
      execution.run = pausable;
      const { wall } = on.processes;
      const finished = await runOnSlot({ ...on, wall, slot, script: source, input, signal, pausable });
      if (finished.wasNeverStarted && attempt < MAX_ATTEMPTS && !signal.aborted) continue;
      const startMs = Math.max(0, performance.now() - givenAt - queuedMs - finished.usage.wallMs);
      logSuspicion(on.logger, eid, finished);
      const { state: exitState, error, result, usage } = finished;
      return {
        exitState,
        usage: { queuedMs, startMs, ...usage },
        ...(error !== undefined && { error }),
        ...(result !== undefined && { result: result.value }),
      };
    }
  }

  /** `expired`: no slot was free within the time a run may wait. */
  async function waitForSlot(on: Running, signal: AbortSignal): Promise<Slot | "aborted" | "expired"> {
    const { queueTtlMs } = on.config;
    if (queueTtlMs === null) return on.processes.pool.acquire(signal);
    const expiry = AbortSignal.timeout(queueTtlMs);
    const slot = await on.processes.pool.acquire(AbortSignal.any([signal, expiry]));
    return slot === "aborted" && !signal.aborted ? "expired" : slot;
  }

  return {
    async setup({ config: raw, bindings, logger, isolation, isExposed = false }: EnvironmentSetupContext) {
      if (running !== null) throw new Error("The environment is set up already.");
      await using undo = new AsyncDisposableStack();
      const config = readConfig(raw);
      const monitor = undo.use(createLateMonitor(createMonitor()));
      const asked = { level: isolation ?? "strict", isExposed };
      const processes = undo.use(await openSlotProcesses(config, asked, logger, countFrozen));
      const first = await processes.pool.warmUp();
      // The first preparation starts the compiler: no run should wait for that.
      await prepareSource("");
      const { node, wall } = processes;
      const { isSupported: isMonitored } = monitor;
      const found = reportIsolation({ wall, node, first, isMonitored, observed: OBSERVED });
      running = { config, bindings, logger, processes, monitor, isolation: found, resources: undo.move() };
    },

    async teardown() {
      const ending = running;
      running = null;
      for (const execution of executions.values()) execution.kill.abort();
      await Promise.allSettled([...executions.values()].map(({ over }) => over));
      await ending?.resources.disposeAsync();
    },

    async execute(input) {
      const on = requireRunning();
      if (executions.has(input.eid)) throw new Error(`Execution ${input.eid} is running already.`);
      const kill = new AbortController();
      const { promise: over, resolve } = Promise.withResolvers<void>();
      const execution: Execution = { kill, over, run: null, isFrozen: false };
      executions.set(input.eid, execution);
      try {
        return await run(on, input, execution);
      } finally {
        executions.delete(input.eid);
        resolve();
      }
    },

    async kill(eid) {
      const execution = executions.get(eid);
      execution?.kill.abort();
      await execution?.over;
    },

    async pause(eid) {
      const execution = executions.get(eid);
      if (!execution?.run) throw new Error(`Execution ${eid} is not running.`);
      const checkpoint = await execution.run.pause();
      execution.isFrozen = true;
      running?.processes.pool.grow();
      return checkpoint;
    },

    resume(eid) {
      const execution = executions.get(eid);
      if (!execution?.isFrozen) return;
      execution.isFrozen = false;
      execution.run?.resume();
    },

    status(): EnvironmentStatus {
      const { config, processes, isolation } = requireRunning();
      const memoryBytes = processes.readMemoryBytes();
      return {
        slots: config.slots,
        busy: Math.min(executions.size - countFrozen(), config.slots),
        warm: processes.pool.status().idle,
        ...(memoryBytes !== undefined && { memoryBytes }),
        limits: { memoryMb: config.memoryMb, maxMemoryMb: config.maxMemoryMb },
        isolation,
      };
    },

    async generateDocs() {
      const { config } = requireRunning();
      return generateEnvironmentDocs({
        id: "typescript-ivm",
        name: "TypeScript in an isolate",
        isolation:
          "every run gets a fresh V8 isolate of its own, with a memory of its own, inside a process without permissions, environment or files that runs one script at a time; the isolate is thrown away with the run, the process serves further runs.",
        limits: {
          memoryMb: config.memoryMb,
          maxMemoryMb: config.maxMemoryMb,
          maxCalls: config.maxCalls,
          maxConcurrentCalls: config.maxConcurrentCalls,
          maxMessageBytes: config.maxMessageBytes,
          slots: config.slots,
        },
        allowEval: config.allowEval,
        allowWasm: config.allowWasm,
      });
    },

    generateToolDocs,
  };
}

/** How its first slot shows layers 0 and 1. */
const OBSERVED = {
  realm:
    "a slot process made an isolate, ran a script in it and said so; an isolate shares no object with its process, and only strings cross",
  permissions:
    "a slot process was started with the right to load addons, loaded one, gave up every permission, asked for each again, tried to load the addon again and was refused",
};

const KILLED: ErrorDetail = { name: "KilledError", message: "The run was killed.", reason: "killed" };

function describeExpiry({ queueTtlMs }: IvmConfig): ErrorDetail {
  return {
    name: "QueueTimeoutError",
    message: `No slot was free within ${queueTtlMs} ms.`,
    reason: "queue_timeout",
  };
}
