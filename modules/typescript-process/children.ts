/** The children of this environment: what they are started on (the binary, an empty directory and the wall), and the pool of warm ones. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createPool, type Pool } from "#runner/host/pool.ts";
import { openWall, type Wall, type WallOptions } from "#runner/isolation/wall.ts";
import { findNodeBinary, type NodeBinary } from "#runner/process/node-binary.ts";
import { planProcessLaunch } from "#runner/process/process-launch.ts";
import { trackProcesses } from "#runner/process/process-memory.ts";
import { type Child, spawnChild } from "#runner/process/spawn.ts";
import { openEmptyFolder } from "#runner/process/temporary.ts";
import type { ModuleLogger } from "#sdk";
import type { ProcessConfig } from "./config.ts";

const QUIET_MS = 10_000;
/** What a child is made of. */
const BUILT = ["child.js", "realm.bin"];

export interface ChildrenOptions extends Required<Pick<WallOptions, "level" | "test" | "isExposed">> {
  /** Holds the build of the child. */
  folder: string;
}

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

/**
 * Opens the wall and makes the pool; no child is started yet. Disposing ends every child and removes the directory.
 * @throws JailUnavailableError, or an Error where the build is missing.
 */
export async function openChildren(
  { folder, ...options }: ChildrenOptions,
  config: ProcessConfig,
  logger: ModuleLogger,
): Promise<Children> {
  const missing = BUILT.find((file) => !existsSync(join(folder, file)));
  if (missing !== undefined) throw new Error(`${join(folder, missing)} is missing: run \`npm run build\`.`);
  await using undo = new AsyncDisposableStack();
  const node = findNodeBinary();
  const { path: cwd } = undo.use(await openEmptyFolder("run"));
  const { paranoid } = config;
  const wall = undo.use(
    await openWall({ ...options, nodePath: node.path, readable: [folder], cwd, paranoid }),
  );
  const tracked = trackProcesses(wall.start);
  const plan = planProcessLaunch(node, wall, config, cwd, folder);
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
