/**
 * The jail's two filters, as data. The birth filter lists what is refused: Node must start and the spawner must fork.
 * The self-lock lists what is allowed: what a started Node needs to compute, and nothing that opens, names or reaches
 * anything new.
 */
import {
  CLONE_NEW_ANY,
  CLONE_PTRACE,
  CLONE_THREAD,
  EINVAL,
  ENOSYS,
  EPERM,
  F_GETFD,
  F_GETFL,
  F_SETFD,
  F_SETFL,
  FIOCLEX,
  FIONBIO,
  MADV_DONTFORK,
  MADV_DONTNEED,
  MADV_FREE,
  MAP_ANONYMOUS,
  MAP_FIXED,
  MAP_FIXED_NOREPLACE,
  MAP_NORESERVE,
  MAP_PRIVATE,
  MAP_STACK,
  O_ACCMODE,
  O_CREAT,
  O_TRUNC,
  PR_SET_DUMPABLE,
  PR_SET_MM,
  PR_SET_NAME,
  PR_SET_PTRACER,
  PR_SET_VMA,
  PROT_EXEC,
  TIOCLINUX,
  TIOCSTI,
} from "../kernel/kernel-headers.ts";
import { OWN_PID } from "./bpf.ts";
import type { Condition, Policy, Rule, Verdict } from "./compile.ts";
import {
  ABSENT,
  ATTACKS,
  CHANGES_TO_FILES,
  COMPUTING,
  IDENTITY,
  KERNEL,
  OTHER_PROCESSES,
  SHARED_MEMORY_AND_QUEUES,
  SOCKETS,
} from "./groups.ts";
import type { SyscallName } from "./syscall-numbers.ts";

const refused: Verdict = { errno: EPERM };
const invalid: Verdict = { errno: EINVAL };
/** glibc and libuv then fall back to the older call, whose arguments a filter can read. */
const absent: Verdict = { errno: ENOSYS };

function int(argument: Condition["argument"], value: number | typeof OWN_PID): Condition {
  const word = value === OWN_PID ? OWN_PID : BigInt.asUintN(32, BigInt(value));
  return { argument, bits: 32, is: "equal", value: word };
}

function hasBits(argument: Condition["argument"], mask: number): Condition {
  return { argument, bits: 32, mask: BigInt(mask), is: "different", value: 0n };
}

function hasNoBits(argument: Condition["argument"], mask: number): Condition {
  return { ...hasBits(argument, mask), is: "equal" };
}

function allow(calls: readonly SyscallName[], ...when: Condition[]): Rule {
  return { calls, when, verdict: "allow" };
}

function deny(calls: readonly SyscallName[], ...when: Condition[]): Rule {
  return { calls, when, verdict: refused };
}

/**
 * In force in the spawner and, from its first instruction, in every child. `serverPid` is the process that contains
 * the spawner: its threads share the children's Landlock domain, so only this filter keeps signals from them. OWN_PID
 * stands for the process that installs the filter.
 */
export function birthPolicy(serverPid: number | typeof OWN_PID): Policy {
  return {
    rules: [
      { calls: ATTACKS, verdict: "kill" },
      { calls: ABSENT, verdict: absent },
      deny(SOCKETS.filter((call) => call !== "recvmsg")),
      // A zygote receives its forks' pipes on this descriptor. Other children have a pipe there, on which the call
      // fails.
      deny(["recvmsg"], { argument: 0, bits: 32, is: "different", value: 0n }),
      // V8 uses this advice to exclude its heap from forks and tolerates a refusal: the zygote must be forked with
      // its heap.
      { calls: ["madvise"], when: [int(2, MADV_DONTFORK)], verdict: invalid },
      deny(OTHER_PROCESSES),
      deny(["tgkill"], int(0, serverPid)),
      // Node raises its own soft limit of open files at startup.
      deny(["prlimit64"], { argument: 0, bits: 32, is: "different", value: 0n }),
      deny(SHARED_MEMORY_AND_QUEUES),
      deny(CHANGES_TO_FILES),
      deny(KERNEL),
      deny(IDENTITY),
      deny(["open"], hasBits(1, O_ACCMODE | O_CREAT | O_TRUNC)),
      deny(["openat"], hasBits(2, O_ACCMODE | O_CREAT | O_TRUNC)),
      deny(["clone"], hasBits(0, CLONE_NEW_ANY)),
      deny(["ioctl"], int(1, TIOCSTI)),
      deny(["ioctl"], int(1, TIOCLINUX)),
      deny(["prctl"], int(0, PR_SET_DUMPABLE)),
      deny(["prctl"], int(0, PR_SET_MM)),
      deny(["prctl"], int(0, PR_SET_PTRACER)),
    ],
    otherwise: "allow",
    unknown: absent,
  };
}

export interface SelfLockOptions {
  /** Forbids executable memory; Node must then run with `--jitless`. */
  paranoid: boolean;
  /** Allows starting threads. Without it, a child must start its threads before it locks itself. */
  startsThreads?: boolean;
}

/**
 * Private memory, by the flags of V8 and glibc. Excludes memory that RLIMIT_DATA does not count (MAP_SHARED,
 * MAP_GROWSDOWN) or that comes from a machine-wide pool (MAP_HUGETLB).
 */
const PRIVATE_MEMORY: Condition = {
  argument: 3,
  bits: 32,
  mask: BigInt.asUintN(
    32,
    BigInt(~(MAP_ANONYMOUS | MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_NORESERVE | MAP_STACK)),
  ),
  is: "equal",
  value: BigInt(MAP_PRIVATE),
};

/** Observed in working children and isolates, except MADV_FREE, with which V8 returns pages on other kernels. */
const ADVICE = [MADV_DONTNEED, MADV_FREE, MADV_DONTFORK];

/** A child installs this on all its threads before it gets a script. */
export function selfLockPolicy({ paranoid, startsThreads = false }: SelfLockOptions): Policy {
  const protect: readonly SyscallName[] = ["mprotect", "pkey_mprotect"];
  const whenSafe = paranoid ? [hasNoBits(2, PROT_EXEC)] : [];
  return {
    rules: [
      allow(COMPUTING),
      allow(["mmap"], PRIVATE_MEMORY, ...whenSafe),
      allow(protect, ...whenSafe),
      ...ADVICE.map((advice) => allow(["madvise"], int(2, advice))),
      // Allows threads of this process only: glibc starts them with clone once clone3 is absent.
      ...(startsThreads
        ? [allow(["clone"], hasBits(0, CLONE_THREAD), hasNoBits(0, CLONE_NEW_ANY | CLONE_PTRACE))]
        : []),
      allow(["tgkill"], int(0, OWN_PID)),
      allow(["prctl"], int(0, PR_SET_NAME)),
      allow(["prctl"], int(0, PR_SET_VMA)),
      allow(
        ["prlimit64"],
        { argument: 0, bits: 32, is: "equal", value: 0n },
        { argument: 2, bits: 64, is: "equal", value: 0n },
      ),
      ...[F_GETFD, F_SETFD, F_GETFL, F_SETFL].map((command) => allow(["fcntl"], int(1, command))),
      ...[FIONBIO, FIOCLEX].map((request) => allow(["ioctl"], int(1, request))),
      { calls: ABSENT, verdict: absent },
      { calls: [...ATTACKS, "execve"], verdict: "kill" },
    ],
    otherwise: refused,
    unknown: absent,
  };
}
