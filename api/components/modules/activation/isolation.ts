/**
 * Whether an environment of the operator's own reports what the server asks for. It is the environment's own word: its
 * code has the server's rights anyway. The bundled ones refuse by themselves, and know why.
 */
import { type EnvironmentModule, ISOLATION_LEVELS, type IsolationLevel } from "#sdk";
import { ModuleFailure } from "./failure.ts";
import type { ModuleInstance } from "./instance.ts";

/** Throws ModuleFailure when the report is weaker or there is none; the instance is ended then. */
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
