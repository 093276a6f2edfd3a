/**
 * Traces of what the server does, for a collector: request, run, tool call. What it needs for that is loaded only where
 * an endpoint is configured; without one nothing is measured and nothing is kept.
 */
import type { FastifyBaseLogger } from "fastify";
import type { TracingSettings } from "./exporter.ts";
import type { Tracing } from "./telemetry.ts";

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
