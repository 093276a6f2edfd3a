/**
 * Starts a program from the calling thread with posix_spawn. Unlike fork, which libuv uses, it copies no page tables,
 * so its cost does not grow with the server's memory. The server reaps the child itself and reads its resource usage.
 */
import { constants } from "node:os";
import type { ProcessExit, Program } from "../../process/start-process.ts";
import { EACCES, NR_WAIT4, NR_WAITID, P_PGID, WEXITED, WNOHANG, WNOWAIT } from "../kernel/kernel-headers.ts";
import { allocate, allocateText, type Kernel, loadFfi } from "../kernel/syscalls.ts";

export type ChildDescriptors = readonly [stdin: number, stdout: number, stderr: number];

export interface ChildExit extends ProcessExit {
  cpuMs: number;
}

// From spawn.h: same values in glibc and musl; the opaque structures are smaller than this everywhere.
const OPAQUE_BYTES = 1024;
const SIGSET_BYTES = 128;
const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
const POSIX_SPAWN_SETSID = 0x80;
/** struct rusage: two timevals and 14 longs. ru_maxrss is the server's own, carried over by exec. */
const RUSAGE_BYTES = 144;
const SIGINFO_BYTES = 128;
const SIGINFO_PID_AT = 16;

/** Returns the pid, or throws an Error with the errno if the program was not started. */
export type StartProgram = (program: ProgramWithEnvironment, descriptors: ChildDescriptors) => number;

/** The child gets only this environment, these arguments, and descriptors 0, 1 and 2. Paths are absolute. */
export interface ProgramWithEnvironment extends Program {
  env: Readonly<Record<string, string>>;
}

/** Resolves everything in advance, so that the calling thread may be jailed afterwards. */
export function openNativeSpawn(): StartProgram {
  const ffi = loadFfi();
  const { functions: libc } = ffi.dlopen(null, {
    posix_spawn: { return: "int32", arguments: ["buffer", "buffer", "buffer", "buffer", "buffer", "buffer"] },
    posix_spawn_file_actions_init: { return: "int32", arguments: ["buffer"] },
    posix_spawn_file_actions_destroy: { return: "int32", arguments: ["buffer"] },
    posix_spawn_file_actions_adddup2: { return: "int32", arguments: ["buffer", "int32", "int32"] },
    posix_spawn_file_actions_addchdir_np: { return: "int32", arguments: ["buffer", "buffer"] },
    posix_spawnattr_init: { return: "int32", arguments: ["buffer"] },
    posix_spawnattr_setflags: { return: "int32", arguments: ["buffer", "int16"] },
    posix_spawnattr_setsigmask: { return: "int32", arguments: ["buffer", "buffer"] },
    posix_spawnattr_setsigdefault: { return: "int32", arguments: ["buffer", "buffer"] },
  });

  function must(step: string, errno: number): void {
    if (errno !== 0) throw new Error(`${step} failed with errno ${errno}`);
  }
  /** Builds a char*[] that ends with a null pointer; the caller keeps `texts` alive. */
  function pointers(texts: readonly Uint8Array[]): Uint8Array {
    const array = allocate((texts.length + 1) * 8);
    const view = new DataView(array.buffer);
    texts.forEach((text, index) => {
      view.setBigUint64(index * 8, ffi.getRawPointer(text), true);
    });
    return array;
  }

  // The child inherits no blocked or ignored signals and leads its own session, so a Ctrl-C for the server does not
  // reach it.
  const attributes = allocate(OPAQUE_BYTES);
  must("posix_spawnattr_init", libc.posix_spawnattr_init(attributes));
  const flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID;
  must("posix_spawnattr_setflags", libc.posix_spawnattr_setflags(attributes, flags));
  const no = allocate(SIGSET_BYTES);
  const all = allocate(SIGSET_BYTES).fill(0xff);
  must("posix_spawnattr_setsigmask", libc.posix_spawnattr_setsigmask(attributes, no));
  must("posix_spawnattr_setsigdefault", libc.posix_spawnattr_setsigdefault(attributes, all));

  return (program, descriptors) => {
    const path = allocateText(program.path);
    const cwd = allocateText(program.cwd);
    const args = [program.path, ...program.args].map(allocateText);
    const env = Object.entries(program.env).map(([name, value]) => allocateText(`${name}=${value}`));
    const argv = pointers(args);
    const envp = pointers(env);
    const actions = allocate(OPAQUE_BYTES);
    must("posix_spawn_file_actions_init", libc.posix_spawn_file_actions_init(actions));
    try {
      descriptors.forEach((from, to) => {
        must("posix_spawn_file_actions_adddup2", libc.posix_spawn_file_actions_adddup2(actions, from, to));
      });
      must("posix_spawn_file_actions_addchdir_np", libc.posix_spawn_file_actions_addchdir_np(actions, cwd));
      const pid = allocate(4);
      const errno = libc.posix_spawn(pid, path, actions, attributes, argv, envp);
      const step = `posix_spawn of ${program.path}`;
      if (errno === EACCES) {
        throw new Error(
          `${step} failed with errno ${errno}: user ${process.getuid?.()} must be allowed to execute it without any capability, which children never hold`,
        );
      }
      must(step, errno);
      return new DataView(pid.buffer).getInt32(0, true);
    } finally {
      libc.posix_spawn_file_actions_destroy(actions);
      // Keeps the strings alive during the call, which arrays of addresses do not.
      args.length = 0;
      env.length = 0;
    }
  };
}

/** Reused: the kernel writes it for every child at every SIGCHLD. */
const status = allocate(4);
const usage = allocate(RUSAGE_BYTES);

/** Reaps an ended child; returns null while it runs. A child reaped elsewhere has neither code nor signal. */
export function reap(kernel: Kernel, pid: number): ChildExit | null {
  const result = kernel.syscall(NR_WAIT4, pid, status, WNOHANG, usage);
  if (result === 0) return null;
  if (result < 0) return { code: null, signal: null, cpuMs: 0 };
  const word = new DataView(status.buffer).getInt32(0, true);
  const view = new DataView(usage.buffer);
  const long = (offset: number) => Number(view.getBigInt64(offset, true));
  const signal = word & 0x7f;
  return {
    code: signal === 0 ? (word >> 8) & 0xff : null,
    signal: signal === 0 ? null : (SIGNAL_NAMES.get(signal) ?? "SIGKILL"),
    cpuMs: (long(0) + long(16)) * 1000 + (long(8) + long(24)) / 1000,
  };
}

/**
 * Returns an ended but unreaped child of a process group, 0 if none has ended, or `-errno` if the group has no
 * children.
 */
export function findEnded(kernel: Kernel, group: number): number {
  const info = allocate(SIGINFO_BYTES);
  const result = kernel.syscall(NR_WAITID, P_PGID, group, info, WEXITED | WNOHANG | WNOWAIT, 0);
  return result < 0 ? result : new DataView(info.buffer).getInt32(SIGINFO_PID_AT, true);
}

/** Keeps the first name of signals that have two. */
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number as number, name as NodeJS.Signals]),
);
