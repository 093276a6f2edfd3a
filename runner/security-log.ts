/** Runs that ended as an attack would: written to the log so that an operator can find and count them. */
import type { ModuleLogger } from "#sdk";
import type { Verdict } from "./outcome.ts";

/** Logs a breach of the sandbox as `securityEvent`, a crash as a warning, nothing else. */
export function logSuspicion(
  logger: ModuleLogger,
  eid: number,
  { reason, error, hostError }: Verdict & { hostError?: unknown },
): void {
  if (reason !== "sandbox_violation" && reason !== "crashed") return;
  const securityEvent = reason === "sandbox_violation" ? { securityEvent: true } : {};
  logger.warn({ eid, reason, ...securityEvent, err: hostError }, error?.message);
}
