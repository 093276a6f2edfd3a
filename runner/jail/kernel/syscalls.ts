/**
 * The only access to libc: five small functions that another backend could implement. They act on the calling thread
 * or, if given a pid, on that process. Bundled into the child: Node only, no zod.
 */
import { Buffer } from "node:buffer";
import {
  isAarch64,
  MAP_PRIVATE,
  NR_PPOLL,
  NR_PRCTL,
  NR_PRLIMIT64,
  POLLIN,
  PROT_READ,
} from "./kernel-headers.ts";

/** A number, or memory whose address is passed; null is the null pointer. */
export type KernelArgument = number | bigint | Uint8Array | null;

/** Kernel calls return the kernel's results: `-errno` for a failure, never an exception. */
export interface Kernel {
  syscall(number: number, ...args: KernelArgument[]): number;
  prctl(option: number, ...args: KernelArgument[]): number;
  /** Reads another process's limit, or with `limit` sets it, in the resource's unit. */
  prlimit(pid: number, resource: number, limit?: ResourceLimit): ResourceLimit | number;
  /** Returns the address of memory from `allocate`, to be written into `holder`, which keeps that memory alive. */
  addressOf(memory: Uint8Array, holder: Uint8Array): bigint;
}

export interface ResourceLimit {
  soft: bigint;
  hard: bigint;
}

const SYSCALL = {
  // 32 bits, because a BigInt result could make V8 allocate memory and so change errno before it is read.
  return: "int32",
  arguments: ["int64", "uint64", "uint64", "uint64", "uint64", "uint64", "uint64"],
} as const;
const ADDRESS_SYSCALL = { ...SYSCALL, return: "int64" } as const;
/**
 * brk, mmap, mremap and shmat return addresses; all other results have 32 bits. asm/unistd_64.h,
 * asm-generic/unistd.h.
 */
const RETURNS_ADDRESS = new Set(isAarch64 ? [214, 222, 216, 196] : [12, 9, 25, 30]);
const MMAP = {
  return: "uint64",
  arguments: ["uint64", "uint64", "int32", "int32", "int32", "int64"],
} as const;
const TRIM = { return: "int32", arguments: ["uint64"] } as const;
const ERRNO_LOCATION = { return: "pointer", arguments: [] } as const;

/**
 * Allocates zeroed memory that stays in place while the view is reachable: V8 may move small typed arrays on its
 * heap, but not an ArrayBuffer.
 */
export function allocate(bytes: number): Uint8Array {
  return new Uint8Array(new ArrayBuffer(bytes));
}

/** Throws if the text contains NUL. */
export function allocateText(value: string): Uint8Array {
  if (value.includes("\0")) throw new Error("a program's arguments cannot contain NUL");
  const bytes = Buffer.from(value);
  const memory = allocate(bytes.byteLength + 1);
  memory.set(bytes);
  return memory;
}

/** Opens this process's libc through `node:ffi`, once. Throws an Error that says why it cannot. */
export function openKernel(): Kernel {
  opened ??= resolveKernel();
  return opened;
}
let opened: Kernel | null = null;

function resolveKernel(): Kernel {
  const ffi = loadFfi();
  // Each resolved function adds 0.1 ms to a child's start, so all calls share one. Resolving changes errno, so it
  // happens here.
  const libc = new ffi.DynamicLibrary(null);
  const call = libc.getFunction("syscall", SYSCALL);
  // A library supports one signature per name.
  const addressCall = new ffi.DynamicLibrary(null).getFunction("syscall", ADDRESS_SYSCALL);
  // Address of errno for this thread and its forks. Read once in advance, because Node's work at the first call
  // changes errno.
  const errno = libc.getFunction("__errno_location", ERRNO_LOCATION)();
  ffi.getInt32(errno);
  /** Keeps memory reachable during a call, which an address alone does not. */
  const pinned: { arguments: readonly unknown[] } = { arguments: [] };
  const pointedTo = new WeakMap<Uint8Array, Uint8Array>();

  function word(argument: KernelArgument | undefined): bigint {
    if (argument === null || argument === undefined) return 0n;
    if (typeof argument === "number" || typeof argument === "bigint") {
      return BigInt.asUintN(64, BigInt(argument));
    }
    return ffi.getRawPointer(argument);
  }
  /** errno belongs to the thread and its last failure, so it is read before anything else runs. */
  function syscall(number: number, ...args: KernelArgument[]): number {
    pinned.arguments = args;
    const [a, b, c, d, e, f] = args;
    const words = [word(a), word(b), word(c), word(d), word(e), word(f)] as const;
    if (RETURNS_ADDRESS.has(number)) {
      const address = addressCall(BigInt(number), ...words);
      return address === -1n ? -ffi.getInt32(errno) : Number(address);
    }
    const result = call(BigInt(number), ...words);
    return result === -1 ? -ffi.getInt32(errno) : result;
  }

  return {
    syscall,
    prctl: (option, ...args) => syscall(NR_PRCTL, option, ...args),
    prlimit(pid, resource, limit) {
      const before = allocate(16);
      const result = syscall(NR_PRLIMIT64, pid, resource, limit ? layOutLimit(limit) : null, before);
      if (result !== 0) return result;
      const view = new DataView(before.buffer);
      return { soft: view.getBigUint64(0, true), hard: view.getBigUint64(8, true) };
    },
    addressOf(memory, holder) {
      pointedTo.set(holder, memory);
      return ffi.getRawPointer(memory);
    },
  };
}

function layOutLimit(limit: ResourceLimit): Uint8Array {
  const memory = allocate(16);
  const view = new DataView(memory.buffer);
  view.setBigUint64(0, limit.soft, true);
  view.setBigUint64(8, limit.hard, true);
  return memory;
}

/**
 * Maps the first `sizeBytes` of an open file, read-only, for the life of the process; the descriptor may be closed.
 * Pages are read on first touch and shared with other processes. The file must never shrink: touching missing pages
 * kills the process. Throws if the kernel refuses.
 */
export function mapFile(file: number, sizeBytes: number): Buffer {
  const ffi = loadFfi();
  const mmap = new ffi.DynamicLibrary(null).getFunction("mmap", MMAP);
  const address = mmap(0n, BigInt(sizeBytes), PROT_READ, MAP_PRIVATE, file, 0n);
  if (BigInt.asIntN(64, address) === -1n) throw new Error("the file could not be mapped into memory");
  return ffi.toBuffer(address, sizeBytes, false);
}

/**
 * Returns a function that waits for data or hang-up on `fd` (returns true), or for `ms` or a signal (returns false).
 * It still works after the permission to use `node:ffi` was dropped.
 */
export function preparePoll(kernel: Kernel, fd: number): (ms: number) => boolean {
  // struct pollfd and struct timespec; the view keeps alive the memory whose addresses they hold.
  const memory = allocate(24);
  const at = kernel.addressOf(memory, memory);
  const view = new DataView(memory.buffer);
  view.setInt32(0, fd, true);
  view.setInt16(4, POLLIN, true);
  return (ms) => {
    view.setBigInt64(8, BigInt(Math.trunc(ms / 1000)), true);
    view.setBigInt64(16, BigInt(Math.ceil((ms % 1000) * 1e6)), true);
    return kernel.syscall(NR_PPOLL, at, 1, at + 8n, 0, 0) > 0;
  };
}

/** Returns freed C memory to the system, which glibc would keep. Does nothing if libc lacks `malloc_trim(3)`. */
export function releaseFreedMemory(): void {
  if (process.platform !== "linux") return;
  try {
    const trim = new (loadFfi().DynamicLibrary)(null).getFunction("malloc_trim", TRIM);
    trim(0n);
  } catch {
    // Failures are ignored: this is only an optimization.
  }
}

export interface EventLoop {
  /** Renews the event loop's descriptors and clock in a forked process. */
  renew(): void;
}

/** Throws an Error if this Node lacks a function. */
export function openEventLoop(): EventLoop {
  const libuv = new (loadFfi().DynamicLibrary)(null);
  const find = libuv.getFunction("uv_default_loop", { return: "pointer", arguments: [] });
  const fork = libuv.getFunction("uv_loop_fork", { return: "int32", arguments: ["pointer"] });
  const updateTime = libuv.getFunction("uv_update_time", { return: "void", arguments: ["pointer"] });
  const loop = find();
  return {
    renew() {
      const result = fork(loop);
      if (result !== 0) throw new Error(`uv_loop_fork failed with errno ${-result}`);
      updateTime(loop);
    },
  };
}

/**
 * Loads `node:ffi` without its warning: the module is experimental, so Node is pinned exactly. Throws an Error that
 * says why it cannot. Only for files in this folder.
 */
export function loadFfi(): typeof import("node:ffi") {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    const ffi = process.getBuiltinModule("node:ffi");
    if (!ffi) {
      throw new Error(
        `node:ffi is missing in Node ${process.version}: expected Node 26 without --no-experimental-ffi`,
      );
    }
    return ffi;
  } finally {
    process.emitWarning = emitWarning;
  }
}
