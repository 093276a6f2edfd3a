/**
 * `npm run bench -- --peers`: Cyrnel beside what else runs a script, measured by the same program in the same minutes:
 * latency, rate, memory, and how many probes each stops. `--figures` and `--probes` do one half, `--only=<name>,…` some peers.
 */
import { availableParallelism, cpus } from "node:os";
import { atLeast, formatTable } from "../stats.ts";
import { makeAttempts } from "./attempts.ts";
import { PEERS, type Peer } from "./catalogue.ts";
import { type Fetched, fetchPeer } from "./fetch.ts";
import { type Figures, measure } from "./figures.ts";
import { corpusProbes } from "./probes/corpus-probes.ts";
import type { PeerProbe } from "./probes/probe.ts";
import { openWorld, SECRET, type World } from "./probes/world.ts";
import { worldProbes } from "./probes/world-probes.ts";

import { formatPeers, type PeerResult } from "./table.ts";

const CONTROLS_AT_ONCE = 2 * availableParallelism();
const PEERS_AT_ONCE = 2;
const MIN_RATE_OVER_DENO = 1.5;
const PROBES: readonly PeerProbe[] = [...worldProbes, ...corpusProbes];
const only = process.argv
  .find((argument) => argument.startsWith("--only="))
  ?.slice("--only=".length)
  .split(",");
const hasFigures = !process.argv.includes("--probes");
const hasProbes = !process.argv.includes("--figures");
const say = (text: string) => console.error(text);
const reasonOf = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";

async function inTurns<T>(
  items: readonly T[],
  atOnce: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of queue) await act(item);
    }),
  );
}

/** Of the host of a peer: the secret is in it, and what it takes to start the peer. */
function hostEnvironment(fetched: Fetched, world: World): Record<string, string> {
  const join = (own: string[], given: string | undefined) => [...own, ...(given ? [given] : [])].join(":");
  return {
    SECRET,
    PEER_PACKAGES: fetched.packages,
    PEER_HIDDEN: world.facts().folder,
    HOME: process.env.HOME ?? "/",
    PATH: join(fetched.path, process.env.PATH),
    LD_LIBRARY_PATH: join(fetched.libraries, process.env.LD_LIBRARY_PATH),
  };
}

/** The probes whose attack works where nothing stops it; the others say nothing and are not counted. */
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

const results: PeerResult[] = PEERS.filter(({ name }) => only === undefined || only.includes(name)).map(
  (peer) => ({
    peer,
  }),
);
const fetchedOf = new Map<Peer, Fetched>();
for (const result of results) {
  try {
    fetchedOf.set(result.peer, await fetchPeer(result.peer));
  } catch (error) {
    result.missing = reasonOf(error);
  }
}

if (hasFigures) {
  await using world = await openWorld();
  for (const result of results) {
    const fetched = fetchedOf.get(result.peer);
    if (fetched === undefined) continue;
    try {
      const figures: Figures = await measure(result.peer, hostEnvironment(fetched, world));
      result.figures = figures;
      say(`${result.peer.name}: ${JSON.stringify(figures)}`);
    } catch (error) {
      result.missing = reasonOf(error);
      fetchedOf.delete(result.peer);
    }
  }
}

let counted: readonly PeerProbe[] = [];
if (hasProbes) {
  counted = await checkControls();
  await inTurns(results, PEERS_AT_ONCE, async (result) => {
    const fetched = fetchedOf.get(result.peer);
    if (fetched === undefined) return;
    const startedAt = performance.now();
    try {
      const attempts = await makeAttempts(result.peer, counted, (world) => hostEnvironment(fetched, world));
      result.attempts = attempts;
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      say(`${result.peer.name}: ${attempts.passed.size} of ${attempts.made} not stopped (${seconds} s)`);
      for (const [id, harm] of attempts.passed) say(`  ${id}: ${harm}`);
    } catch (error) {
      result.missing = reasonOf(error);
    }
  });
}

console.log(
  `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${process.platform} ${process.arch}\n`,
);
console.log(formatPeers(results, counted));

const rateOf = (name: string) =>
  results.find(({ peer }) => peer.name === name)?.figures?.perSecond ?? Number.NaN;
const overDeno = rateOf("cyrnel-process") / rateOf("deno");
if (!Number.isNaN(overDeno)) {
  const shown = overDeno.toFixed(2);
  const row = atLeast("process runs, sustained / deno run", overDeno, MIN_RATE_OVER_DENO, shown);
  console.log(`\n${formatTable([row])}`);
  if (row.met === false) process.exitCode = 1;
}
