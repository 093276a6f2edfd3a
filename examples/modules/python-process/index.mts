/** An environment: runs Python scripts, each in a process of its own, and reports through the host's bindings. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type {
  EnvironmentModule,
  EnvironmentSetupContext,
  ExecutionExitState,
  ExecutionInput,
  ToolDocsInput,
} from "@cyrnel/sdk";
import { describeEnvironment, describeTool } from "./documents.mts";
import { reportIsolation } from "./isolation.mts";
import { runScript } from "./run.mts";
import { createSlots } from "./slots.mts";

export interface Config {
  python: string;
  maxConcurrency: number;
  memoryMb: number;
  maxMemoryMb: number;
  maxCalls: number;
}

interface Running extends EnvironmentSetupContext {
  settings: Config;
  version: string;
  slots: ReturnType<typeof createSlots>;
}

const MIN_VERSION = [3, 9] as const;

export function instantiate(): EnvironmentModule {
  let running: Running | null = null;
  const executions = new Map<number, { kill: AbortController; over: Promise<unknown> }>();

  function requireRunning(): Running {
    if (running === null) throw new Error("The environment is not set up.");
    return running;
  }

  async function execute(input: ExecutionInput): Promise<ExecutionExitState> {
    const on = requireRunning();
    if (executions.has(input.eid)) throw new Error(`Execution ${input.eid} is running already.`);
    const kill = new AbortController();
    const over = runInSlot(on, input, kill.signal);
    executions.set(input.eid, { kill, over });
    try {
      return await over;
    } finally {
      executions.delete(input.eid);
    }
  }

  return {
    async setup(context) {
      // Absent means strict: an environment must not be weaker than what the operator asked for.
      const asked = context.isolation ?? "strict";
      if (asked !== "development") {
        throw new Error(
          `This environment puts no wall round a run, so it cannot give CYRNEL_ISOLATION=${asked}. Use it with CYRNEL_ISOLATION=development on a machine of your own, or use typescript-process.`,
        );
      }
      const settings = context.config as unknown as Config;
      const version = await findPython(settings.python);
      running = { ...context, settings, version, slots: createSlots(settings.maxConcurrency) };
      context.logger.warn(
        { python: version },
        "Python scripts run without a sandbox, with the rights of this server.",
      );
    },

    async teardown() {
      running = null;
      for (const { kill } of executions.values()) kill.abort();
      await Promise.allSettled([...executions.values()].map(({ over }) => over));
    },

    execute,

    async kill(eid) {
      const execution = executions.get(eid);
      execution?.kill.abort();
      await execution?.over.catch(() => {});
    },

    status() {
      const { settings, slots } = requireRunning();
      return {
        slots: settings.maxConcurrency,
        busy: slots.busy,
        warm: 0,
        limits: { memoryMb: settings.memoryMb, maxMemoryMb: settings.maxMemoryMb },
        isolation: reportIsolation(),
      };
    },

    async generateDocs() {
      const { settings, version } = requireRunning();
      return describeEnvironment(settings, version);
    },

    generateToolDocs: async (input: ToolDocsInput) => describeTool(input),
  };
}

async function runInSlot(
  on: Running,
  input: ExecutionInput,
  killed: AbortSignal,
): Promise<ExecutionExitState> {
  const { bindings } = on;
  const givenAt = performance.now();
  if (on.slots.isFull) bindings.setState(input.eid, "queued");
  using slot = await on.slots.acquire(killed);
  const queuedMs = performance.now() - givenAt;
  if (!slot.isHeld) {
    bindings.setUsage(input.eid, { queuedMs });
    bindings.setError(input.eid, { name: "KilledError", message: "The run was killed.", reason: "killed" });
    return "canceled";
  }
  bindings.setState(input.eid, "running");
  return runScript({ settings: on.settings, bindings, input, killed, queuedMs });
}

/** "3.12.1". Throws when there is no Python, or one that is too old. */
async function findPython(python: string): Promise<string> {
  const ask = "import sys; print('.'.join(map(str, sys.version_info[:3])))";
  const { stdout } = await promisify(execFile)(python, ["-I", "-c", ask], { env: {}, timeout: 20_000 }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new Error(
        `No Python at "${python}" (${error.code ?? "it failed"}). Install it, or set "python" in the configuration.`,
      );
    },
  );
  const version = stdout.trim();
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    throw new Error(`Python ${version} is too old: expected ${MIN_VERSION.join(".")} or newer.`);
  }
  return version;
}
