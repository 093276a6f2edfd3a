/** Every tool call that is over, with what the policies said about it, as a record of the audit trail. */
import type { KeyVerifier } from "../http/auth.ts";
import type { CallCaller, CallRecord } from "../tools/gate.ts";
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

  /** Who started the run, if that is not who submitted the process. */
  function actorOf({ keyId, startedBy = keyId }: CallCaller): AuditActor {
    if (startedBy === undefined) return { kind: withoutKey };
    if (startedBy === "anonymous" || startedBy === "bootstrap") return { kind: startedBy };
    return { kind: "key", id: startedBy, name: keys.find(startedBy)?.name ?? startedBy };
  }

  return ({ caller, serviceId, toolId, parameters, decision, outcome, code }) => {
    audit.record({
      actor: actorOf(caller),
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
