/**
 * Linux constants under the names of their kernel headers. Values are the same on x86_64 and aarch64 unless noted;
 * system call numbers are in seccomp/syscall-numbers.ts.
 */

// linux/prctl.h
export const PR_SET_PDEATHSIG = 1;
export const PR_SET_DUMPABLE = 4;
export const PR_SET_NAME = 15;
export const PR_CAPBSET_DROP = 24;
export const PR_SET_MM = 35;
export const PR_SET_NO_NEW_PRIVS = 38;
export const PR_GET_TID_ADDRESS = 40;
export const PR_SET_VMA = 0x53564d41;
export const PR_SET_PTRACER = 0x59616d61;

// linux/capability.h
export const CAP_SETPCAP = 8;
export const LINUX_CAPABILITY_VERSION_3 = 0x20080522;

// linux/syslog.h
export const SYSLOG_ACTION_READ_ALL = 3;

// linux/ptrace.h
export const PTRACE_PEEKTEXT = 1;

// linux/wait.h
export const WNOHANG = 1;
export const WEXITED = 4;
export const WNOWAIT = 0x1000000;
export const P_PGID = 2;

// asm-generic/signal.h
export const SIGKILL = 9;
export const SIGCHLD = 17;

// asm-generic/errno-base.h, asm-generic/errno.h
export const EPERM = 1;
export const ENOMEM = 12;
export const EACCES = 13;
export const EFAULT = 14;
export const EINVAL = 22;
export const ENOSYS = 38;

// asm-generic/fcntl.h
export const AT_FDCWD = -100;
export const F_GETFD = 1;
export const F_SETFD = 2;
export const F_GETFL = 3;
export const F_SETFL = 4;
export const O_ACCMODE = 0o3;
export const O_WRONLY = 0o1;
export const O_CREAT = 0o100;
export const O_TRUNC = 0o1000;
export const O_CLOEXEC = 0o2000000;
export const O_PATH = 0o10000000;

// asm-generic/poll.h
export const POLLIN = 1;

// linux/close_range.h
export const CLOSE_RANGE_CLOEXEC = 4;

// linux/sched.h
export const CLONE_PTRACE = 0x2000;
export const CLONE_PARENT = 0x8000;
export const CLONE_THREAD = 0x10000;
export const CLONE_CHILD_CLEARTID = 0x200000;
export const CLONE_CHILD_SETTID = 0x1000000;
export const CLONE_NEWUSER = 0x10000000;
export const CLONE_NEW_ANY = 0x7e020080;

// asm-generic/mman-common.h
export const PROT_READ = 1;
export const PROT_READ_WRITE = 3;
export const PROT_EXEC = 4;
export const MAP_SHARED_ANONYMOUS = 0x21;
export const MAP_PRIVATE = 0x02;
export const MAP_FIXED = 0x10;
export const MAP_ANONYMOUS = 0x20;
export const MAP_NORESERVE = 0x4000;
export const MAP_STACK = 0x20000;
export const MAP_HUGETLB = 0x40000;
export const MAP_FIXED_NOREPLACE = 0x100000;
export const MADV_DONTNEED = 4;
export const MADV_FREE = 8;
export const MADV_DONTFORK = 10;
export const MADV_MERGEABLE = 12;
export const MAP_PRIVATE_ANONYMOUS = 0x22;

// linux/socket.h, linux/net.h
export const AF_UNIX = 1;
export const AF_INET = 2;
export const SOCK_STREAM = 1;
export const SOCK_SEQPACKET = 5;
export const SOCK_CLOEXEC = 0o2000000;
export const SOL_SOCKET = 1;
export const SCM_RIGHTS = 1;
export const MSG_DONTWAIT = 0x40;
export const MSG_NOSIGNAL = 0x4000;

// asm-generic/ioctls.h
export const TIOCSTI = 0x5412;
export const TIOCLINUX = 0x541c;
export const FIONBIO = 0x5421;
export const FIOCLEX = 0x5451;

// asm-generic/resource.h
export const RLIM_INFINITY = 2n ** 64n - 1n;
export const RLIMIT_CPU = 0;
export const RLIMIT_FSIZE = 1;
export const RLIMIT_DATA = 2;
export const RLIMIT_CORE = 4;
export const RLIMIT_NOFILE = 7;

// linux/seccomp.h
export const SECCOMP_SET_MODE_FILTER = 1;
export const SECCOMP_GET_ACTION_AVAIL = 2;
export const SECCOMP_FILTER_FLAG_TSYNC = 1;
export const SECCOMP_RET_KILL_PROCESS = 0x80000000;
export const SECCOMP_RET_ERRNO = 0x00050000;
export const SECCOMP_RET_ALLOW = 0x7fff0000;
/** Offsets in struct seccomp_data. */
export const SECCOMP_DATA_NR = 0;
export const SECCOMP_DATA_ARCH = 4;
export const SECCOMP_DATA_ARGS = 16;

// linux/audit.h
export const AUDIT_ARCH_X86_64 = 0xc000003e;
export const AUDIT_ARCH_AARCH64 = 0xc00000b7;

// asm/unistd.h (x86 only)
export const X32_SYSCALL_BIT = 0x40000000;

// linux/landlock.h
export const LANDLOCK_CREATE_RULESET_VERSION = 1;
export const LANDLOCK_RULE_PATH_BENEATH = 1;
export const LANDLOCK_ACCESS_FS_EXECUTE = 1n << 0n;
export const LANDLOCK_ACCESS_FS_READ_FILE = 1n << 2n;
export const LANDLOCK_ACCESS_FS_ABI1 = (1n << 13n) - 1n;
export const LANDLOCK_ACCESS_FS_REFER = 1n << 13n;
export const LANDLOCK_ACCESS_FS_TRUNCATE = 1n << 14n;
export const LANDLOCK_ACCESS_FS_IOCTL_DEV = 1n << 15n;
/** ABI 4: LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP. */
export const LANDLOCK_ACCESS_NET_TCP = 3n;
/** ABI 6: LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL. */
export const LANDLOCK_SCOPE_ALL = 3n;
/** ABI 8: restricts every thread of the process, not only the caller. */
export const LANDLOCK_RESTRICT_SELF_TSYNC = 1 << 3;

/** Numbers used by our own calls: asm/unistd_64.h, and asm-generic/unistd.h for aarch64. */
export const isAarch64 = process.arch === "arm64";
export const NR_FCNTL = isAarch64 ? 25 : 72;
export const NR_DUP3 = isAarch64 ? 24 : 292;
export const NR_GETPID = isAarch64 ? 172 : 39;
export const NR_GETPPID = isAarch64 ? 173 : 110;
export const NR_SOCKETPAIR = isAarch64 ? 199 : 53;
export const NR_SENDMSG = isAarch64 ? 211 : 46;
export const NR_RECVMSG = isAarch64 ? 212 : 47;
export const NR_CLONE = isAarch64 ? 220 : 56;
export const NR_EXIT_GROUP = isAarch64 ? 94 : 231;
export const NR_SYSLOG = isAarch64 ? 116 : 103;
export const NR_CAPSET = isAarch64 ? 91 : 126;
export const NR_PRCTL = isAarch64 ? 167 : 157;
export const NR_GETTID = isAarch64 ? 178 : 186;
export const NR_PPOLL = isAarch64 ? 73 : 271;
export const NR_PIPE2 = isAarch64 ? 59 : 293;
export const NR_PRLIMIT64 = isAarch64 ? 261 : 302;
export const NR_WAIT4 = isAarch64 ? 260 : 61;
export const NR_WAITID = isAarch64 ? 95 : 247;
export const NR_SECCOMP = isAarch64 ? 277 : 317;
export const NR_CLOSE_RANGE = 436;
export const NR_LANDLOCK_CREATE_RULESET = 444;
export const NR_LANDLOCK_ADD_RULE = 445;
export const NR_LANDLOCK_RESTRICT_SELF = 446;
