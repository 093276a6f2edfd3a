/**
 * `npm run bench [-- name] [arguments]`: starts one measurement of the table below, the first without a name; `--list`
 * prints the table. What each measures, prints and takes as arguments is in the header of its file.
 */
import { spawnSync } from "node:child_process";
import path from "node:path";

const BENCHES: Record<string, { file: string; says: string }> = {
  runs: {
    file: "runs/runs.ts",
    says: "what a run costs, as ratios to a bare spawn; then the search over tools",
  },
  costs: { file: "runs/costs.ts", says: "what a run costs of CPU time, by the process that spends it" },
  idle: { file: "runs/idle.ts", says: "what an idle server takes of memory, by process" },
  peers: {
    file: "peers/peers.ts",
    says: "what else runs a script, beside Cyrnel, and the probes that each stops",
  },
  jail: { file: "runs/jail.ts", says: "what the jail costs a child" },
  forks: { file: "runs/forks.ts", says: "many forks from zygotes, none bad, and the memory of idle ones" },
  files: { file: "runs/files.ts", says: "what files cost a run: bytes in and out, memory, many, lines" },
  packages: { file: "runs/packages.ts", says: "what packages cost a warm run, over one without" },
  popular: { file: "tools/popular-packages.ts", says: "how many of 100 popular packages can be used" },
  truth: {
    file: "truth/truth.ts",
    says: "slightly wrong scripts, here and on peers: right, loud, silently wrong",
  },
  walls: { file: "runs/walls.ts", says: "how far runaways get beyond their limits" },
  command: { file: "runs/command.ts", says: "cyrnel --help and local runs beside a bare node" },
  approvals: { file: "runs/approvals.ts", says: "what asking a person costs" },
  calls: { file: "tools/calls.ts", says: "what a tool call costs on top of its request" },
  fetch: { file: "tools/fetch.ts", says: "what a request by a rule of the adapter http adds to it" },
  egress: { file: "tools/egress.ts", says: "what the guarded fetch adds to a request" },
  policies: { file: "tools/policies.ts", says: "what roles and policies add to a call" },
  redaction: { file: "tools/redaction.ts", says: "what replacing secrets costs" },
  search: { file: "tools/search.ts", says: "how often plain questions find the right tool" },
  install: { file: "tools/install.ts", says: "what installing a large OpenAPI document costs a server" },
  openapi: { file: "tools/openapi-documents.ts", says: "real OpenAPI documents, every operation called" },
  "openapi-install": { file: "tools/openapi-install.ts", says: "what reading a large description costs" },
  across: { file: "faults/across.ts", says: "how soon a full server's process runs on another one" },
  readiness: { file: "faults/readiness.ts", says: "how soon /health/ready says what changed" },
  faults: { file: "faults/faults.ts", says: "what faults leave behind" },
  fuzz: { file: "faults/fuzz.ts", says: "a hostile child against the host, a million messages" },
  interleavings: { file: "faults/interleavings.ts", says: "approvals in every order of their steps" },
  queue: { file: "queue/queue.ts", says: "what queueing a process costs, beside graphile-worker" },
  growth: { file: "growth/growth.ts", says: "the statements over a database as it fills" },
  attacks: { file: "attacks/attacks.ts", says: "what one key's attacks cost the server and another key" },
  soak: { file: "soak/soak.ts", says: "20,000 runs, and what the server holds afterwards" },
};

const args = process.argv.slice(2);
const [first = "runs"] = args;
const isNamed = !first.startsWith("--") || first === "--peers";
const name = isNamed ? first.replace(/^--/, "") : "runs";
const bench = BENCHES[name];
if (first === "--list" || bench === undefined) {
  if (first !== "--list") process.stderr.write(`No measurement is called ${first}. There are:\n`);
  for (const [known, { says }] of Object.entries(BENCHES)) console.log(`${known.padEnd(16)} ${says}`);
  process.exitCode = first === "--list" ? 0 : 2;
} else {
  const program = path.join(import.meta.dirname, bench.file);
  const { status } = spawnSync(process.execPath, [program, ...args.slice(isNamed ? 1 : 0)], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}
