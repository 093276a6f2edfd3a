/**
 * Traces of what the server does, for a collector: request, run, tool call. What it needs for that is loaded only where
 * an endpoint is configured; without one nothing is measured and nothing is kept.
 */
import type { FastifyBaseLogger } from "fastify";
import type { TracingSettings } from "./exporter.ts";
import type { Tracing } from "./telemetry.ts";

/** Null without settings. Disposing sends what is left, for a few seconds at most. */
export async function openTracing(
  settings: TracingSettings | null,
  log: Pick<FastifyBaseLogger, "warn">,
): Promise<Tracing | null> {
  if (settings === null) return null;
  const { createTelemetry } = await import("./telemetry.ts");
  return createTelemetry(settings, log);
}
