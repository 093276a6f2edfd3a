/**
 * System calls that the self-test tries, and which results count as refused: one class per prohibition of the jail,
 * with arguments that do no harm if a call succeeds.
 */
import type { Attack, StepArgument } from "../jail/attack.ts";
import {
  AF_INET,
  AF_UNIX,
  AT_FDCWD,
  CLONE_NEWUSER,
  EACCES,
  ENOMEM,
  ENOSYS,
  EPERM,
  MADV_MERGEABLE,
  MAP_HUGETLB,
  MAP_PRIVATE_ANONYMOUS,
  MAP_SHARED_ANONYMOUS,
  O_WRONLY,
  PROT_READ_WRITE,
  PTRACE_PEEKTEXT,
  SIGCHLD,
  SOCK_STREAM,
} from "../jail/kernel/kernel-headers.ts";
import { type Architecture, type SyscallName, syscallNumber } from "../jail/seccomp/syscall-numbers.ts";

export interface Canaries {
  /** A file that its owner may read and execute; it is not a program. */
  file: string;
  port: number;
}

/** Its name completes "a child was not allowed to …". */
export interface NamedAttack extends Attack {
  name: string;
}

/** The child then asks for twice as much. */
export const TEST_MEMORY_BYTES = 32 * 1024 * 1024;
const PAGE_BYTES = 4096;
const HUGE_PAGE_BYTES = 2 * 1024 * 1024;
/**
 * Replaces a call that the architecture lacks: no kernel knows this number, so the call yields ENOSYS with or without
 * a filter.
 */
const NO_SUCH_CALL = 0x7fff;
/** KEXEC_SEGMENT_MAX of linux/kexec.h is 16; a kernel that checks it refuses more. */
const TOO_MANY_SEGMENTS = 17;

export interface PlannedAttacks {
  /** Must kill a child that has not locked itself. */
  trace: NamedAttack;
  birth: NamedAttack[];
  locked: NamedAttack[];
  /** Tried once the child's memory is limited; see isMemoryLimited. */
  limited: NamedAttack[];
  last: NamedAttack;
}

export function planAttacks(architecture: Architecture, { file, port }: Canaries): PlannedAttacks {
  const step = (name: SyscallName, ...args: StepArgument[]) => ({
    call: syscallNumber(name, architecture) ?? NO_SUCH_CALL,
    args,
  });
  const one = (name: string, ...call: Parameters<typeof step>) => ({ name, steps: [step(...call)] });
  const address = { bytes: [AF_INET, 0, port >> 8, port & 255, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0] };
  const empty = (bytes: number) => ({ bytes: Array<number>(bytes).fill(0) });
  const allocate = (name: string, bytes: number, flags = MAP_PRIVATE_ANONYMOUS) =>
    one(name, "mmap", 0, bytes, PROT_READ_WRITE, flags, -1, 0);
  const server = process.pid;

  const always: NamedAttack[] = [
    one("read a file", "openat", AT_FDCWD, { text: file }, 0, 0),
    one("write a file", "openat", AT_FDCWD, { text: file }, O_WRONLY, 0),
    one("change a file", "fchmodat", AT_FDCWD, { text: file }, 0o500),
    one("open a socket", "socket", AF_INET, SOCK_STREAM, 0),
    one("open a local socket", "socket", AF_UNIX, SOCK_STREAM, 0),
    {
      name: "connect to the server's machine",
      steps: [step("socket", AF_INET, SOCK_STREAM, 0), step("connect", "previous", address, 16)],
    },
    one("signal the server", "kill", server, 0),
    one("hold the server by pidfd", "pidfd_open", server, 0),
    one("read the server's limits", "prlimit64", server, 7, 0, empty(16)),
    one("open an io_uring", "io_uring_setup", 8, empty(120)),
    one("watch performance counters", "perf_event_open", 0, 0, -1, -1, 0),
    one("handle page faults", "userfaultfd", 0),
    one("use the kernel's keys", "keyctl", 0, -3, 1),
    one("mount", "mount", { text: "none" }, { text: "/nowhere" }, { text: "tmpfs" }, 0, 0),
    one("enter a namespace", "unshare", CLONE_NEWUSER),
    { ...one("fork into a namespace", "clone", CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), isFork: true },
    one("load a kernel module", "init_module", 0, 0, { text: "" }),
    one("replace the kernel", "kexec_load", 0, TOO_MANY_SEGMENTS, 0, 0),
    one("make shared memory", "memfd_create", { text: "x" }, 0),
    one("change its user", "setuid", process.getuid?.() ?? 0),
  ];
  return {
    trace: one("trace", "ptrace", PTRACE_PEEKTEXT, 0, 0, 0),
    birth: [...always, one("start a program", "execve", { text: file }, 0, 0)],
    locked: [
      ...always,
      one("look at a file", "statx", AT_FDCWD, { text: file }, 0, 0x7ff, empty(256)),
      one("open what it was started from", "openat", AT_FDCWD, { text: "/dev/null" }, 0, 0),
      allocate("share memory", PAGE_BYTES, MAP_SHARED_ANONYMOUS),
      allocate("use huge pages", HUGE_PAGE_BYTES, MAP_PRIVATE_ANONYMOUS | MAP_HUGETLB),
      one("have its memory merged", "madvise", 0, 0, MADV_MERGEABLE),
      one("change its own limits", "prlimit64", 0, 7, empty(16), 0),
      { ...one("make a copy of itself", "clone", SIGCHLD, 0, 0, 0, 0), isFork: true },
    ],
    limited: [
      allocate("allocate twice its limit", TEST_MEMORY_BYTES * 2),
      allocate("allocate a quarter of its limit", TEST_MEMORY_BYTES / 4),
    ],
    last: one("start a program", "execve", { text: file }, 0, 0),
  };
}

export function isRefusal(answer: number | undefined): boolean {
  return answer === -EPERM || answer === -EACCES || answer === -ENOSYS;
}

/** Returns whether the memory limit had effect: a large allocation refused, a small one granted. */
export function isMemoryLimited([much, little = -1]: readonly number[]): boolean {
  return much === -ENOMEM && little > 0;
}
