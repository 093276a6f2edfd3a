/** The children of this environment: the wall round them, their directory, and the pool of warm ones. */
import { chmod, mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWall, type Wall } from "#runner/isolation/wall.ts";
import { findNodeBinary, type NodeBinary } from "#runner/node-binary.ts";
import { createPool, type Pool } from "#runner/pool.ts";
import { PROCESS_READABLE, planProcessLaunch } from "#runner/process-launch.ts";
import { type Child, spawnChild } from "#runner/spawn.ts";
import type { IsolationLevel, ModuleLogger } from "#sdk";
import type { ProcessConfig } from "./config.ts";

const QUIET_MS = 10_000;

export interface Children extends AsyncDisposable {
  readonly node: NodeBinary;
  readonly pool: Pool;
  readonly wall: Wall;
  /** A child with another memory limit than the pool's; started for one run. Aborting the signal ends it. */
  startWith(memoryMb: number, signal: AbortSignal): Promise<Child>;
  /** Makes disposing wait until `child`, which is dying, has been reaped. */
  watchEnd(child: Child): void;
}

/**
 * Opens the wall and makes the empty directory and the pool; no child is started yet. Disposing ends every child and removes
 * it. Throws JailUnavailableError.
 */
export async function openChildren(
  config: ProcessConfig,
  level: IsolationLevel,
  logger: ModuleLogger,
): Promise<Children> {
  await using undo = new AsyncDisposableStack();
  const node = findNodeBinary();
  const cwd = await mkdtemp(join(tmpdir(), `cyrnel-run-${process.pid}-`));
  undo.defer(() => rmdir(cwd));
  await chmod(cwd, 0o500);
  const { paranoid } = config;
  const wall = undo.use(
    await openWall({ level, nodePath: node.path, readable: PROCESS_READABLE, cwd, paranoid }),
  );
  const plan = planProcessLaunch(node, wall, config, cwd);
  const startWith = (memoryMb: number, signal: AbortSignal) => spawnChild(plan(memoryMb), signal, wall.start);
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
    await Promise.all([...ending].map((child) => child.exited));
  });
  const owned = undo.move();
  const watchEnd = (child: Child) => {
    ending.add(child);
    void child.exited.then(() => ending.delete(child));
  };
  return { node, pool, wall, startWith, watchEnd, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
