/** Sends spans to the collector, limited in number and time, and logs failures at intervals. */
import { ExportResultCode } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { FastifyBaseLogger } from "fastify";

export interface TracingSettings {
  endpoint: string;
  /** HTTP headers, which may contain a key. */
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  /** Share of traces started here that are sampled, from 0 to 1. */
  ratio: number;
}

const MAX_WAITING_SPANS = 4096;
const MAX_BATCH_SPANS = 512;
const SEND_DELAY_MS = 1000;
const SEND_TIMEOUT_MS = 5000;
const MAX_SENDING = 2;
const WARN_INTERVAL_MS = 60_000;
const MAX_ATTRIBUTE_CHARACTERS = 500;

export function createProvider(
  settings: TracingSettings,
  log: Pick<FastifyBaseLogger, "warn">,
): TracerProvider {
  const exporter = new OTLPTraceExporter({
    url: new URL("v1/traces", withSlash(settings.endpoint)).href,
    headers: { ...settings.headers },
    timeoutMillis: SEND_TIMEOUT_MS,
    concurrencyLimit: MAX_SENDING,
  });
  return new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes({ "service.name": settings.serviceName })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.ratio) }),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARACTERS },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reporting(exporter, log),
        maxQueueSize: MAX_WAITING_SPANS,
        maxExportBatchSize: MAX_BATCH_SPANS,
        scheduledDelayMillis: SEND_DELAY_MS,
        exportTimeoutMillis: SEND_TIMEOUT_MS,
      }),
    ],
  });
}

/** Logs spans that the collector rejected, because the library does not report them. */
function reporting(exporter: SpanExporter, log: Pick<FastifyBaseLogger, "warn">): SpanExporter {
  let lost = 0;
  let warnedMs = Number.NEGATIVE_INFINITY;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== ExportResultCode.SUCCESS) {
          lost += spans.length;
          if (performance.now() - warnedMs > WARN_INTERVAL_MS) {
            warnedMs = performance.now();
            log.warn(
              { type: "tracing", spans: lost, reason: result.error?.message ?? null },
              "the trace collector did not accept spans; they are lost",
            );
            lost = 0;
          }
        }
        done(result);
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}

function withSlash(address: string): string {
  return address.endsWith("/") ? address : `${address}/`;
}
