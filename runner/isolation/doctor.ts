/**
 * Determines this machine's isolation like an environment does, but without a server: for operators whose level was
 * rejected, or before the first start.
 */
import { release } from "node:os";
import { ISOLATION_LEVELS, type IsolationLayer, type IsolationLevel } from "#sdk";
import { spawnChild } from "../pool/spawn.ts";
import { keepZygotes } from "../pool/zygote.ts";
import { createMonitor } from "../process/monitor.ts";
import { findNodeBinary } from "../process/node-binary.ts";
import { openEmptyFolder } from "../process/temporary.ts";
import {
  PROCESS_OBSERVED,
  PROCESS_READABLE,
  type ProcessLaunch,
  planProcessLaunch,
} from "./process-launch.ts";
import { listLayers, REQUIRED_LAYERS } from "./report.ts";
import { openWall, type Wall } from "./wall.ts";

export interface Diagnosis {
  /** Strongest level that works, at most the requested one. Null if not even `development` works. */
  obtained: IsolationLevel | null;
  refusals: { level: IsolationLevel; reason: string }[];
  /** Layers observed at `obtained`, with the requirements of the requested level. */
  layers: IsolationLayer[];
  /** One sentence about where run processes come from at `obtained`, or null without a level. */
  processes: string | null;
  versions: Record<string, string>;
}

const TEST_MEMORY_MB = 64;

/** Tries the level, then lower ones until one works. Starts a few children per level and ends them. */
export async function diagnose(level: IsolationLevel, zygote: boolean): Promise<Diagnosis> {
  const refusals: Diagnosis["refusals"] = [];
  const node = findNodeBinary();
  const versions = {
    "Node of the server": process.version,
    "Node of runs": `${node.version} (${node.isPinned ? "pinned" : "not the pinned one"})`,
    platform: `${process.platform}-${process.arch}`,
    kernel: release(),
  };
  for (const candidate of ISOLATION_LEVELS.slice(ISOLATION_LEVELS.indexOf(level))) {
    try {
      const { layers: seen, processes } = await examine(candidate, zygote);
      const missing = seen.find(
        (layer) => REQUIRED_LAYERS[candidate].includes(layer.layer) && !layer.obtained,
      );
      if (missing !== undefined) throw new Error(`layer ${missing.layer}: ${missing.verified}`);
      const layers = seen.map((layer) => ({
        ...layer,
        required: REQUIRED_LAYERS[level].includes(layer.layer),
      }));
      return { obtained: candidate, refusals, layers, processes, versions };
    } catch (error) {
      refusals.push({ level: candidate, reason: (error as Error).message });
    }
  }
  return { obtained: null, refusals, layers: [], processes: null, versions };
}

async function examine(level: IsolationLevel, zygote: boolean) {
  await using undo = new AsyncDisposableStack();
  const node = findNodeBinary();
  const { path: cwd } = undo.use(await openEmptyFolder("doctor"));
  const wall = undo.use(
    await openWall({ level, nodePath: node.path, readable: PROCESS_READABLE, cwd, paranoid: false }),
  );
  using monitor = createMonitor();
  const settings = { allowEval: false, allowWasm: false, paranoid: false };
  const plan = planProcessLaunch(node, wall, settings, cwd);
  const first = await spawnChild(plan(TEST_MEMORY_MB), undefined, wall.start);
  undo.defer(async () => {
    first.kill();
    first.channel.close();
    await first.exited;
  });
  const isMonitored = monitor.isSupported;
  const layers = listLayers({ wall, node, first, isMonitored, observed: PROCESS_OBSERVED });
  return { layers, processes: zygote ? await tryFork(wall, plan) : "Each boots: CYRNEL_ZYGOTE is off." };
}

async function tryFork(wall: Wall, plan: ProcessLaunch): Promise<string> {
  if (wall.startZygote === null)
    return "Each boots: what they could be forked from needs level strict or seccomp.";
  let trouble = "";
  await using zygotes = keepZygotes({
    launch: plan(TEST_MEMORY_MB, "zygote"),
    startZygote: wall.startZygote,
    boot: wall.start,
    onError: ({ message }) => {
      trouble = message;
    },
  });
  const fork = await spawnChild(plan(TEST_MEMORY_MB), undefined, zygotes.start);
  fork.kill();
  fork.channel.close();
  await fork.exited;
  return zygotes.status() === null
    ? `Each boots: ${trouble}`
    : "Each is forked from a prepared one, the zygote; seen of one.";
}
