import { DeadlineExceeded, waitAtMost } from "#api/bounds/deadline.ts";
import { readFailure } from "#api/bounds/failure-text.ts";
import {
  type EnvironmentModule,
  ISOLATION_LEVELS,
  type IsolationLevel,
  type Module,
  type ModuleLogger,
  type ModuleSetupContext,
  type ModuleType,
} from "#sdk";
import type { ModuleRegistration } from "../registration.ts";

export class ModuleFailure extends Error {
  override readonly name = "ModuleFailure";

  constructor(cause: unknown) {
    super(readFailure(cause), { cause: copyError(cause) });
  }
}

/** Copies name, message and stack, because reading a foreign error may throw. */
export function copyError(thrown: unknown): Error {
  const copy = new Error(readFailure(thrown));
  try {
    const { name, stack } = thrown as Error;
    if (typeof name === "string") copy.name = name.slice(0, 200);
    if (typeof stack === "string") copy.stack = stack.slice(0, 10_000);
  } catch {}
  return copy;
}

export interface InstanceLimits {
  maxSetupMs: number;
  maxTeardownMs: number;
}

export interface ModuleInstance<M extends Module = Module> {
  readonly id: string;
  readonly hash: string;
  readonly module: M;
  teardown(): Promise<void>;
}

/** Members that the host calls. They are checked before setup, so that an unsuitable module fails at once. */
const REQUIRED_MEMBERS: Record<ModuleType, readonly string[]> = {
  environment: ["setup", "teardown", "execute", "kill", "generateDocs", "generateToolDocs"],
  adapter: ["setup", "teardown", "generateDefinition", "hydrateService", "dehydrateService", "invoke"],
};

/** On failure, cleans up and throws ModuleFailure with the module's own message. */
export async function startInstance<M extends Module>(
  registration: ModuleRegistration,
  context: ModuleSetupContext,
  limits: InstanceLimits,
): Promise<ModuleInstance<M>> {
  const { hash } = registration;
  const { id, type } = registration.manifest;
  try {
    const entry = await registration.open();
    const made = Promise.resolve().then(() => entry.instantiate());
    const module = await waitAtMost(made, limits.maxSetupMs, `instantiate() of ${id}`);
    const lacking = REQUIRED_MEMBERS[type].filter(
      (member) => typeof (module as unknown as Record<string, unknown> | null)?.[member] !== "function",
    );
    if (lacking.length > 0)
      throw new Error(`The ${type} lacks ${lacking.map((name) => `${name}()`).join(", ")}.`);
    const instance = holdInstance({ id, hash }, module as M, context.logger, limits);
    await setUp(instance, context, limits);
    return instance;
  } catch (error) {
    throw new ModuleFailure(error);
  }
}

async function setUp(
  instance: ModuleInstance,
  context: ModuleSetupContext,
  limits: InstanceLimits,
): Promise<void> {
  const done = Promise.resolve().then(() => instance.module.setup(context));
  try {
    await waitAtMost(done, limits.maxSetupMs, `setup() of ${instance.id}`);
  } catch (error) {
    // A setup that timed out may still open resources, so tear them down when it finishes.
    if (error instanceof DeadlineExceeded) void done.then(instance.teardown, () => {});
    throw error;
  }
}

function holdInstance<M extends Module>(
  { id, hash }: Pick<ModuleInstance, "id" | "hash">,
  module: M,
  logger: ModuleLogger,
  limits: InstanceLimits,
): ModuleInstance<M> {
  let ended: Promise<void> | null = null;
  const end = async () => {
    try {
      const done = Promise.resolve().then(() => module.teardown());
      await waitAtMost(done, limits.maxTeardownMs, `teardown() of ${id}`);
    } catch (error) {
      logger.error(
        { err: copyError(error) },
        "the module could not be torn down; its resources may stay in use until the server stops",
      );
    }
  };
  return {
    id,
    hash,
    module,
    teardown: () => {
      ended ??= end();
      return ended;
    },
  };
}

/**
 * Requires a custom environment to report the isolation level that the server asks for. The report is trusted,
 * because the environment's code has the server's permissions anyway. Bundled environments check the level
 * themselves. Ends the instance and throws ModuleFailure if the level is weaker or not reported.
 */
export async function requireIsolation(
  instance: ModuleInstance<EnvironmentModule>,
  asked: IsolationLevel,
): Promise<void> {
  const reported = readLevel(instance.module);
  const isEnough = reported !== null && ISOLATION_LEVELS.indexOf(reported) <= ISOLATION_LEVELS.indexOf(asked);
  if (isEnough || asked === "development") return;
  await instance.teardown();
  const what = reported === null ? "It reports no isolation" : `It reports the isolation level ${reported}`;
  throw new ModuleFailure(
    `${what}; this server asks for ${asked}. Runs in it would be less confined than CYRNEL_ISOLATION=${asked} promises.`,
  );
}

function readLevel(module: EnvironmentModule): IsolationLevel | null {
  try {
    const level: unknown = module.status?.().isolation.level;
    return ISOLATION_LEVELS.find((known) => known === level) ?? null;
  } catch {
    return null;
  }
}
