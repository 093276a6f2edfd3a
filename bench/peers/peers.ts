/**
 * `npm run bench -- --peers`: other ways to run a script beside Cyrnel, measured by the same program in the same
 * minutes: latency, rate, memory, and how many probes each stops. `--figures` and `--probes` do one half,
 * `--only=<name>,…` some peers.
 */
import { availableParallelism, cpus } from "node:os";
import { atLeast, formatCells, formatTable } from "../stats.ts";
import { type Attempts, makeAttempts } from "./attempts.ts";
import { installPackages } from "./fetch.ts";
import { type Figures, measure } from "./figures.ts";
import { corpusProbes } from "./probes/corpus-probes.ts";
import { openWorld, type PeerProbe, SECRET, type World } from "./probes/world.ts";
import { worldProbes } from "./probes/world-probes.ts";
import { PEERS, type Peer } from "./runners.ts";

interface Result {
  peer: Peer;
  packages?: string;
  figures?: Figures;
  attempts?: Attempts;
  missing?: string;
}

const CONTROLS_AT_ONCE = 2 * availableParallelism();
const PEERS_AT_ONCE = 2;
const MIN_RATE_OVER_DENO = 1.5;
const PROBES: readonly PeerProbe[] = [...worldProbes, ...corpusProbes];
const GROUPS = { world: "host", realm: "realm", time: "time", memory: "memory" };
const only = process.argv
  .find((argument) => argument.startsWith("--only="))
  ?.slice("--only=".length)
  .split(",");
const say = (text: string) => console.error(text);

async function inTurns<T>(items: readonly T[], atOnce: number, act: (item: T) => Promise<void>) {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of queue) await act(item);
    }),
  );
}

async function unlessMissing(result: Result, act: () => Promise<void>): Promise<void> {
  if (result.missing !== undefined) return;
  try {
    await act();
  } catch (error) {
    result.missing = (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
  }
}

const hostEnvironment = ({ packages = "" }: Result, world: World): Record<string, string> => ({
  SECRET,
  PEER_PACKAGES: packages,
  PEER_HIDDEN: world.facts().folder,
  HOME: process.env.HOME ?? "/",
  PATH: process.env.PATH ?? "",
});

/** Returns the probes whose attack works without a sandbox; the others prove nothing. */
async function checkControls(): Promise<PeerProbe[]> {
  const vain = new Set<PeerProbe>();
  await inTurns(PROBES, CONTROLS_AT_ONCE, async (probe) => {
    const seen = (await probe.control()) === null ? null : await probe.control();
    if (seen === null) return;
    vain.add(probe);
    say(`not counted, its control shows nothing: ${probe.id}: ${seen}`);
  });
  return PROBES.filter((probe) => !vain.has(probe));
}

function toRow(
  { peer, figures, attempts }: Result,
  probes: readonly PeerProbe[],
  groups: string[],
): string[] {
  const stopped = (made: readonly PeerProbe[]) =>
    attempts === undefined
      ? "–"
      : `${made.filter(({ id }) => !attempts.passed.has(id)).length}/${made.length}`;
  return [
    peer.title,
    ...(figures === undefined
      ? ["–", "–", "–", "–", "–"]
      : [
          `${figures.p50Ms.toFixed(1)} ms`,
          `${figures.p95Ms.toFixed(1)} ms`,
          figures.perSecond.toFixed(figures.perSecond < 10 ? 1 : 0),
          `${figures.idleMb.toFixed(0)} MiB`,
          `${figures.perRunMb.toFixed(1)} MiB`,
        ]),
    stopped(probes),
    ...groups.map((name) => stopped(probes.filter(({ group }) => group === name))),
  ];
}

const results: Result[] = PEERS.filter(({ name }) => only?.includes(name) ?? true).map((peer) => ({ peer }));
for (const result of results) {
  await unlessMissing(result, async () => {
    result.packages = await installPackages(result.peer.fetched === undefined ? [] : [result.peer.fetched]);
  });
}
if (!process.argv.includes("--probes")) {
  await using world = await openWorld();
  for (const result of results) {
    await unlessMissing(result, async () => {
      result.figures = await measure(result.peer, hostEnvironment(result, world));
      say(`${result.peer.name}: ${JSON.stringify(result.figures)}`);
    });
  }
}
const probes = process.argv.includes("--figures") ? [] : await checkControls();
if (probes.length > 0) {
  await inTurns(results, PEERS_AT_ONCE, (result) =>
    unlessMissing(result, async () => {
      const attempts = await makeAttempts(result.peer, probes, (world) => hostEnvironment(result, world));
      result.attempts = attempts;
      say(`${result.peer.name}: ${attempts.passed.size} of ${probes.length} not stopped`);
      for (const [id, harm] of attempts.passed) say(`  ${id}: ${harm}`);
    }),
  );
}

const groups = Object.keys(GROUPS).filter((name) => probes.some(({ group }) => group === name));
const head = ["", "p50", "p95", "runs/s", "memory, idle", "per run", "probes stopped"];
console.log(
  `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${process.platform} ${process.arch}\n`,
);
console.log(
  formatCells([
    [...head, ...groups.map((name) => GROUPS[name as PeerProbe["group"]])],
    ...results.map((result) => toRow(result, probes, groups)),
  ]),
);
for (const { peer, missing } of results) {
  const cause = missing === undefined ? "" : ` Not measured: ${missing}`;
  console.log(`- ${peer.title}: ${peer.setUp}. Not made for: ${peer.notMadeFor}.${cause}`);
}
const rateOf = (name: string) =>
  results.find(({ peer }) => peer.name === name)?.figures?.perSecond ?? Number.NaN;
const overDeno = rateOf("cyrnel-process") / rateOf("deno");
if (!Number.isNaN(overDeno)) {
  const shown = overDeno.toFixed(2);
  const row = atLeast("process runs, sustained / deno run", overDeno, MIN_RATE_OVER_DENO, shown);
  console.log(`\n${formatTable([row])}`);
  if (row.met === false) process.exitCode = 1;
}
