import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { encodeBootOptions } from "../child/boot-options.ts";
import { CHILD_FLAGS, ZYGOTE_V8_FLAGS } from "../child/flags.ts";
import { DIST, ZYGOTE_FOLDER } from "../paths.ts";
import type { ChildLaunch } from "../pool/spawn.ts";
import { toGroupBudget, toKernelBudget } from "../process/monitor.ts";
import type { NodeBinary } from "../process/node-binary.ts";
import type { Wall } from "./wall.ts";

/** Build folder, which a child may read while booting. */
export const PROCESS_READABLE = [DIST];

/** Evidence for layers 0 and 1 in the report, provided by the first child. */
export const PROCESS_OBSERVED = {
  realm: "a child made the script's context and said so",
  permissions: "a child gave up every permission, asked for each again and was refused",
};

export interface ProcessSettings {
  allowEval: boolean;
  allowWasm: boolean;
  paranoid: boolean;
}

/** Generous, because a machine that starts many children at once is slow; still detects a child that hangs. */
export const BOOT_TIMEOUT_MS = 10_000;

export type ProcessLaunch = (memoryMb: number, as?: "child" | "zygote") => ChildLaunch;

/** `cwd` is an empty directory; `folder` holds a build of the child. */
export function planProcessLaunch(
  node: NodeBinary,
  wall: Wall,
  { allowEval, allowWasm, paranoid }: ProcessSettings,
  cwd: string,
  folder: string = DIST,
): ProcessLaunch {
  const closeFds = listInheritedFds();
  const { lock, attacks } = wall;
  return (memoryMb, as = "child") => {
    const isZygote = as === "zygote";
    const built = isZygote ? join(folder, ZYGOTE_FOLDER) : folder;
    return {
      nodePath: node.path,
      nodeVersion: node.version,
      args: [
        ...CHILD_FLAGS,
        ...wall.nodeFlags,
        ...(isZygote ? ZYGOTE_V8_FLAGS : []),
        // The folder contains the realm's bundle and code cache. The child drops the permission before it gets a
        // script.
        `--allow-fs-read=${built}/`,
        `--max-old-space-size=${memoryMb}`,
        "--max-semi-space-size=8",
        // WebAssembly compiles on threads: without one, its promises never settle.
        ...(allowWasm ? ["--v8-pool-size=1"] : []),
        // Needed for `import()` in code created from strings; adds 0.7 ms to each start.
        ...(allowEval ? ["--experimental-vm-modules"] : []),
        ...(paranoid ? ["--jitless"] : []),
        join(built, "child.js"),
        encodeBootOptions({ allowEval, allowWasm, closeFds, lock, attacks, isZygote }),
      ],
      cwd,
      bootTimeoutMs: BOOT_TIMEOUT_MS,
      // A zygote needs its permissions to fork; each fork drops them and locks itself.
      ownLayers: isZygote ? [0] : lock === null ? [0, 1] : [0, 1, 3],
      inspect: isZygote
        ? (pid) => wall.findZygoteFault(pid)
        : (pid, { answers }) => wall.admit(pid, toKernelBudget(memoryMb), answers),
      place: () => (isZygote ? null : wall.place(toGroupBudget(memoryMb))),
    };
  };
}

const O_CLOEXEC = 0o2000000;
const MAX_FDS = 64;

/**
 * Lists descriptors above 2 that a child would inherit by accident: open and not close-on-exec, because the server
 * was started with them. Node opens none of that kind, so the list stays valid for the server's life. Returns at most
 * 64, none without /proc.
 */
export function listInheritedFds(): number[] {
  if (process.platform !== "linux") return [];
  const fds: number[] = [];
  for (const name of readdirSync("/proc/self/fd")) {
    const fd = Number(name);
    if (fd > 2 && fds.length < MAX_FDS && isInherited(fd)) fds.push(fd);
  }
  return fds;
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    return false;
  }
}
