/** Every tool call that is over, with what the policies said about it, as a record of the audit trail. */
import type { KeyVerifier } from "../http/auth.ts";
import type { CallRecord } from "../tools/call.ts";
import type { AuditActor, AuditLog } from "./log.ts";

export interface CallRecorderOptions {
  audit: Pick<AuditLog, "record">;
  keys: Pick<KeyVerifier, "find">;
  /** Who calls without a stored key. */
  withoutKey: "anonymous" | "bootstrap";
}

/** What the path of all calls tells about each. Never throws. */
export function createCallRecorder(options: CallRecorderOptions): (record: CallRecord) => void {
  const { audit, keys, withoutKey } = options;

  function actorOf(keyId: string | undefined): AuditActor {
    if (keyId === undefined) return { kind: withoutKey };
    return { kind: "key", id: keyId, name: keys.find(keyId)?.name ?? keyId };
  }

  return ({ caller, serviceId, toolId, parameters, decision, outcome, code }) => {
    audit.record({
      actor: actorOf(caller.keyId),
      action: "tool.call",
      object: { kind: "tool", id: `${serviceId}.${toolId}` },
      outcome: outcome === "ok" ? "ok" : outcome === "denied" ? "refused" : "failed",
      code: code ?? undefined,
      processId: caller.processId,
      decision: decision?.decision,
      policyId: decision?.policyId,
      parameters,
    });
  };
}
