/**
 * What goes into the log of each run and each tool call that is over, so that the log can be searched by process, service
 * and tool. Ids, codes and times only: nothing a script or a tool has said.
 */
import type { FastifyBaseLogger } from "fastify";
import type { RunObserver } from "#api/processes/model/records.ts";
import type { CallRecord } from "#api/tools/gate.ts";

export interface ActivityLog extends Required<Pick<RunObserver, "runEnded">> {
  callEnded(call: CallRecord): void;
}

/** Runs at level info; calls that went well at debug, all others at info. Never throws. */
export function createActivityLog(log: Pick<FastifyBaseLogger, "info" | "debug">): ActivityLog {
  return {
    runEnded({ id, exitState, reason, usage }, environment) {
      const { queuedMs, startMs, wallMs, cpuMs, toolCalls } = usage;
      log.info(
        {
          type: "run",
          processId: id,
          environment,
          exitState,
          reason,
          queuedMs,
          startMs,
          wallMs,
          cpuMs,
          toolCalls,
        },
        "run ended",
      );
    },
    callEnded({ caller, serviceId, toolId, decision, outcome, code, durationMs, waitedMs }) {
      const fields = {
        type: "call",
        serviceId,
        toolId,
        ...(caller.processId !== undefined && { processId: caller.processId }),
        outcome,
        code,
        decision: decision?.decision ?? null,
        durationMs: Math.round(durationMs * 10) / 10,
        ...(waitedMs > 0 && { waitedMs: Math.round(waitedMs * 10) / 10 }),
      };
      if (outcome === "ok") log.debug(fields, "tool call");
      else log.info(fields, "tool call");
    },
  };
}
