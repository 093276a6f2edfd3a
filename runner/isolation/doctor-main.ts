/**
 * `node runner/isolation/doctor-main.ts [strict|standard|development]`: prints what isolates runs on this machine.
 * Exits with 1 if that is less than the requested level.
 */
import { ISOLATION_LEVELS, type IsolationLevel } from "#sdk";
import { type Diagnosis, diagnose } from "./doctor.ts";

const wanted = process.argv[2] ?? "strict";
if (ISOLATION_LEVELS.includes(wanted as IsolationLevel)) {
  const level = wanted as IsolationLevel;
  const diagnosis = await diagnose(level, true);
  process.stdout.write(format(level, diagnosis));
  process.exitCode = diagnosis.obtained === level ? 0 : 1;
} else {
  process.stderr.write(`Unknown level ${wanted}. Expected one of: ${ISOLATION_LEVELS.join(", ")}.\n`);
  process.exitCode = 2;
}

function format(
  level: IsolationLevel,
  { obtained, refusals, layers, processes, versions }: Diagnosis,
): string {
  const rows = layers.map((layer) => {
    const state = layer.obtained ? "there" : layer.required ? "MISSING" : "not there";
    const lines = [`${layer.layer} ${layer.name}: ${state}${layer.required ? ", required" : ""}`];
    lines.push(`    ${layer.verified}`);
    if (layer.fix !== undefined && !layer.obtained) lines.push(`    to have it: ${layer.fix}`);
    return lines.join("\n");
  });
  const facts = Object.entries(versions).map(([name, value]) => `${name}: ${value}`);
  const reasons = refusals.map(({ level: refused, reason }) => `${refused}: ${reason}`);
  const verdict =
    obtained === level
      ? `Isolation level ${level} is available.`
      : `Isolation level ${level} is not available; ${obtained ?? "none"} is.`;
  const made = processes === null ? [] : [`Processes of runs: ${processes}`, ""];
  return `${[...facts, "", ...rows, "", ...made, ...reasons, verdict].join("\n")}\n`;
}
