/** The comparison as Markdown: one row a peer, and below it how each was set up and what it was not made for. */
import type { Attempts } from "./attempts.ts";
import type { Peer } from "./catalogue.ts";
import type { Figures } from "./figures.ts";
import type { PeerProbe } from "./probes/probe.ts";

export interface PeerResult {
  peer: Peer;
  figures?: Figures;
  attempts?: Attempts;
  /** Why there are no figures. */
  missing?: string;
}

const GROUPS: Record<PeerProbe["group"], string> = {
  world: "host",
  realm: "realm",
  time: "time",
  memory: "memory",
};
const HEAD = ["", "p50", "p95", "runs/s", "memory, idle", "per run", "probes stopped"];

/** `counted`: the probes that were made on each. */
export function formatPeers(results: readonly PeerResult[], counted: readonly PeerProbe[]): string {
  const groups = Object.keys(GROUPS).filter((name) => counted.some(({ group }) => group === name));
  const head = [...HEAD, ...groups.map((name) => GROUPS[name as PeerProbe["group"]])];
  const cells = [head, ...results.map((result) => formatRow(result, counted, groups))];
  const widths = head.map((_, column) => Math.max(...cells.map((line) => (line[column] ?? "").length)));
  const lines = cells.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`,
  );
  lines.splice(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  const notes = results.map(
    ({ peer, missing }) =>
      `- ${peer.title}: ${peer.setUp}. Not made for: ${peer.notMadeFor}.${missing ? ` Not measured: ${missing}` : ""}`,
  );
  return `${lines.join("\n")}\n\n${notes.join("\n")}`;
}

function formatRow(
  { peer, figures, attempts }: PeerResult,
  counted: readonly PeerProbe[],
  groups: readonly string[],
): string[] {
  const shown = figures
    ? [
        `${figures.p50Ms.toFixed(1)} ms`,
        `${figures.p95Ms.toFixed(1)} ms`,
        figures.perSecond.toFixed(figures.perSecond < 10 ? 1 : 0),
        `${figures.idleMb.toFixed(0)} MiB`,
        `${figures.perRunMb.toFixed(1)} MiB`,
      ]
    : ["–", "–", "–", "–", "–"];
  const stopped = (probes: readonly PeerProbe[]) =>
    attempts === undefined
      ? "–"
      : `${probes.filter(({ id }) => !attempts.passed.has(id)).length}/${probes.length}`;
  return [
    peer.title,
    ...shown,
    stopped(counted),
    ...groups.map((name) => stopped(counted.filter(({ group }) => group === name))),
  ];
}
