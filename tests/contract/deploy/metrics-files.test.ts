/**
 * The dashboard and the alert rules in deploy/: every expression parses, and every metric and label it names is on
 * `/metrics` of a real server.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { parser } from "@prometheus-io/lezer-promql";
import { load } from "js-yaml";
import { beforeAll, expect, test } from "vitest";
import { createMetrics } from "#api/observe/metrics.ts";
import { buildHttpApp } from "#tests/integration/harness/http-app.ts";

const DEPLOY = path.resolve(import.meta.dirname, "../../../deploy");
/** Put there by whoever scrapes. */
const TARGET_LABELS = ["job", "instance", "namespace", "pod"];
const VARIABLES: Record<string, string> = { $__rate_interval: "5m", $job: "a", $instance: "b" };

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}
interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string }[];
}

let rules: Rule[];
let panels: Panel[];
let adapter: { seriesQuery: string; name: { as: string } }[];
/** Names of labels by series. */
const series = new Map<string, Set<string>>();

beforeAll(async () => {
  const read = (file: string) => readFile(path.join(DEPLOY, file), "utf8");
  rules = (load(await read("prometheus/alerts.yaml")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
    (group) => group.rules,
  );
  panels = JSON.parse(await read("grafana/cyrnel.json")).panels;
  adapter = (load(await read("prometheus/adapter-rules.yaml")) as { rules: typeof adapter }).rules;
  for (const line of (await scrape()).split("\n").filter((text) => text !== "" && !text.startsWith("#"))) {
    const [, name = "", labels = ""] = /^([a-z_]+)(?:\{(.*)\})? /.exec(line) ?? [];
    const known = series.get(name) ?? new Set();
    for (const [, label = ""] of labels.matchAll(/([a-z_]+)="/g)) known.add(label);
    series.set(name, known);
  }
});

/** From a server on which every metric has a value. */
async function scrape(): Promise<string> {
  const metrics = createMetrics();
  const usage = { queuedMs: 1, startMs: 1, wallMs: 1, cpuMs: 1, peakMemoryBytes: 1, toolCalls: 1 };
  const artifacts = [{ name: "a", size: 1, sha256: "", contentType: "" }];
  metrics.runEnded({ id: 1, exitState: "failed", reason: "crashed", usage }, "e");
  metrics.filesLeft({ id: 1, artifacts, filesRefused: "quota" }, { startedBy: "anonymous" });
  metrics.callEnded({
    serviceId: "s",
    toolId: "t",
    caller: {},
    parameters: {},
    files: [],
    decision: null,
    outcome: "ok",
    code: null,
    httpStatus: null,
    durationMs: 1,
    waitedMs: 1,
  });
  metrics.fileUploaded("stored", 1);
  metrics.packageInstalled("done", 1);
  metrics.filesSwept("files", 1);
  const capacity = { slots: 1, busy: 0, queued: 0, warm: 1, memoryBytes: 1 };
  const layers = [{ layer: 0, name: "n", required: true, obtained: true, detail: "" }];
  const environment = {
    capacity,
    isolation: { level: "strict", layers },
    zygote: { ageMs: 1, forks: 1, renewals: 0, failures: 0 },
  };
  const app = await buildHttpApp({
    deps: {
      metrics: {
        ...metrics,
        register: (on, sources) =>
          metrics.register(on, {
            ...sources,
            stored: async () => ({ contents: 1, bytes: 1 }),
            packages: async () => ({ packages: 1, bytes: 1 }),
            objectStore: async () => true,
            disks: async () => [{ folder: "data", freeBytes: 1, sizeBytes: 1 }],
            environment: async () => environment as never,
            waiting: async () => ({ approvals: 1, oldestMs: 1, paused: 1 }),
            processes: () =>
              ({ active: 0, queued: 0, running: 0, slotsTaken: 0, unstored: 0, listeners: 0 }) as never,
          }),
      },
      database: { watch: { reachable: true }, ping: async () => {} },
    },
  });
  await app.inject({ method: "GET", url: "/health" });
  const answer = await app.inject({ method: "GET", url: "/metrics" });
  await app.close();
  expect(answer.statusCode).toBe(200);
  return answer.body;
}

const fill = (expr: string) =>
  Object.entries(VARIABLES).reduce((text, [name, value]) => text.replaceAll(name, value), expr);

/** Lists what is wrong with an expression: it does not parse, or it names a metric that no server exposes. */
function findProblems(expr: string): string[] {
  const text = fill(expr);
  const problems: string[] = [];
  const labelsAllowed = new Set(["le", ...TARGET_LABELS]);
  const named = [...text.matchAll(/\bcyrnel_[a-z0-9_]+/g)].map(([name]) => name);
  if (named.length === 0) problems.push("names no metric of ours");
  for (const name of named) {
    const labels = series.get(name);
    if (labels === undefined) problems.push(`unknown metric ${name}`);
    for (const label of labels ?? []) labelsAllowed.add(label);
  }
  parser.parse(text).iterate({
    enter(node) {
      const part = text.slice(node.from, node.to);
      if (node.type.isError) problems.push(`does not parse at ${node.from}: ${text}`);
      if (node.name === "LabelName" && !labelsAllowed.has(part)) problems.push(`unknown label ${part}`);
    },
  });
  return problems;
}

test("every alert has an expression that works, a severity and a summary", () => {
  expect(rules.length).toBeGreaterThan(8);
  for (const { alert, expr, labels, annotations } of rules) {
    expect([alert, findProblems(expr)]).toEqual([alert, []]);
    expect(["critical", "warning"]).toContain(labels.severity);
    expect(annotations.summary).toBeTruthy();
    expect(alert).toMatch(/^Cyrnel[A-Z]/);
  }
});

test("every panel of the dashboard has expressions that work, and a place of its own", () => {
  const withTargets = panels.filter(({ targets }) => targets !== undefined);
  expect(withTargets.length).toBeGreaterThan(15);
  for (const { title, targets = [] } of withTargets)
    for (const { expr } of targets) expect([title, findProblems(expr)]).toEqual([title, []]);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const taken = new Set<string>();
  for (const { title, gridPos } of panels) {
    expect([title, gridPos.x + gridPos.w <= 24]).toEqual([title, true]);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect([title, taken.has(`${x},${y}`)]).toEqual([title, false]);
        taken.add(`${x},${y}`);
      }
  }
});

test("what the autoscaler asks for is what the adapter serves and the server shows", () => {
  expect(adapter.map(({ name }) => name.as)).toEqual(["cyrnel_load_ratio"]);
  expect(series.has("cyrnel_load_ratio")).toBe(true);
  expect(findProblems(adapter[0]?.seriesQuery ?? "")).toEqual([]);
});

test("every metric of the server is on the dashboard", () => {
  const shown = JSON.stringify(panels);
  const names = new Set([...series.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, "")));
  expect([...names].filter((name) => !shown.includes(name))).toEqual([]);
});

test.each([
  ["sum(rate(cyrnel_runs_totl[5m]))", /unknown metric/],
  ["sum by (tenant) (rate(cyrnel_runs_total[5m]))", /unknown label tenant/],
  ["rate(cyrnel_runs_total[5m)", /does not parse/],
])("the check sees that %s is wrong", (expr, problem) => {
  expect(findProblems(expr).join()).toMatch(problem);
});

test("the page about operations says what to do about each alert", async () => {
  const page = await readFile(path.resolve(DEPLOY, "../docs/operations.md"), "utf8");
  expect(rules.map(({ alert }) => alert).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("the page about operations names every metric", async () => {
  const page = await readFile(path.resolve(DEPLOY, "../docs/operations.md"), "utf8");
  const names = new Set([...series.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, "")));
  expect([...names].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
