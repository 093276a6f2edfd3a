/**
 * The only place that reaches libc: five small functions behind which another backend could be put. Everything here
 * acts on the calling thread or, where a pid is given, on that process. Bundled into the child: Node only, no zod.
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

/** Calls into the kernel. Results are those of the kernel: `-errno` for a failure, never an exception. */
export interface Kernel {
  /** One system call by its number, up to six arguments. */
  syscall(number: number, ...args: KernelArgument[]): number;
  /** `prctl(2)`: options of linux/prctl.h. */
  prctl(option: number, ...args: KernelArgument[]): number;
  /** `prlimit(2)`: reads, and with `limit` sets, a limit of another process. Values in the unit of the resource. */
  prlimit(pid: number, resource: number, limit?: ResourceLimit): ResourceLimit | number;
  /** The address of memory from `allocate`, to be written into `holder`, which keeps that memory alive. */
  addressOf(memory: Uint8Array, holder: Uint8Array): bigint;
}

/** Soft and hard limit; `RLIM_INFINITY` is `2n ** 64n - 1n`. */
export interface ResourceLimit {
  soft: bigint;
  hard: bigint;
}

const SYSCALL = {
  // A small number: making a BigInt of the result could take memory of V8's, and change errno before it is read.
  return: "int32",
  arguments: ["int64", "uint64", "uint64", "uint64", "uint64", "uint64", "uint64"],
} as const;
const ADDRESS_SYSCALL = { ...SYSCALL, return: "int64" } as const;
/** brk, mmap, mremap, shmat: all others answer what fits into 32 bits. asm/unistd_64.h, asm-generic/unistd.h. */
const RETURNS_ADDRESS = new Set(isAarch64 ? [214, 222, 216, 196] : [12, 9, 25, 30]);
const MMAP = {
  return: "uint64",
  arguments: ["uint64", "uint64", "int32", "int32", "int32", "int64"],
} as const;
const TRIM = { return: "int32", arguments: ["uint64"] } as const;
const ERRNO_LOCATION = { return: "pointer", arguments: [] } as const;

/**
 * Zeroed memory that neither moves nor goes away while the view is reachable: small typed arrays may live on V8's
 * heap and be moved by it, an ArrayBuffer of its own may not.
 */
export function allocate(bytes: number): Uint8Array {
  return new Uint8Array(new ArrayBuffer(bytes));
}

/** A C string. Throws for text that holds its end. */
export function allocateText(value: string): Uint8Array {
  if (value.includes("\0")) throw new Error("a program's arguments cannot contain NUL");
  const bytes = Buffer.from(value);
  const memory = allocate(bytes.byteLength + 1);
  memory.set(bytes);
  return memory;
}

/** Opens libc of this process through `node:ffi`, once; throws an Error whose message says what is missing. */
export function openKernel(): Kernel {
  opened ??= resolveKernel();
  return opened;
}
let opened: Kernel | null = null;

function resolveKernel(): Kernel {
  const ffi = loadFfi();
  // Each resolved function costs a child 0.1 ms of its start: one for all calls. Resolving changes errno, so not later.
  const libc = new ffi.DynamicLibrary(null);
  const call = libc.getFunction("syscall", SYSCALL);
  // A library answers one signature for each name.
  const addressCall = new ffi.DynamicLibrary(null).getFunction("syscall", ADDRESS_SYSCALL);
  // Of this thread, and of a fork of it. Looked up and read once ahead: what Node does at a first call changes errno.
  const errno = libc.getFunction("__errno_location", ERRNO_LOCATION)();
  ffi.getInt32(errno);
  /** Memory stays reachable during a call: an address alone does not keep it from being collected. */
  const pinned: { arguments: readonly unknown[] } = { arguments: [] };
  const pointedTo = new WeakMap<Uint8Array, Uint8Array>();

  function word(argument: KernelArgument | undefined): bigint {
    if (argument === null || argument === undefined) return 0n;
    if (typeof argument === "number" || typeof argument === "bigint") {
      return BigInt.asUintN(64, BigInt(argument));
    }
    return ffi.getRawPointer(argument);
  }
  /** Errno belongs to the thread and to the last failure: it is read before anything else runs. */
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

/** struct rlimit64. */
function layOutLimit(limit: ResourceLimit): Uint8Array {
  const memory = allocate(16);
  const view = new DataView(memory.buffer);
  view.setBigUint64(0, limit.soft, true);
  view.setBigUint64(8, limit.hard, true);
  return memory;
}

/**
 * A file as memory of this process: a page is read when it is first touched, and shared with every process that maps the same file.
 * Maps the first `sizeBytes` of an open file, read-only, for as long as the process lives; the descriptor may be closed.
 * The file must never shrink: touching what is gone would kill the process. Throws when the kernel refuses.
 */
export function mapFile(file: number, sizeBytes: number): Buffer {
  const ffi = loadFfi();
  const mmap = new ffi.DynamicLibrary(null).getFunction("mmap", MMAP);
  const address = mmap(0n, BigInt(sizeBytes), PROT_READ, MAP_PRIVATE, file, 0n);
  if (BigInt.asIntN(64, address) === -1n) throw new Error("the file could not be mapped into memory");
  return ffi.toBuffer(address, sizeBytes, false);
}

/**
 * Waits until something can be read from `fd`, or its other end is closed: true; or for `ms`: false, also when a signal came.
 * The function works after the permission to use `node:ffi` was given up.
 */
export function preparePoll(kernel: Kernel, fd: number): (ms: number) => boolean {
  // struct pollfd, then struct timespec; the view keeps the memory that their addresses are of.
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

/** Gives the system back what C code has freed: glibc keeps it for itself. Does nothing where libc has no `malloc_trim(3)`. */
export function releaseFreedMemory(): void {
  if (process.platform !== "linux") return;
  try {
    const trim = new (loadFfi().DynamicLibrary)(null).getFunction("malloc_trim", TRIM);
    trim(0n);
  } catch {
    // It is a saving, and no more.
  }
}

/** libuv's default loop, as libuv exports it. */
export interface EventLoop {
  /** In a process that was forked: descriptors of its own, and the time it is. */
  renew(): void;
}

/** Throws an Error when a function is missing in this Node. */
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
 * `node:ffi`, loaded without its one warning: that it is experimental is why Node is pinned exactly. Throws an Error
 * that says what is missing. Only for files of this folder.
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
