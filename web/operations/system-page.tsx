/** The server: its isolation, load, latencies and replicas. */
import { signal } from "@preact/signals";
import { Failure, Loaded, Loading, Settled } from "../parts/failure.tsx";
import { formatBytes } from "../parts/format.tsx";
import { Icon } from "../parts/icons.tsx";
import { Card, Facts, PageHead, Table } from "../parts/layout.tsx";
import { type EnvironmentReport, fetchPath, get, useResource } from "../server/api.ts";
import { HistogramChart, LineChart } from "./charts.tsx";
import { readHistograms } from "./metrics.ts";
import { Replicas } from "./replicas.tsx";

const LOAD_MS = 1000;
const METRICS_MS = 5000;

const HISTOGRAMS = {
  cyrnel_run_queue_seconds: "Waiting for a slot",
  cyrnel_run_start_seconds: "Starting a run",
  cyrnel_run_duration_seconds: "Running",
  cyrnel_tool_call_duration_seconds: "Tool calls",
  cyrnel_tool_call_wait_seconds: "Waiting for approval",
  cyrnel_http_request_duration_seconds: "HTTP responses",
};

/**
 * Load over the last minutes in which this page was open, kept while other pages are shown. `at` is the browser's
 * time, in ms.
 */
const loadHistory = signal<readonly (EnvironmentReport["capacity"] & { at: number })[]>([]);
const HISTORY_MS = 120_000;
const MAX_SAMPLES = 240;

async function readReport(signal: AbortSignal): Promise<EnvironmentReport> {
  const report = await get("/environment", { signal });
  const at = Date.now();
  const recent = loadHistory.value.filter((sample) => at - sample.at <= HISTORY_MS);
  loadHistory.value = [...recent, { ...report.capacity, at }].slice(-MAX_SAMPLES);
  return report;
}

async function readMetrics(signal: AbortSignal) {
  const response = await fetchPath("/metrics", { signal });
  return readHistograms(await response.text(), Object.keys(HISTOGRAMS));
}

export default function SystemPage() {
  const report = useResource(readReport, [], LOAD_MS);
  const metrics = useResource(readMetrics, [], METRICS_MS);
  return (
    <>
      <PageHead title="System" about="Isolation of runs, and the load of this server." />
      <Settled>
        <Loaded resource={report}>{(data) => <Capacity report={data} />}</Loaded>
        <Failure error={metrics.error} />
        {metrics.data === null && metrics.error === null ? <Loading /> : null}
        <div class="figures">
          {Object.entries(HISTOGRAMS).map(([name, title]) => (
            <Card key={name} title={title}>
              <HistogramChart label={title} histogram={metrics.data?.get(name)} />
            </Card>
          ))}
        </div>
        <Replicas />
        {report.data === null ? null : <Isolation report={report.data} />}
      </Settled>
    </>
  );
}

function Capacity({ report: { environment, capacity, draining } }: { report: EnvironmentReport }) {
  const history = loadHistory.value;
  const shared = { times: history.map(({ at }) => at), spanMs: HISTORY_MS };
  const series = (of: "busy" | "queued" | "warm") => ({ [of]: history.map((sample) => sample[of]) });
  return (
    <>
      <Card title={environment.name} side={<a href={`#/modules/${environment.id}`}>Settings</a>}>
        <Facts
          facts={{
            Slots: capacity.slots ?? "unlimited",
            Busy: capacity.busy,
            Queued: capacity.queued,
            Warm: capacity.warm,
            "Memory of runs": formatBytes(capacity.memoryBytes),
            Draining: draining.map(({ id, runs }) => `${id}: ${runs}`).join(", ") || "none",
          }}
        />
      </Card>
      <div class="figures">
        <Card title="Slots and queue">
          <LineChart
            label="Slots and queue"
            series={{ ...series("busy"), ...series("queued") }}
            {...shared}
            most={capacity.slots ?? 1}
          />
        </Card>
        <Card title="Warm pool">
          <LineChart label="Warm pool" series={series("warm")} {...shared} />
        </Card>
      </div>
    </>
  );
}

const LEVELS: Record<string, { look: string; text: string }> = {
  strict: { look: "good", text: "All isolation layers are in force." },
  standard: {
    look: "wait",
    text: "All required layers are in force. Some optional layers are missing.",
  },
  development: { look: "bad", text: "For development only. Do not run untrusted scripts here." },
};

function Isolation({ report: { isolation } }: { report: EnvironmentReport }) {
  if (isolation === null) {
    return (
      <Card title="Isolation">
        <p>This environment has no isolation report.</p>
      </Card>
    );
  }
  const level = LEVELS[isolation.level];
  return (
    <Card title="Isolation" flush side={<span class={`chip ${level?.look ?? ""}`}>{isolation.level}</span>}>
      <p class="card-body muted">
        {level?.text} Node {isolation.nodeVersion}, {isolation.platform}, kernel {isolation.kernel}.
      </p>
      <Table
        columns={["Layer", "Evidence"]}
        rows={isolation.layers.map(({ layer, name, obtained, required, verified, fix }) => [
          <span key={layer} class="row">
            {obtained ? (
              <Icon name="circle-check" size={16} color="var(--good)" label="in force" />
            ) : (
              <Icon
                name="circle-x"
                size={16}
                color={required ? "var(--bad)" : "var(--wait)"}
                label="missing"
              />
            )}
            {layer} {name}
          </span>,
          <div key="known">
            {verified}
            {fix === undefined ? null : (
              <p>
                <strong>To enable it:</strong> {fix}
              </p>
            )}
          </div>,
        ])}
      />
    </Card>
  );
}
