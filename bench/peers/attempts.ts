/** Makes every probe against one peer and records those that were not stopped. */
import { readResidentBytes } from "../tree.ts";
import { type Embedder, HostEnded, openEmbedder } from "./embedder.ts";
import { openWorld, type PeerProbe, SECRET, type World } from "./probes/world.ts";
import type { Peer } from "./runners.ts";

const MEMORY_MB = 64;
/**
 * Allows for a peer's own machinery beside a run's memory: a runtime, its young space, a burst before it is noticed.
 */
const MAX_GROWTH_BYTES = (MEMORY_MB + 256) * 2 ** 20;
const TIMEOUT_MS: Record<PeerProbe["group"], number> = {
  world: 8000,
  realm: 8000,
  time: 300,
  memory: 4000,
};
/** A peer that ends a run later than this has failed to enforce its limit. */
const GRACE_MS = 6000;
const WATCH_MS = 20;
const SAMPLE_MS = 30_000;

export interface Attempts {
  /** Describes the harm, by the id of a probe that was not stopped. */
  passed: Map<string, string>;
}

/** Opens the host again whenever a probe has ended it. */
export async function makeAttempts(
  peer: Peer,
  probes: readonly PeerProbe[],
  makeEnvironment: (world: World) => Record<string, string>,
): Promise<Attempts> {
  await using world = await openWorld();
  const passed = new Map<string, string>();
  const open = () => openEmbedder(peer, makeEnvironment(world));
  let embedder = await open();
  try {
    for (const probe of probes) {
      const harm = await attempt(embedder, probe, world);
      if (harm !== null) passed.set(probe.id, harm);
      const isUsable = embedder.isAlive && (await answers(embedder));
      if (isUsable) continue;
      if (harm === null) passed.set(probe.id, "the host was of no more use");
      embedder.kill();
      await embedder[Symbol.asyncDispose]();
      embedder = await open();
    }
  } finally {
    await embedder[Symbol.asyncDispose]();
  }
  return { passed };
}

/** Returns the harm, or null if the probe was stopped. */
async function attempt(embedder: Embedder, probe: PeerProbe, world: World): Promise<string | null> {
  const timeoutMs = TIMEOUT_MS[probe.group];
  const body = probe.script(world.facts(), embedder.pid);
  const before = readResidentBytes(embedder.pid);
  let growth = 0;
  const watch = setInterval(() => {
    growth = Math.max(growth, readResidentBytes(embedder.pid) - before);
    if (growth > MAX_GROWTH_BYTES) embedder.kill();
  }, WATCH_MS);
  let harm: string | null = null;
  try {
    const limits = { timeoutMs, memoryMb: MEMORY_MB };
    const value = await embedder.ask({ kind: "run", body, limits }, timeoutMs + GRACE_MS);
    if (JSON.stringify(value ?? null).includes(SECRET)) harm = "got the secret";
  } catch (error) {
    // The peer stopped a run that failed or was ended.
    if (error instanceof HostEnded) harm = error.message.split("\n")[0] ?? "";
  } finally {
    clearInterval(watch);
  }
  const damage = await world.findDamage();
  if (damage.length > 0) return damage.join(", ");
  if (growth > MAX_GROWTH_BYTES) return `took ${Math.round(growth / 2 ** 20)} MiB of ${MEMORY_MB}`;
  return harm;
}

async function answers(embedder: Embedder): Promise<boolean> {
  try {
    const limits = { timeoutMs: SAMPLE_MS, memoryMb: MEMORY_MB };
    return (await embedder.ask({ kind: "run", body: "return 1;", limits }, SAMPLE_MS)) === 1;
  } catch {
    return false;
  }
}
