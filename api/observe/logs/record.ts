/**
 * Parses log lines into records: searchable members, and the rest unchanged. Also logs each finished run and tool
 * call by process, service and tool, with ids, codes and times only, and no text from a script or a tool.
 */
import type { FastifyBaseLogger } from "fastify";
import type { RunObserver } from "#api/processes/model/records.ts";
import type { CallRecord } from "#api/tools/contract.ts";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogRecord {
  /** The line's `time`, in milliseconds since 1970. */
  timeMs: number;
  level: LogLevel;
  type: string;
  message: string;
  requestId: string | null;
  processId: number | null;
  serviceId: string | null;
  toolId: string | null;
  fields: Record<string, unknown>;
}

const NO_TYPE = "server";
const MAX_SHORT_MESSAGE_CHARACTERS = 2000;

/** Accepts any text: a line that is not JSON becomes a record's message. */
export function readLine(line: string): LogRecord {
  const { level, time, type, msg, requestId, processId, serviceId, toolId, ...fields } = parseObject(line);
  const timeMs = typeof time === "string" ? Date.parse(time) : Number.NaN;
  return {
    timeMs: Number.isNaN(timeMs) ? 0 : timeMs,
    level: LOG_LEVELS.find((known) => known === level) ?? "info",
    type: readText(type) ?? NO_TYPE,
    message: readText(msg) ?? "",
    requestId: readText(requestId),
    // Environments log the execution id, which equals the process id.
    processId: readId(processId) ?? readId(fields.eid),
    serviceId: readText(serviceId),
    toolId: readText(toolId),
    fields,
  };
}

export function shortenLine(line: string): string {
  const { level, time, type, msg, requestId, processId, eid, serviceId, toolId } = parseObject(line);
  return JSON.stringify({
    level,
    time,
    ...Object.fromEntries(
      Object.entries({ type, requestId, processId, eid, serviceId, toolId }).filter(
        ([, value]) => typeof value === "number" || (typeof value === "string" && value.length <= 200),
      ),
    ),
    cutCharacters: line.length,
    msg: String(msg).slice(0, MAX_SHORT_MESSAGE_CHARACTERS),
  });
}

export interface ActivityLog extends Required<Pick<RunObserver, "runEnded">> {
  callEnded(call: CallRecord): void;
}

/** Logs runs at level info, successful calls at debug, and other calls at info. Never throws. */
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
    callEnded({ caller, serviceId, toolId, decision, outcome, code, httpStatus, durationMs, waitedMs }) {
      const fields = {
        type: "call",
        serviceId,
        toolId,
        ...(caller.processId !== undefined && { processId: caller.processId }),
        outcome,
        code,
        ...(httpStatus !== null && { httpStatus }),
        decision: decision?.decision ?? null,
        durationMs: Math.round(durationMs * 10) / 10,
        ...(waitedMs > 0 && { waitedMs: Math.round(waitedMs * 10) / 10 }),
      };
      if (outcome === "ok") log.debug(fields, "tool call");
      else log.info(fields, "tool call");
    },
  };
}

function readId(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : null;
}

function readText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function parseObject(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {}
  return { time: new Date().toISOString(), msg: line.trim() };
}
