/** `--require`: names of layers and mechanisms, compared with the isolation report. */
import type { IsolationReport } from "#client/kernel/local-model.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";

/** Layers that must be obtained, by name. seccomp and Landlock are obtained together: the self-lock tries both. */
const LAYERS: Record<string, readonly number[]> = {
  realm: [0],
  permissions: [1],
  "birth-jail": [2],
  "self-lock": [3],
  seccomp: [2, 3],
  landlock: [2, 3],
  limits: [4],
  cgroup: [5],
  monitor: [6],
  descriptors: [7],
};
const LEVELS = ["development", "standard", "strict"];

/** @throws Failure for an unknown name */
export function checkNames(names: readonly string[]): void {
  const unknown = names.find((name) => LAYERS[name] === undefined && !LEVELS.includes(name));
  if (unknown === undefined) return;
  const known = [...LEVELS, ...Object.keys(LAYERS)].join(", ");
  throw usageFailure(`Unknown --require "${unknown}". Expected ${known}.`);
}

/** @throws Failure that names the first unmet requirement, and how to meet it */
export function requireIsolation(names: readonly string[], report: IsolationReport | null): void {
  if (names.length === 0) return;
  if (report === null) throw unavailable(names[0] ?? "", "the environment reports no isolation");
  for (const name of names) {
    if (LEVELS.includes(name)) {
      if (LEVELS.indexOf(report.level) >= LEVELS.indexOf(name)) continue;
      throw unavailable(name, `the level is ${report.level}`);
    }
    const missing = report.layers.find(({ layer, obtained }) => LAYERS[name]?.includes(layer) && !obtained);
    if (missing === undefined) continue;
    const fix = missing.fix === undefined ? "" : `. To enable it: ${missing.fix}`;
    throw unavailable(name, `layer ${missing.layer} (${missing.name}): ${missing.verified}${fix}`);
  }
}

function unavailable(name: string, why: string): Failure {
  return new Failure(
    "isolation_unavailable",
    `${name} was required and is not available: ${why}. Nothing was run.`,
    EXIT.isolation,
  );
}
