/** The default environment: each run gets its own locked-down Node process from a pool of warm ones. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type BundledEnvironment, type Children, createEnvironment } from "#runner/host/environment.ts";
import { PROCESS_OBSERVED, planProcessLaunch } from "#runner/isolation/process-launch.ts";
import { openWall, type WallOptions } from "#runner/isolation/wall.ts";
import { DIST, ZYGOTE_FOLDER } from "#runner/paths.ts";
import { Pool } from "#runner/pool/pool.ts";
import { spawnChild } from "#runner/pool/spawn.ts";
import { keepZygoteClasses } from "#runner/pool/zygote.ts";
import { createMonitor, trackProcesses } from "#runner/process/monitor.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import type { StartProcess } from "#runner/process/start-process.ts";
import { openEmptyFolder } from "#runner/process/temporary.ts";
import type { ModuleLogger } from "#sdk";
import { type ProcessConfig, readConfig } from "./config.ts";

const QUIET_MS = 10_000;
/** Files that a child needs from the build. */
const BUILT = ["child.js", "realm.bin"];

/** `folder` contains a build of the child; `test` says how the jail is tested, see WallOptions. */
export function createProcessEnvironment(
  folder: string = DIST,
  { test = "apart" }: Pick<WallOptions, "test"> = {},
): BundledEnvironment {
  return createEnvironment<ProcessConfig>({
    facts: {
      id: "typescript-process",
      name: "TypeScript in a process",
      isolation:
        "every run gets a Node process of its own that never ran anything else, without permissions, without an environment and without files; the process is ended with the run.",
    },
    observed: PROCESS_OBSERVED,
    unit: "process",
    readConfig,
    countSlots: (config) => config.maxConcurrency,
    open: (config, asked, logger) => openChildren({ ...asked, folder, test }, config, logger),
  });
}

export async function openChildren(
  {
    folder,
    zygote,
    ...options
  }: Required<Pick<WallOptions, "level" | "test" | "isExposed">> & { folder: string; zygote: boolean },
  config: ProcessConfig,
  logger: ModuleLogger,
): Promise<Children> {
  const missing = BUILT.find((file) => !existsSync(join(folder, file)));
  if (missing !== undefined) throw new Error(`${join(folder, missing)} is missing: run \`npm run build\`.`);
  await using undo = new AsyncDisposableStack();
  const monitor = undo.use(createMonitor());
  const node = findNodeBinary();
  const { path: cwd } = undo.use(await openEmptyFolder("run"));
  const { paranoid } = config;
  const wall = undo.use(
    await openWall({ ...options, nodePath: node.path, readable: [folder], cwd, paranoid }),
  );
  const { start, track, readMemoryBytes } = trackProcesses(wall.start);
  const plan = planProcessLaunch(node, wall, config, cwd, folder);
  const { startZygote } = wall;
  const zygotes =
    zygote && startZygote !== null && !config.allowWasm && existsSync(join(folder, ZYGOTE_FOLDER))
      ? undo.use(
          keepZygoteClasses(config.memoryMb, (memoryMb) => plan(memoryMb, "zygote"), {
            startZygote: async (program) => track(await startZygote(program)),
            boot: start,
            onSuspected: () => pool.replaceIdle(),
            onError: (error) => logger.warn({ err: error }, error.message),
          }),
        )
      : null;
  const startWith = (memoryMb: number): StartProcess => {
    const startOne = zygotes?.start(memoryMb) ?? wall.start;
    return async (program) => track(await startOne(program));
  };
  const pool: Pool = undo.use(
    new Pool({
      start: (signal, memoryMb = config.memoryMb) => spawnChild(plan(memoryMb), signal, startWith(memoryMb)),
      isReused: false,
      ...config.warmPool,
      quietMs: QUIET_MS,
      onError: ({ kind, error }) => logger.warn({ err: error, kind }, error.message),
    }),
  );
  const owned = undo.move();
  return {
    node,
    pool,
    monitor,
    wall,
    readMemoryBytes,
    onSuspectedEscape: () => zygotes?.replaceSuspected(),
    readZygote: zygotes === null ? () => null : zygotes.status,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
