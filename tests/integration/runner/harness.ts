/** Children for tests of the runner: the real one, and one that misbehaves on purpose. */
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeBootOptions } from "#runner/child/boot-options.ts";
import { CHILD_FLAGS } from "#runner/child/flags.ts";
import type { CallHandlers } from "#runner/host/calls/calls.ts";
import { listInheritedFds } from "#runner/isolation/process-launch.ts";
import { type Child, type ChildLaunch, spawnChild } from "#runner/pool/spawn.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import type { StartParams } from "#runner/wire/protocol.ts";
import { DEFAULT_SESSION_LIMITS } from "#runner/wire/protocol.ts";

const node = findNodeBinary();
const DIST = join(import.meta.dirname, "../../../dist/runner");
const HOSTILE = join(import.meta.dirname, "hostile-child.cjs");

const common = {
  nodePath: node.path,
  nodeVersion: node.version,
  cwd: tmpdir(),
  bootTimeoutMs: 20_000,
  ownLayers: [0, 1],
};

/** How the real child is started. */
export function launchReal(memoryMb = 128): ChildLaunch {
  const argument = encodeBootOptions({
    allowEval: false,
    allowWasm: false,
    closeFds: listInheritedFds(),
    lock: null,
  });
  return {
    ...common,
    args: [
      ...CHILD_FLAGS,
      `--allow-fs-read=${DIST}/`,
      `--max-old-space-size=${memoryMb}`,
      "--max-semi-space-size=8",
      join(DIST, "child.js"),
      argument,
    ],
  };
}

/** How a child is started that does `behaviour` of hostile-child.cjs. It has no wall at all. */
export function launchHostile(behaviour: string, changes: Partial<ChildLaunch> = {}): ChildLaunch {
  return { ...common, args: [HOSTILE, behaviour, JSON.stringify(listInheritedFds())], ...changes };
}

export function startReal(memoryMb?: number): Promise<Child> {
  return spawnChild(launchReal(memoryMb));
}

/** Processes that this one started and that run one of the two children, dying ones included. */
export function listChildren(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
        const command = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        // A process that is ending, or not yet reaped, has no command line any more.
        return Number(parent) === process.pid && (command === "" || /child\.(js|cjs)\0/.test(command));
      } catch {
        return false;
      }
    })
    .map(Number);
}

export function startParams(code: string): StartParams {
  const { maxConcurrentCalls, maxCalls, maxMessageBytes, maxStdoutBytes, maxStderrBytes } =
    DEFAULT_SESSION_LIMITS;
  return {
    code,
    mappings: "",
    process: { id: 1, ref: null },
    seed: Buffer.alloc(32, 7).toString("base64"),
    randomSeed: [1, 2, 3, 4],
    readsWideClocks: false,
    limits: {
      maxConcurrentCalls,
      maxCalls,
      maxMessageBytes,
      maxStdoutBytes,
      maxStderrBytes,
      maxOutputBytes: 4 * 1024 * 1024,
      maxResultBytes: 4 * 1024 * 1024,
    },
  };
}

const echo = async (params: unknown) => params;
/** Calls that answer with their own parameters. */
export const echoCalls: CallHandlers = {
  invoke: echo,
  discoverServices: echo,
  discoverTools: echo,
  getService: echo,
  getTool: echo,
  getToolDocs: echo,
  ask: echo,
  readFile: echo,
  writeFile: echo,
  removeFile: echo,
  copyFile: echo,
  resizeFile: echo,
};
