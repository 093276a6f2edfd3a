/**
 * A child of this process that makes a list of system calls, the last of which turns it into another program. It is made as
 * vfork(2) makes one: the calling thread stands still meanwhile and shares its memory, where no JavaScript, no libc and no
 * allocator may run. So what it runs are a few instructions of its own, kept in a page that cannot be written any more.
 */
import {
  CLONE_VFORK,
  CLONE_VM,
  MAP_PRIVATE_ANONYMOUS,
  NR_EXIT_GROUP,
  NR_MMAP,
  NR_MPROTECT,
  NR_RT_SIGPROCMASK,
  NR_WAIT4,
  PROT_EXEC,
  PROT_READ,
  PROT_READ_WRITE,
  SIG_SETMASK,
  SIGCHLD,
} from "./kernel-headers.ts";
import { allocate, type Kernel, type KernelArgument, loadFfi } from "./syscalls.ts";

/** One system call and what it is for, for an error. */
export interface BirthCall {
  name: string;
  call: number;
  args: readonly KernelArgument[];
  /** Memory that `args` lead to by its address, which keeps nothing alive. */
  keeps?: unknown;
}

/** Returns the pid once the last call has succeeded. Throws an Error that names the call that did not and its errno. */
export type GiveBirth = (calls: readonly BirthCall[]) => number;

/** A call, six arguments and the answer. */
const WORDS = 8;
const ENTRY_BYTES = WORDS * 8;
const PAGE_BYTES = 4096;
const STACK_BYTES = 16 * 1024;
/** Of a set of signals, for the kernel. */
const SIGNAL_SET_BYTES = 8;

/** x86-64. The address of the list is the first argument of the function. */
// biome-ignore format: one instruction per line
const X64 = [
  0xf3, 0x0f, 0x1e, 0xfa,                   // endbr64
  0x48, 0x89, 0xfb,                         // mov  rbx, rdi
  0x48, 0x8b, 0x03,                         // next: mov rax, [rbx]
  0x48, 0x8b, 0x7b, 0x08,                   // mov  rdi, [rbx+8]
  0x48, 0x8b, 0x73, 0x10,                   // mov  rsi, [rbx+16]
  0x48, 0x8b, 0x53, 0x18,                   // mov  rdx, [rbx+24]
  0x4c, 0x8b, 0x53, 0x20,                   // mov  r10, [rbx+32]
  0x4c, 0x8b, 0x43, 0x28,                   // mov  r8, [rbx+40]
  0x4c, 0x8b, 0x4b, 0x30,                   // mov  r9, [rbx+48]
  0x0f, 0x05,                               // syscall
  0x48, 0x89, 0x43, 0x38,                   // mov  [rbx+56], rax
  0x48, 0x85, 0xc0,                         // test rax, rax
  0x78, 0x06,                               // js   failed
  0x48, 0x83, 0xc3, ENTRY_BYTES,            // add  rbx, 64
  0xeb, 0xd4,                               // jmp  next
  0xbf, 127, 0, 0, 0,                       // failed: mov edi, 127
  0xb8, NR_EXIT_GROUP, 0, 0, 0,             // mov  eax, exit_group
  0x0f, 0x05,                               // syscall
];

/** Whether there are instructions for this processor. */
export function canGiveBirth(): boolean {
  return process.platform === "linux" && process.arch === "x64";
}

/**
 * Once for this process. Throws where memory cannot be made executable. Everything that is passed stays as it is until the
 * child has gone its way.
 */
export function openBirth(kernel: Kernel): GiveBirth {
  opened ??= prepareBirth(kernel);
  return opened;
}
let opened: GiveBirth | null = null;

function prepareBirth(kernel: Kernel): GiveBirth {
  const ffi = loadFfi();
  const clone = new ffi.DynamicLibrary(null).getFunction("clone", {
    return: "int32",
    arguments: ["uint64", "uint64", "int32", "uint64"],
  });
  const code = layOutCode(kernel);
  const stackTop = mapMemory(kernel, STACK_BYTES) + BigInt(STACK_BYTES);
  const everySignal = allocate(SIGNAL_SET_BYTES).fill(0xff);

  return (calls) => {
    const list = allocate(calls.length * ENTRY_BYTES);
    const words = new BigInt64Array(list.buffer);
    calls.forEach(({ call, args }, index) => {
      const entry = [call, ...args].map((word) =>
        word instanceof Uint8Array ? ffi.getRawPointer(word) : BigInt(word ?? 0),
      );
      entry.forEach((word, at) => {
        words[index * WORDS + at] = BigInt.asIntN(64, word);
      });
    });
    const before = allocate(SIGNAL_SET_BYTES);
    // A handler of this process must not run in the child, on memory that is not its own.
    kernel.syscall(NR_RT_SIGPROCMASK, SIG_SETMASK, everySignal, before, SIGNAL_SET_BYTES);
    const pid = clone(code, stackTop, CLONE_VM | CLONE_VFORK | SIGCHLD, ffi.getRawPointer(list));
    kernel.syscall(NR_RT_SIGPROCMASK, SIG_SETMASK, before, null, SIGNAL_SET_BYTES);
    if (pid < 0) throw new Error("clone failed: the system has no process left, or forbids it");
    const failed = calls.findIndex((_, index) => (words[index * WORDS + WORDS - 1] ?? 0n) < 0n);
    if (failed < 0) return pid;
    kernel.syscall(NR_WAIT4, pid, null, 0, null);
    throw new Error(`${calls[failed]?.name} failed with errno ${-(words[failed * WORDS + WORDS - 1] ?? 0n)}`);
  };
}

/** The address of the instructions. */
function layOutCode(kernel: Kernel): bigint {
  const address = mapMemory(kernel, PAGE_BYTES);
  loadFfi().toBuffer(address, PAGE_BYTES, false).set(X64);
  const result = kernel.syscall(NR_MPROTECT, address, PAGE_BYTES, PROT_READ | PROT_EXEC);
  if (result < 0) throw new Error(`mprotect failed with errno ${-result}`);
  return address;
}

/** Whole pages that stay for the life of this process: nothing collects them. */
function mapMemory(kernel: Kernel, bytes: number): bigint {
  const address = kernel.syscall(NR_MMAP, 0, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
  if (address < 0) throw new Error(`mmap failed with errno ${-address}`);
  return BigInt(address);
}
