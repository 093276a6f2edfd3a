/** Starts the children of this environment: which binary, which flags, which directory, and the pool of warm ones. */
import { chmod, mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeBootOptions } from "#runner/child/boot-options.ts";
import { CHILD_FLAGS } from "#runner/child/flags.ts";
import { listInheritedFds } from "#runner/inherited-fds.ts";
import { findNodeBinary, type NodeBinary } from "#runner/node-binary.ts";
import { createPool, type Pool } from "#runner/pool.ts";
import { type Child, spawnChild } from "#runner/spawn.ts";
import type { ModuleLogger } from "#sdk";
import type { ProcessConfig } from "./config.ts";

const DIST = join(import.meta.dirname, "../../runner/dist");
const ENTRY = join(DIST, "child.js");
/** Generous: a machine that starts many at once is slow, and one that hangs must still be noticed. */
const BOOT_TIMEOUT_MS = 10_000;
const QUIET_MS = 10_000;

export interface Children extends AsyncDisposable {
  readonly node: NodeBinary;
  readonly pool: Pool;
  /** A child with another memory limit than the pool's; started for one run. Aborting the signal ends it. */
  startWith(memoryMb: number, signal: AbortSignal): Promise<Child>;
  /** Makes disposing wait until `child`, which is dying, has been reaped. */
  watchEnd(child: Child): void;
}

/** Makes the empty directory and the pool; nothing is started yet. Disposing ends every child and removes it. */
export async function openChildren(config: ProcessConfig, logger: ModuleLogger): Promise<Children> {
  await using undo = new AsyncDisposableStack();
  const node = findNodeBinary();
  const cwd = await mkdtemp(join(tmpdir(), `cyrnel-run-${process.pid}-`));
  undo.defer(() => rmdir(cwd));
  await chmod(cwd, 0o500);
  const argument = encodeBootOptions({
    allowEval: config.allowEval,
    allowWasm: config.allowWasm,
    closeFds: listInheritedFds(),
  });
  const startWith = (memoryMb: number, signal: AbortSignal) =>
    spawnChild(
      {
        nodePath: node.path,
        nodeVersion: node.version,
        args: [...CHILD_FLAGS, ...nodeFlags(memoryMb, config.allowWasm), ENTRY, argument],
        cwd,
        bootTimeoutMs: BOOT_TIMEOUT_MS,
      },
      signal,
    );
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
  return { node, pool, startWith, watchEnd, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function nodeFlags(memoryMb: number, allowWasm: boolean): string[] {
  return [
    // The bundle of the realm and its code cache are there; the permission is dropped before a script comes.
    `--allow-fs-read=${DIST}/`,
    // Reading the system's file would need a grant of its own under a jail, and nothing here uses it.
    "--openssl-config=/dev/null",
    `--max-old-space-size=${memoryMb}`,
    "--max-semi-space-size=8",
    // WebAssembly compiles in threads: without one, its promises never settle.
    ...(allowWasm ? ["--v8-pool-size=1"] : []),
  ];
}
