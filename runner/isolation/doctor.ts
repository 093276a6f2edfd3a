/**
 * Which isolation this machine offers, found as an environment finds it but without a server: for operators who were
 * refused a level, or want to know before the first start.
 */
import { release } from "node:os";
import { ISOLATION_LEVELS, type IsolationLayer, type IsolationLevel } from "#sdk";
import { createMonitor } from "../process/monitor.ts";
import { findNodeBinary } from "../process/node-binary.ts";
import { PROCESS_OBSERVED, PROCESS_READABLE, planProcessLaunch } from "../process/process-launch.ts";
import { spawnChild } from "../process/spawn.ts";
import { openEmptyFolder } from "../process/temporary.ts";
import { listLayers, REQUIRED_LAYERS } from "./report.ts";
import { openWall } from "./wall.ts";

export interface Diagnosis {
  /** The strongest level that holds, at most the one asked for; null: not even `development`. */
  obtained: IsolationLevel | null;
  /** Why the levels above it do not, strongest first. */
  refusals: { level: IsolationLevel; reason: string }[];
  /** As seen at `obtained`, with what the level asked for requires. */
  layers: IsolationLayer[];
  /** By name, for a report of a problem. */
  versions: Record<string, string>;
}

const TEST_MEMORY_MB = 64;

/** Tries the level, then the lower ones until one holds. Starts two children per level; ends everything it starts. */
export async function diagnose(level: IsolationLevel): Promise<Diagnosis> {
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
      const seen = await examine(candidate);
      const missing = seen.find(
        (layer) => REQUIRED_LAYERS[candidate].includes(layer.layer) && !layer.obtained,
      );
      if (missing !== undefined) throw new Error(`layer ${missing.layer}: ${missing.verified}`);
      const layers = seen.map((layer) => ({
        ...layer,
        required: REQUIRED_LAYERS[level].includes(layer.layer),
      }));
      return { obtained: candidate, refusals, layers, versions };
    } catch (error) {
      refusals.push({ level: candidate, reason: (error as Error).message });
    }
  }
  return { obtained: null, refusals, layers: [], versions };
}

/** Opens the level as the process environment does, and looks at one child. */
async function examine(level: IsolationLevel) {
  await using undo = new AsyncDisposableStack();
  const node = findNodeBinary();
  const { path: cwd } = undo.use(await openEmptyFolder("doctor"));
  const wall = undo.use(
    await openWall({ level, nodePath: node.path, readable: PROCESS_READABLE, cwd, paranoid: false }),
  );
  using monitor = createMonitor();
  const settings = { allowEval: false, allowWasm: false, paranoid: false };
  const launch = planProcessLaunch(node, wall, settings, cwd)(TEST_MEMORY_MB);
  const first = await spawnChild(launch, undefined, wall.start);
  undo.defer(async () => {
    first.kill();
    first.channel.close();
    await first.exited;
  });
  return listLayers({ wall, node, first, isMonitored: monitor.isSupported, observed: PROCESS_OBSERVED });
}
