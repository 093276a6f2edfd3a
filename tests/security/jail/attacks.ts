/**
 * Native attacks on the jail, as raw system calls: each what a script would try once it runs native code. Shared by the
 * attacker child, which performs them, and the tests, which say what each must come to.
 */
import { type Architecture, type SyscallName, syscallNumber } from "#runner/jail/seccomp/syscall-numbers.ts";
import { allocate, type Kernel } from "#runner/jail/syscalls.ts";

/** What an attack aims at; made by the driver, all of it harmless. */
export interface Targets {
  /** A readable file outside the jail. */
  canary: string;
  /** A directory everyone may write to. */
  directory: string;
  tcpPort: number;
  udpPort: number;
  unixPath: string;
  /** Without the leading NUL. */
  abstractName: string;
  /** The server. */
  parentPid: number;
  /** The thread of the server that starts children. */
  spawnerThread: number;
  /** Another child of the same spawner. */
  siblingPid: number;
  /** A program that exists everywhere. */
  program: string;
}

/** The kernel's answer: a value, or `-errno`. */
export type Answer = number;

const EPERM = -1;
const ENOENT = -2;
const EBADF = -9;
const EACCES = -13;
const EFAULT = -14;
const EINVAL = -22;
const ENOTTY = -25;
const ENOSYS = -38;

/** What must come of an attack. `control`: the answers that show that without the jail it is more than refused. */
export interface Attack {
  run(calls: Calls, targets: Targets): Answer;
  /** Without any jail: a value, or one of these errors, which come only after the permission to try. */
  control: "succeeds" | readonly number[];
  /** The control needs root: refused for others already. */
  controlNeedsRoot?: true;
  /** In the birth jail alone; `open` where it only falls to the lock. */
  birth: readonly number[] | "killed" | "open";
  /** After the self-lock. */
  locked: readonly number[] | "killed";
  only?: Architecture;
}

/** System calls by name, with texts and structures as arguments. */
export interface Calls {
  call(
    name: SyscallName,
    ...args: Parameters<Kernel["syscall"]> extends [number, ...infer R] ? R : never
  ): Answer;
  raw(number: number, ...args: number[]): Answer;
  text(value: string): Uint8Array;
  /** Replaces libc's getpid by machine code and calls it. */
  runMachineCode(code: readonly number[]): Answer;
}

export function openCalls(kernel: Kernel, runMachineCode: Calls["runMachineCode"]): Calls {
  const architecture: Architecture = process.arch === "arm64" ? "aarch64" : "x86_64";
  return {
    call(name, ...args) {
      const number = syscallNumber(name, architecture);
      return number === null ? ENOSYS : kernel.syscall(number, ...args);
    },
    raw: (number, ...args) => kernel.syscall(number, ...args),
    text(value) {
      const bytes = Buffer.from(`${value}\0`);
      const memory = allocate(bytes.byteLength);
      memory.set(bytes);
      return memory;
    },
    runMachineCode,
  };
}

const AT_FDCWD = -100;
const AF_UNIX = 1;
const AF_INET = 2;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const LOOPBACK = [127, 0, 0, 1];

function inetAddress(port: number): Uint8Array {
  const memory = allocate(16);
  const view = new DataView(memory.buffer);
  view.setUint16(0, AF_INET, true);
  view.setUint16(2, port, false);
  memory.set(LOOPBACK, 4);
  return memory;
}

function unixAddress(path: string): Uint8Array {
  const bytes = Buffer.from(path);
  const memory = allocate(2 + bytes.byteLength + (path.startsWith("\0") ? 0 : 1));
  new DataView(memory.buffer).setUint16(0, AF_UNIX, true);
  memory.set(bytes, 2);
  return memory;
}

function connectTo(family: number, address: Uint8Array) {
  return ({ call }: Calls): Answer => {
    const socket = call("socket", family, SOCK_STREAM, 0);
    return socket < 0 ? socket : call("connect", socket, address, address.byteLength);
  };
}

/** Refused by the filter; where Landlock answers first it says EACCES. */
const refused = [EPERM, EACCES] as const;

/** An attack that the birth filter and the lock both refuse. */
function refusedFromBirth(
  run: Attack["run"],
  control: Attack["control"] = "succeeds",
  more: Partial<Attack> = {},
): Attack {
  return { run, control, birth: refused, locked: refused, ...more };
}

/** An attack that only the lock refuses: Node needs the call to start. */
function refusedByLock(run: Attack["run"], control: Attack["control"] = "succeeds"): Attack {
  return { run, control, birth: "open", locked: refused };
}

const filesAndPaths: Record<string, Attack> = {
  "read a file": refusedFromBirth(({ call, text }, { canary }) => call("openat", AT_FDCWD, text(canary), 0)),
  "read a file through /proc/self/root": refusedFromBirth(({ call, text }, { canary }) =>
    call("openat", AT_FDCWD, text(`/proc/self/root${canary}`), 0),
  ),
  "read a file by openat2": {
    run: ({ call, text }, { canary }) => call("openat2", AT_FDCWD, text(canary), allocate(24), 24),
    control: "succeeds",
    birth: [ENOSYS],
    locked: [ENOSYS],
  },
  "list the root directory": refusedFromBirth(({ call, text }) =>
    call("openat", AT_FDCWD, text("/"), 0o200000),
  ),
  "read the server's environment": refusedFromBirth(({ call, text }, { parentPid }) =>
    call("openat", AT_FDCWD, text(`/proc/${parentPid}/environ`), 0),
  ),
  "write the spawner thread's memory": refusedFromBirth(({ call, text }, { parentPid, spawnerThread }) =>
    call("openat", AT_FDCWD, text(`/proc/${parentPid}/task/${spawnerThread}/mem`), 2),
  ),
  "write its own memory past its protection": refusedFromBirth(({ call, text }) =>
    call("openat", AT_FDCWD, text("/proc/self/mem"), 2),
  ),
  "reopen its own pipe": refusedFromBirth(({ call, text }) =>
    call("openat", AT_FDCWD, text("/proc/self/fd/1"), 1),
  ),
  "open a file for writing": refusedFromBirth(({ call, text }, { directory }) =>
    call("openat", AT_FDCWD, text(`${directory}/made`), 0o101, 0o600),
  ),
  "make a nameless file": refusedFromBirth(({ call, text }, { directory }) =>
    call("openat", AT_FDCWD, text(directory), 0o20200002, 0o600),
  ),
  "make a directory": refusedFromBirth(
    ({ call, text }, { directory }) => call("mkdirat", AT_FDCWD, text(`${directory}/canary`), 0o700),
    [-17],
  ),
  "make a device": refusedFromBirth(
    ({ call, text }, { directory }) => call("mknodat", AT_FDCWD, text(`${directory}/canary`), 0o010600, 0),
    [-17],
  ),
  "delete a file": refusedFromBirth(
    ({ call, text }, { directory }) => call("unlinkat", AT_FDCWD, text(`${directory}/nothing`), 0),
    [ENOENT],
  ),
  "rename a file": refusedFromBirth(
    ({ call, text }, { directory }) =>
      call("renameat2", AT_FDCWD, text(`${directory}/nothing`), AT_FDCWD, text(`${directory}/made`), 0),
    [ENOENT],
  ),
  "link a file": refusedFromBirth(
    ({ call, text }, { canary, directory }) =>
      call("symlinkat", text(canary), AT_FDCWD, text(`${directory}/canary`)),
    [-17],
  ),
  "change a file's mode": refusedFromBirth(({ call, text }, { canary }) =>
    call("fchmodat", AT_FDCWD, text(canary), 0o644),
  ),
  "change a file's times": refusedFromBirth(({ call, text }, { canary }) =>
    call("utimensat", AT_FDCWD, text(canary), null, 0),
  ),
  "shorten a file": refusedFromBirth(
    ({ call, text }, { directory }) => call("truncate", text(`${directory}/nothing`), 0),
    [ENOENT],
  ),
  "see whether a file exists": refusedByLock(({ call, text }, { canary }) =>
    call("newfstatat", AT_FDCWD, text(canary), allocate(144), 0),
  ),
  "see whether a file exists, by statx": refusedByLock(({ call, text }, { canary }) =>
    call("statx", AT_FDCWD, text(canary), 0, 0x7ff, allocate(256)),
  ),
  "see whether a file may be read": refusedByLock(({ call, text }, { canary }) =>
    call("faccessat", AT_FDCWD, text(canary), 4),
  ),
  "read a link": refusedByLock(({ call, text }) =>
    call("readlinkat", AT_FDCWD, text("/proc/self/exe"), allocate(256), 256),
  ),
  "learn its directory": refusedByLock(({ call }) => call("getcwd", allocate(4096), 4096)),
  "change its directory": refusedByLock(({ call, text }) => call("chdir", text("/etc"))),
  "change its root": refusedFromBirth(({ call, text }) => call("chroot", text("/nowhere")), [ENOENT], {
    controlNeedsRoot: true,
  }),
  "watch files": refusedFromBirth(({ call }) => call("inotify_init1", 0)),
  "name a file by handle": refusedFromBirth(
    ({ call, text }, { canary }) =>
      call("name_to_handle_at", AT_FDCWD, text(canary), allocate(8), allocate(4), 0),
    [-75, -95],
  ),
  "make memory that is a file": refusedFromBirth(({ call, text }) => call("memfd_create", text("x"), 0)),
};

const network: Record<string, Attack> = {
  "connect by TCP": refusedFromBirth((calls, { tcpPort }) => connectTo(AF_INET, inetAddress(tcpPort))(calls)),
  "send by UDP": refusedFromBirth(({ call }, { udpPort }) => {
    const socket = call("socket", AF_INET, SOCK_DGRAM, 0);
    const address = inetAddress(udpPort);
    return socket < 0 ? socket : call("sendto", socket, allocate(1), 1, 0, address, address.byteLength);
  }),
  "connect to a Unix socket by path": refusedFromBirth((calls, { unixPath }) =>
    connectTo(AF_UNIX, unixAddress(unixPath))(calls),
  ),
  "connect to an abstract Unix socket": refusedFromBirth((calls, { abstractName }) =>
    connectTo(AF_UNIX, unixAddress(`\0${abstractName}`))(calls),
  ),
  "listen by TCP": refusedFromBirth(({ call }) => {
    const socket = call("socket", AF_INET, SOCK_STREAM, 0);
    if (socket < 0) return socket;
    const address = inetAddress(0);
    const bound = call("bind", socket, address, address.byteLength);
    return bound < 0 ? bound : call("listen", socket, 1);
  }),
  "open an IPv6 socket": refusedFromBirth(({ call }) => call("socket", 10, SOCK_STREAM, 0), "succeeds"),
  "open a netlink socket": refusedFromBirth(({ call }) => call("socket", 16, 3, 0)),
  "open a packet socket": refusedFromBirth(({ call }) => call("socket", 17, 3, 0), "succeeds", {
    controlNeedsRoot: true,
  }),
  "open a pair of sockets": refusedFromBirth(({ call }) =>
    call("socketpair", AF_UNIX, SOCK_STREAM, 0, allocate(8)),
  ),
};

const processes: Record<string, Attack> = {
  "signal the server": refusedFromBirth(({ call }, { parentPid }) => call("kill", parentPid, 0)),
  "signal the server's main thread": refusedFromBirth(({ call }, { parentPid }) =>
    call("tgkill", parentPid, parentPid, 0),
  ),
  "signal the spawner thread": refusedFromBirth(({ call }, { parentPid, spawnerThread }) =>
    call("tgkill", parentPid, spawnerThread, 0),
  ),
  "signal the spawner thread by tkill": refusedFromBirth(({ call }, { spawnerThread }) =>
    call("tkill", spawnerThread, 0),
  ),
  "signal everyone": refusedFromBirth(({ call }) => call("kill", -1, 0)),
  "signal another child": refusedFromBirth(({ call }, { siblingPid }) => call("kill", siblingPid, 0)),
  "signal another child's thread": {
    run: ({ call }, { siblingPid }) => call("tgkill", siblingPid, siblingPid, 0),
    control: "succeeds",
    birth: "open",
    locked: refused,
  },
  "queue a signal for the server": refusedFromBirth(({ call }, { parentPid }) => {
    const info = allocate(128);
    new DataView(info.buffer).setInt32(8, -1, true);
    return call("rt_sigqueueinfo", parentPid, 0, info);
  }),
  "hold the server by pidfd": refusedFromBirth(({ call }, { parentPid }) => call("pidfd_open", parentPid, 0)),
  "take a descriptor of the server": refusedFromBirth(({ call }) => call("pidfd_getfd", -1, 0, 0), [EBADF]),
  "have signals of its pipe sent to the server": refusedByLock(({ call }, { parentPid }) =>
    call("fcntl", 1, 8, parentPid),
  ),
  "read the limits of the server": refusedFromBirth(({ call }, { parentPid }) =>
    call("prlimit64", parentPid, 7, null, allocate(16)),
  ),
  "slow the server down": refusedFromBirth(({ call }, { parentPid }) => call("setpriority", 0, parentPid, 0)),
  "pin the server to a CPU": refusedFromBirth(({ call }, { parentPid }) =>
    call("sched_setaffinity", parentPid, 128, allocate(128).fill(0xff)),
  ),
  "compare itself with the server": refusedFromBirth(({ call }, { parentPid }) =>
    call("kcmp", parentPid, process.pid, 0, 0, 0),
  ),
  trace: {
    run: ({ call }) => call("ptrace", 0, 0, 0, 0),
    control: "succeeds",
    birth: "killed",
    locked: "killed",
  },
  "read another process's memory": {
    run: ({ call }, { siblingPid }) => call("process_vm_readv", siblingPid, null, 0, null, 0, 0),
    control: "succeeds",
    birth: "killed",
    locked: "killed",
  },
  "write another process's memory": {
    run: ({ call }, { siblingPid }) => call("process_vm_writev", siblingPid, null, 0, null, 0, 0),
    control: "succeeds",
    birth: "killed",
    locked: "killed",
  },
  fork: refusedByLock(({ call }) => {
    const pid = call("clone", 17, 0, 0, 0, 0);
    if (pid === 0) call("exit_group", 0);
    return pid;
  }),
  "fork by clone3": {
    run: ({ call }) => call("clone3", null, 0),
    control: [EINVAL],
    birth: [ENOSYS],
    locked: [ENOSYS],
  },
  "start a program": {
    run: ({ call, text }, { program }) => call("execve", text(program), null, null),
    control: "succeeds",
    birth: refused,
    locked: "killed",
  },
  "start a program by descriptor": {
    run: ({ call, text }) => call("execveat", -1, text(""), null, null, 0x1000),
    control: [EBADF],
    birth: "killed",
    locked: "killed",
  },
};

const KEY_SPEC_SESSION_KEYRING = -3;
const IPC_CREAT = 0o1000;

const kernelInterfaces: Record<string, Attack> = {
  "open an io_uring": {
    run: ({ call }) => call("io_uring_setup", 8, allocate(120)),
    control: "succeeds",
    birth: [ENOSYS],
    locked: [ENOSYS],
  },
  "handle its own page faults": refusedFromBirth(({ call }) => call("userfaultfd", 0), "succeeds", {
    controlNeedsRoot: true,
  }),
  "load a BPF program": {
    run: ({ call }) => call("bpf", 0, allocate(72), 72),
    control: [EINVAL],
    controlNeedsRoot: true,
    birth: "killed",
    locked: "killed",
  },
  "watch performance counters": refusedFromBirth(
    ({ call }) => call("perf_event_open", null, 0, -1, -1, 0),
    [EFAULT],
  ),
  "use the kernel's keys": refusedFromBirth(({ call }) => call("keyctl", 0, KEY_SPEC_SESSION_KEYRING, 1)),
  "add a key": refusedFromBirth(
    ({ call, text }) => call("add_key", text("user"), null, null, 0, -3),
    [EINVAL, EFAULT],
  ),
  mount: refusedFromBirth(
    ({ call, text }) => call("mount", text("none"), text("/nowhere"), text("tmpfs"), 0, null),
    [ENOENT],
    {
      controlNeedsRoot: true,
    },
  ),
  "mount the new way": refusedFromBirth(({ call, text }) => call("fsopen", text("tmpfs"), 0), "succeeds", {
    controlNeedsRoot: true,
  }),
  unmount: refusedFromBirth(({ call, text }) => call("umount2", text("/nowhere"), 0), [ENOENT], {
    controlNeedsRoot: true,
  }),
  "open a mount tree": refusedFromBirth(
    ({ call, text }) => call("open_tree", AT_FDCWD, text("/nowhere"), 0),
    [ENOENT],
  ),
  "enter a new network namespace": refusedFromBirth(({ call }) => call("unshare", 0x40000000), "succeeds", {
    controlNeedsRoot: true,
  }),
  "enter a new user namespace": refusedFromBirth(({ call }) => call("unshare", 0x10000000), [EINVAL]),
  "fork into a new user namespace": refusedFromBirth(({ call }) => {
    const pid = call("clone", 0x10000000 | 17, 0, 0, 0, 0);
    if (pid === 0) call("exit_group", 0);
    return pid;
  }),
  "enter another namespace": refusedFromBirth(({ call }) => call("setns", -1, 0), [EBADF]),
  "make shared memory": refusedFromBirth(({ call }) => {
    const id = call("shmget", 0, 4096, IPC_CREAT | 0o600);
    if (id >= 0) call("shmctl", id, 0, null);
    return id;
  }),
  "make a message queue": refusedFromBirth(({ call }) => call("msgget", 0x7eca11, 0), [ENOENT]),
  "make semaphores": refusedFromBirth(({ call }) => call("semget", 0x7eca11, 0, 0), [ENOENT]),
  "open a POSIX message queue": refusedFromBirth(
    ({ call, text }) => call("mq_open", text("nothing"), 0, 0, null),
    [ENOENT],
  ),
  "set the clock": refusedFromBirth(({ call }) => call("clock_settime", 99, allocate(16)), [EINVAL]),
  "change its personality": refusedFromBirth(({ call }) => call("personality", 0xffffffff)),
  "change its user": refusedFromBirth(({ call }) => call("setuid", process.getuid?.() ?? 0)),
  "read the kernel's log": refusedFromBirth(({ call }) => call("syslog", 10, null, 0), "succeeds", {
    controlNeedsRoot: true,
  }),
  "allow itself to be dumped": refusedFromBirth(({ call }) => call("prctl", 4, 1)),
  "type into a terminal": refusedFromBirth(({ call }) => call("ioctl", 0, 0x5412, allocate(1)), [ENOTTY]),
  "type into a terminal, with high bits set": refusedFromBirth(
    ({ call }) => call("ioctl", 0, 0x5412n | (1n << 40n), allocate(1)),
    [ENOTTY],
  ),
  "outlive its parent": refusedByLock(({ call }) => call("prctl", 1, 0)),
  "raise its own limits": refusedByLock(({ call }) => {
    const limits = allocate(16).fill(0xff);
    return call("prlimit64", 0, 1, limits, null);
  }),
  "add a filter of its own": refusedByLock(({ call }) => call("seccomp", 2, 0, allocate(4).fill(0))),
  "make a Landlock ruleset": refusedByLock(({ call }) => call("landlock_create_ruleset", null, 0, 1)),
  "duplicate a descriptor": refusedByLock(({ call }) => call("dup", 0)),
  "make a pipe": refusedByLock(({ call }) => call("pipe2", allocate(8), 0)),
  "get a descriptor for signals": refusedByLock(({ call }) => call("signalfd4", -1, allocate(8), 8, 0)),
  "start a timer that signals": refusedByLock(({ call }) => call("timer_create", 1, null, allocate(8))),
  "call by an x32 number": {
    run: ({ raw }) => raw(0x40000000 + 39),
    control: [ENOSYS],
    birth: "killed",
    locked: "killed",
    only: "x86_64",
  },
  "call by the 32-bit gate": {
    // mov eax, 20 (getpid); int 0x80; ret
    run: ({ runMachineCode }) => runMachineCode([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]),
    control: "succeeds",
    birth: "killed",
    locked: "killed",
    only: "x86_64",
  },
  "call a number of a future kernel": {
    run: ({ raw }) => raw(3000),
    control: [ENOSYS],
    birth: [ENOSYS],
    locked: [ENOSYS],
  },
};

export const ATTACKS: Readonly<Record<string, Attack>> = {
  ...filesAndPaths,
  ...network,
  ...processes,
  ...kernelInterfaces,
};

/** What Landlock alone, at birth and without any filter, is there to stop; and what it does not reach. */
export const LANDLOCK_ALONE: Readonly<Record<string, readonly number[] | "open">> = {
  "read a file": [EACCES],
  "read a file by openat2": [EACCES],
  "list the root directory": [EACCES],
  "read the server's environment": [EACCES],
  "write the spawner thread's memory": [EACCES],
  "write its own memory past its protection": [EACCES],
  "open a file for writing": [EACCES],
  "make a nameless file": [EACCES],
  "start a program": [EACCES],
  "connect by TCP": [EACCES],
  "listen by TCP": [EACCES],
  "connect to an abstract Unix socket": [EPERM],
  "signal the server": [EPERM],
  "queue a signal for the server": [EPERM],
  "signal the spawner thread": "open",
  "signal another child": "open",
  "send by UDP": "open",
  "connect to a Unix socket by path": "open",
  "change a file's mode": "open",
  "see whether a file exists": "open",
};
