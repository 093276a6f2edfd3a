/** The children of this environment: the ground they are started on, and the pool of warm ones. */
import type { Wall } from "#runner/isolation/wall.ts";
import type { NodeBinary } from "#runner/node-binary.ts";
import { createPool, type Pool } from "#runner/pool.ts";
import { planProcessLaunch } from "#runner/process-launch.ts";
import { trackProcesses } from "#runner/process-memory.ts";
import { type Child, spawnChild } from "#runner/spawn.ts";
import type { ModuleLogger } from "#sdk";
import type { ProcessConfig } from "./config.ts";
import type { Ground } from "./ground.ts";

const QUIET_MS = 10_000;

export interface Children extends AsyncDisposable {
  readonly node: NodeBinary;
  readonly pool: Pool;
  readonly wall: Wall;
  /** Own memory of all of them; undefined where it cannot be read. */
  readMemoryBytes(): number | undefined;
  /** A child with another memory limit than the pool's; started for one run. Aborting the signal ends it. */
  startWith(memoryMb: number, signal: AbortSignal): Promise<Child>;
  /** Makes disposing wait until `child`, which is dying, has been reaped. */
  watchEnd(child: Child): void;
}

/** Makes the pool on a ground that it then owns; no child is started yet. Disposing ends every child. `folder` holds the build of the child. */
export async function openChildren(
  ground: Ground,
  config: ProcessConfig,
  logger: ModuleLogger,
  folder: string,
): Promise<Children> {
  await using undo = new AsyncDisposableStack();
  const { node, wall, cwd } = undo.use(ground);
  const tracked = trackProcesses(ground.start);
  const plan = planProcessLaunch(node, wall, config, cwd, folder, ground.closeFds);
  const startWith = (memoryMb: number, signal: AbortSignal) =>
    spawnChild(plan(memoryMb), signal, tracked.start);
  const pool = undo.use(
    createPool({
      start: (signal) => startWith(config.memoryMb, signal),
      ...config.warmPool,
      quietMs: QUIET_MS,
      onTrouble: ({ kind, error }) => logger.warn({ err: error, kind }, error.message),
    }),
  );
  const ending = new Set<Child>();
  undo.defer(async () => {
    for (const child of ending) child.kill();
    await Promise.all([...ending].map((child) => child.exited));
  });
  const owned = undo.move();
  const watchEnd = (child: Child) => {
    ending.add(child);
    void child.exited.then(() => ending.delete(child));
  };
  const { readMemoryBytes } = tracked;
  const dispose = () => owned.disposeAsync();
  return { node, pool, wall, startWith, watchEnd, readMemoryBytes, [Symbol.asyncDispose]: dispose };
}
