/**
 * Traces of what the server does, for a collector: request, run, tool call. What it needs for that is loaded only where
 * an endpoint is configured; without one nothing is measured and nothing is kept.
 */
import type { FastifyBaseLogger } from "fastify";
import type { App } from "../http/app-type.ts";
import type { CallRecord } from "../tools/call.ts";

/** A run that begins here. */
export interface TracedRun {
  id: number;
  environment: string;
  /** What `traceParent` answered where it was asked for; null: nobody traced that. */
  traceParent: string | null;
}

/** Times in milliseconds. */
export interface TracedEnding {
  id: number;
  exitState: string;
  reason: string;
  usage: {
    queuedMs: number;
    startMs: number;
    wallMs: number;
    cpuMs: number;
    peakMemoryBytes: number;
    toolCalls: number;
  };
}

export interface Tracing extends AsyncDisposable {
  /** A span for each request but those of probes and scrapers. Before the routes. */
  register(app: App): void;
  /** The request that is being served, as W3C `traceparent`; null outside of one. */
  traceParent(): string | null;
  runStarted(run: TracedRun): void;
  /** Its child is gone and the run is not over: somebody repeats it later. */
  runLeft(id: number): void;
  runEnded(ending: TracedEnding): void;
  callEnded(call: CallRecord): void;
}

export interface TracingSettings {
  /** Base address of an OTLP/HTTP collector. */
  endpoint: string;
  /** Sent to it; they may hold a key. */
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  /** Of the traces that begin here, from 0 to 1. */
  ratio: number;
}

const NO_TRACING: Tracing = {
  register() {},
  traceParent: () => null,
  runStarted() {},
  runLeft() {},
  runEnded() {},
  callEnded() {},
  async [Symbol.asyncDispose]() {},
};

/** Null settings: none. Disposing sends what is left, for a few seconds at most. */
export async function openTracing(
  settings: TracingSettings | null,
  log: Pick<FastifyBaseLogger, "warn">,
): Promise<Tracing> {
  if (settings === null) return NO_TRACING;
  const { createTelemetry } = await import("./telemetry.ts");
  return createTelemetry(settings, log);
}
