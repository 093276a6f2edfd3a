/** The server itself: its wall, its load, how long things take, who shares the work. */

import { CyrnelError, unwrap } from "#client/errors.ts";
import { Card, Facts, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { formatBytes } from "../parts/format.ts";
import { CircleCheck, CircleX } from "../parts/icons.tsx";
import { Settled } from "../parts/settled.tsx";
import { client, type EnvironmentReport, fetchPath } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { HistogramChart, LineChart } from "./charts.tsx";
import { HISTORY_MS, loadHistory, noteLoad } from "./load-history.ts";
import { readHistograms } from "./metrics.ts";
import { Replicas } from "./replicas.tsx";

const LOAD_MS = 1000;
const METRICS_MS = 5000;

const HISTOGRAMS = [
  ["cyrnel_run_queue_seconds", "Waiting for a slot"],
  ["cyrnel_run_start_seconds", "Starting a run"],
  ["cyrnel_run_duration_seconds", "Running"],
  ["cyrnel_tool_call_duration_seconds", "Tool calls"],
  ["cyrnel_tool_call_wait_seconds", "Waiting for a person"],
  ["cyrnel_http_request_duration_seconds", "HTTP answers"],
] as const;

async function readMetrics(signal: AbortSignal) {
  const response = await fetchPath("/metrics", { signal });
  if (!response.ok) throw new CyrnelError(response, await response.json().catch(() => null));
  return readHistograms(
    await response.text(),
    HISTOGRAMS.map(([name]) => name),
  );
}

export default function SystemPage() {
  const { data, error, reload } = useResource(
    async (signal) => {
      const report = unwrap(await client.value.GET("/environment", { signal }));
      noteLoad(report);
      return report;
    },
    [],
    LOAD_MS,
  );
  const metrics = useResource(readMetrics, [], METRICS_MS);
  return (
    <>
      <PageHead title="System" about="What stands round every run, and how busy this server is." />
      <Settled>
        <Failure error={error} retry={reload} />
        {data === null ? error === null ? <Loading /> : null : <Capacity report={data} />}
        <Failure error={metrics.error} />
        {metrics.data === null && metrics.error === null ? <Loading /> : null}
        <div class="figures">
          {HISTOGRAMS.map(([name, title]) => (
            <Card key={name} title={title}>
              <HistogramChart label={title} histogram={metrics.data?.get(name)} />
            </Card>
          ))}
        </div>
        <Replicas />
        {data === null ? null : <Isolation report={data} />}
      </Settled>
    </>
  );
}

function Capacity({ report }: { report: EnvironmentReport }) {
  const { environment, capacity, draining } = report;
  const history = loadHistory.value;
  const times = history.map(({ at }) => at);
  const series = (name: string, of: "busy" | "queued" | "warm") => ({
    name,
    values: history.map((sample) => sample[of]),
  });
  return (
    <>
      <Card title={environment.name} side={<a href={`#/modules/${environment.id}`}>Settings</a>}>
        <Facts
          facts={[
            ["Slots", capacity.slots ?? "unlimited"],
            ["Busy", capacity.busy],
            ["Queued", capacity.queued],
            ["Warm", capacity.warm],
            ["Memory of children", formatBytes(capacity.memoryBytes)],
            [
              "Draining",
              draining.length === 0 ? "none" : draining.map(({ id, runs }) => `${id}: ${runs}`).join(", "),
            ],
          ]}
        />
      </Card>
      <div class="figures">
        <Card title="Slots and queue">
          <LineChart
            label="Slots and queue"
            series={[series("busy", "busy"), series("queued", "queued")]}
            times={times}
            spanMs={HISTORY_MS}
            most={capacity.slots ?? 1}
          />
        </Card>
        <Card title="Warm pool">
          <LineChart label="Warm pool" series={[series("warm", "warm")]} times={times} spanMs={HISTORY_MS} />
        </Card>
      </div>
    </>
  );
}

const LEVELS: Record<string, { look: string; text: string }> = {
  strict: { look: "good", text: "Every layer that this server can ask for stands." },
  standard: { look: "wait", text: "The required layers stand; some that would add to them are missing." },
  development: { look: "bad", text: "For development only: do not run scripts of others here." },
};

function Isolation({ report: { isolation } }: { report: EnvironmentReport }) {
  if (isolation === null) {
    return (
      <Card title="Isolation">
        <p>This environment gives no report.</p>
      </Card>
    );
  }
  const level = LEVELS[isolation.level];
  return (
    <Card title="Isolation" flush side={<span class={`chip ${level?.look ?? ""}`}>{isolation.level}</span>}>
      <p class="card-body muted">
        {level?.text} Node {isolation.nodeVersion}, {isolation.platform}, kernel {isolation.kernel}.
      </p>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Layer</th>
            <th scope="col">How the server knows</th>
          </tr>
        </thead>
        <tbody>
          {isolation.layers.map((layer) => (
            <tr key={layer.layer}>
              <th scope="row" class="fit">
                <span class="row">
                  {layer.obtained ? (
                    <CircleCheck size={16} color="var(--good)" label="stands" />
                  ) : (
                    <CircleX
                      size={16}
                      color={layer.required ? "var(--bad)" : "var(--wait)"}
                      label="missing"
                    />
                  )}
                  {layer.layer} {layer.name}
                </span>
              </th>
              <td>
                {layer.verified}
                {layer.fix === undefined ? null : (
                  <p>
                    <strong>To have it:</strong> {layer.fix}
                  </p>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
