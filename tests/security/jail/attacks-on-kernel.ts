/** Attacks on interfaces of the kernel, on the limits, and on the filter itself. */
import { allocate } from "#runner/jail/kernel/syscalls.ts";
import {
  AT_FDCWD,
  type Attack,
  EBADF,
  EFAULT,
  EINVAL,
  ENOENT,
  ENOSYS,
  ENOTTY,
  refusedByLock,
  refusedFromBirth,
} from "./attack.ts";

const KEY_SPEC_SESSION_KEYRING = -3;
const IPC_CREAT = 0o1000;

// asm-generic/mman-common.h, asm-generic/mman.h, linux/mman.h
const READ_WRITE = 3;
const MAP_SHARED = 0x01;
const MAP_PRIVATE = 0x02;
const MAP_ANONYMOUS = 0x20;
const MAP_GROWSDOWN = 0x100;
const MAP_NORESERVE = 0x4000;
/** Touches every page at once. */
const MAP_POPULATE = 0x8000;
const MAP_HUGETLB = 0x40000;
const MREMAP_MAYMOVE = 1;
const GIBIBYTE = 2 ** 30;

/** Maps memory and gives it back: the address, or the refusal. */
const mapOnce =
  (bytes: number, flags: number): Attack["run"] =>
  ({ call }) => {
    const address = call("mmap", null, bytes, READ_WRITE, flags, -1, 0);
    if (address >= 0) call("munmap", address, bytes);
    return address;
  };

/** Of no memory at all: the kernel says whether it would take the advice, and does nothing. */
const advise =
  (advice: number): Attack["run"] =>
  ({ call }) =>
    call("madvise", null, 0, advice);

export const kernelInterfaces: Record<string, Attack> = {
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
  "touch a gigabyte of shared memory, which counts as nobody's data": refusedByLock(
    mapOnce(GIBIBYTE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE),
  ),
  "map shared memory, with high bits set": refusedByLock(({ call }) =>
    call("mmap", null, 4096, READ_WRITE, (1n << 40n) | BigInt(MAP_SHARED | MAP_ANONYMOUS), -1, 0),
  ),
  "map huge pages": refusedByLock(
    mapOnce(2 * 2 ** 20, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_HUGETLB),
  ),
  "map a stack, which counts as nobody's data": refusedByLock(
    mapOnce(GIBIBYTE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_GROWSDOWN),
  ),
  "enlarge memory in another place": refusedByLock(({ call }) => {
    const address = call("mmap", null, 4096, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return call("mremap", address, 4096, 8192, MREMAP_MAYMOVE, 0);
  }),
  "make a file of memory": refusedFromBirth(({ call, text }) => call("memfd_create", text("x"), 0)),
  "make a file of huge pages": refusedFromBirth(
    ({ call, text }) => call("memfd_create", text("x"), 4),
    "succeeds",
    { controlMayLack: [ENOSYS, EINVAL] },
  ),
  "poison a page of memory": refusedByLock(advise(100), "succeeds", { controlMayLack: [EINVAL] }),
  "take a page of memory offline": refusedByLock(advise(101), "succeeds", { controlMayLack: [EINVAL] }),
  "have its memory merged with its neighbours'": refusedByLock(advise(12), "succeeds", {
    controlMayLack: [EINVAL],
  }),
  "have its memory swapped out": refusedByLock(advise(21)),
  "have its memory counted as cold": refusedByLock(advise(20)),
  "have pages of memory made at once": refusedByLock(advise(23)),
  "take part in the merging of memory": refusedByLock(({ call }) => call("prctl", 67, 0), "succeeds", {
    controlMayLack: [EINVAL],
  }),
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
    // A guest without hardware virtualization (PVM) has no such gate, whatever its kernel was built with.
    absentWhen: "SIGSEGV",
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
