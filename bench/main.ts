/**
 * `npm run bench [-- name] [arguments]`: starts one benchmark, by default the first; `--list` prints their names. The
 * header of each file describes its measurement and arguments.
 */
import { spawnSync } from "node:child_process";
import path from "node:path";

const BENCHES: Record<string, { file: string; says: string }> = {
  runs: { file: "runs/runs.ts", says: "cost of a run, as ratios to a bare spawn; then search" },
  costs: { file: "runs/costs.ts", says: "CPU time of a run, by the process that spends it" },
  idle: { file: "runs/idle.ts", says: "memory of an idle server, by process" },
  jail: { file: "runs/jail.ts", says: "what the jail adds to a child and to a run" },
  calls: { file: "tools/calls.ts", says: "what a tool call adds to its request" },
  search: { file: "tools/search.ts", says: "how often plain questions find the right tool" },
  peers: { file: "peers/peers.ts", says: "other sandboxes beside Cyrnel: speed, memory, probes stopped" },
  attacks: { file: "attacks/attacks.ts", says: "what one key's attacks cost the server and another key" },
  truth: {
    file: "truth/truth.ts",
    says: "slightly wrong scripts, here and on peers: right, loud, silently wrong",
  },
};

const args = process.argv.slice(2);
const [first = "runs"] = args;
const isNamed = !first.startsWith("--") || first === "--peers";
const name = isNamed ? first.replace(/^--/, "") : "runs";
const bench = BENCHES[name];
if (first === "--list" || bench === undefined) {
  if (first !== "--list") process.stderr.write(`There is no benchmark ${first}. Choose one of:\n`);
  for (const [known, { says }] of Object.entries(BENCHES)) console.log(`${known.padEnd(8)} ${says}`);
  process.exitCode = first === "--list" ? 0 : 2;
} else {
  const program = path.join(import.meta.dirname, bench.file);
  const { status } = spawnSync(process.execPath, [program, ...args.slice(isNamed ? 1 : 0)], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}
