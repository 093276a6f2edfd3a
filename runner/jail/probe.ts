/**
 * Asks what this machine, kernel and Node offer for the jail, instead of deriving it from versions. Each absence has
 * a reason and a remedy. Callers judge the results.
 */
import { readFileSync } from "node:fs";
import { release } from "node:os";
import { findCgroups } from "./cgroups/open.ts";
import { NR_SYSLOG, SYSLOG_ACTION_READ_ALL } from "./kernel/kernel-headers.ts";
import { allocate, type Kernel, openKernel } from "./kernel/syscalls.ts";
import { landlockAbi } from "./landlock.ts";
import { hasSeccomp } from "./seccomp/install.ts";
import type { Architecture } from "./seccomp/syscall-numbers.ts";

export interface Absence {
  reason: string;
  fix: string;
}

export interface JailProbe {
  nodeVersion: string;
  platform: string;
  kernelRelease: string;
  /** Null on an architecture without filters. */
  architecture: Architecture | null;
  ffi: true | Absence;
  seccomp: true | Absence;
  landlockAbi: number | Absence;
  /** Version of a partly writable tree with the memory, pids and cpu controllers. */
  cgroups: 1 | 2 | Absence;
  /** A user-space kernel that identifies itself in its log (gVisor), or null. */
  ownKernel: string | null;
  /** kernel.yama.ptrace_scope; null without Yama. */
  yamaPtraceScope: number | null;
}

/** Asks once and changes nothing. Examines control groups, which take longest, only when their result is read. */
export function probeJail(open: () => Kernel = openKernel): JailProbe {
  const base = {
    nodeVersion: process.version,
    platform: `${process.platform}-${process.arch}`,
    kernelRelease: release(),
    architecture: architectureOf(process.platform, process.arch),
    yamaPtraceScope: readYama(),
  };
  if (process.platform !== "linux") {
    const absent = {
      reason: `${process.platform} has no seccomp, Landlock or prlimit`,
      fix: "run the server on Linux, or in a Linux container or virtual machine",
    };
    return { ...base, ffi: absent, seccomp: absent, landlockAbi: absent, cgroups: absent, ownKernel: null };
  }
  let kernel: Kernel;
  try {
    kernel = open();
  } catch (error) {
    const absent = {
      reason: error instanceof Error ? error.message : String(error),
      fix: "start the server with the Node that package.json pins, which the image has, without --no-experimental-ffi",
    };
    return {
      ...base,
      ffi: absent,
      seccomp: absent,
      landlockAbi: absent,
      ownKernel: null,
      get cgroups() {
        return probeCgroups();
      },
    };
  }
  return {
    ...base,
    ffi: true,
    seccomp: probeSeccomp(kernel, base.architecture),
    landlockAbi: probeLandlock(kernel),
    ownKernel: findOwnKernel(kernel),
    get cgroups() {
      return probeCgroups();
    },
  };
}

function architectureOf(platform: string, arch: string): Architecture | null {
  if (platform !== "linux") return null;
  if (arch === "x64") return "x86_64";
  return arch === "arm64" ? "aarch64" : null;
}

function probeSeccomp(kernel: Kernel, architecture: Architecture | null): true | Absence {
  if (architecture === null) {
    return {
      reason: `there is no filter for ${process.arch}`,
      fix: "run the server on x64 or arm64",
    };
  }
  if (hasSeccomp(kernel)) return true;
  return {
    reason: "the kernel has no seccomp filters, or the container forbids the seccomp call",
    fix: "use a kernel of 4.14 or later with CONFIG_SECCOMP_FILTER, and a container profile that allows seccomp(2) (the default profiles of Docker, containerd and CRI-O do)",
  };
}

function probeLandlock(kernel: Kernel): number | Absence {
  const abi = landlockAbi(kernel);
  if (abi > 0) return abi;
  return {
    reason: "the kernel has no Landlock, does not enable it, or the container forbids it",
    fix: "use a kernel of 5.13 or later (6.12 for signals) with landlock in its lsm= list, and a container profile that allows landlock_create_ruleset(2)",
  };
}

/** First words of gVisor's log. A container's profile may forbid reading the log; then the kernel stays unknown. */
const GVISOR = "Starting gVisor";
const LOG_BYTES = 4096;

function findOwnKernel(kernel: Kernel): string | null {
  const log = allocate(LOG_BYTES);
  const length = kernel.syscall(NR_SYSLOG, SYSLOG_ACTION_READ_ALL, log, LOG_BYTES);
  return Buffer.from(log.subarray(0, Math.max(0, length))).includes(GVISOR) ? "gVisor" : null;
}

function probeCgroups(): 1 | 2 | Absence {
  try {
    const found = findCgroups();
    return found.version === 0 ? { reason: found.reason, fix: found.fix } : found.version;
  } catch (error) {
    return { reason: String(error), fix: "mount /proc" };
  }
}

function readYama(): number | null {
  try {
    return Number(readFileSync("/proc/sys/kernel/yama/ptrace_scope", "latin1"));
  } catch {
    return null;
  }
}
