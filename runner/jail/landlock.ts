/**
 * Landlock limits what the calling thread and everything it starts may open. The ruleset handles every right the
 * kernel's ABI knows, so anything not granted is refused. Irrevocable. Bundled into the child.
 */
import {
  EINVAL,
  LANDLOCK_ACCESS_FS_ABI1,
  LANDLOCK_ACCESS_FS_EXECUTE,
  LANDLOCK_ACCESS_FS_IOCTL_DEV,
  LANDLOCK_ACCESS_FS_READ_FILE,
  LANDLOCK_ACCESS_FS_REFER,
  LANDLOCK_ACCESS_FS_TRUNCATE,
  LANDLOCK_ACCESS_NET_TCP,
  LANDLOCK_CREATE_RULESET_VERSION,
  LANDLOCK_RESTRICT_SELF_TSYNC,
  LANDLOCK_RULE_PATH_BENEATH,
  LANDLOCK_SCOPE_ALL,
  NR_CLOSE_RANGE,
  NR_LANDLOCK_ADD_RULE,
  NR_LANDLOCK_CREATE_RULESET,
  NR_LANDLOCK_RESTRICT_SELF,
} from "./kernel/kernel-headers.ts";
import { allocate, type Kernel } from "./kernel/syscalls.ts";

/** An open descriptor (O_PATH suffices) of a file that stays readable, and whether it may be executed. */
export interface LandlockGrant {
  fd: number;
  execute: boolean;
}

export interface LandlockScope {
  files: boolean;
  tcp: boolean;
  /** True to restrict signals to, and abstract Unix sockets of, processes outside the domain. */
  signals: boolean;
  allThreads: boolean;
}

/** Returns Landlock's ABI version; 0 if the kernel lacks it, disables it, or a container forbids it. */
export function landlockAbi(kernel: Kernel): number {
  return Math.max(0, kernel.syscall(NR_LANDLOCK_CREATE_RULESET, null, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

export function landlockScope(abi: number): LandlockScope {
  return { files: abi >= 1, tcp: abi >= 4, signals: abi >= 6, allThreads: abi >= 8 };
}

/**
 * Restricts the calling thread, or with `all` and a recent ABI every thread, to the granted files. Needs no_new_privs
 * or CAP_SYS_ADMIN. Throws an Error with the step and the errno; never applies a domain in part.
 */
export function restrictToFiles(
  kernel: Kernel,
  abi: number,
  grants: readonly LandlockGrant[],
  threads: "all" | "caller" = "all",
): void {
  const ruleset = makeRuleset(kernel, abi, grants);
  let result = -EINVAL;
  if (threads === "all" && landlockScope(abi).allThreads) {
    result = kernel.syscall(NR_LANDLOCK_RESTRICT_SELF, ruleset, LANDLOCK_RESTRICT_SELF_TSYNC);
  }
  if (result === -EINVAL) result = kernel.syscall(NR_LANDLOCK_RESTRICT_SELF, ruleset, 0);
  kernel.syscall(NR_CLOSE_RANGE, ruleset, ruleset, 0);
  must("landlock_restrict_self", result);
}

/**
 * Returns a close-on-exec descriptor for landlock_restrict_self(2). Restricts nothing by itself. Throws like
 * `restrictToFiles`.
 */
function makeRuleset(kernel: Kernel, abi: number, grants: readonly LandlockGrant[]): number {
  const attributes = rulesetAttributes(abi);
  const ruleset = must(
    "landlock_create_ruleset",
    kernel.syscall(NR_LANDLOCK_CREATE_RULESET, attributes, attributes.byteLength, 0),
  );
  for (const grant of grants) {
    const access = LANDLOCK_ACCESS_FS_READ_FILE | (grant.execute ? LANDLOCK_ACCESS_FS_EXECUTE : 0n);
    must(
      `landlock_add_rule for descriptor ${grant.fd}`,
      kernel.syscall(
        NR_LANDLOCK_ADD_RULE,
        ruleset,
        LANDLOCK_RULE_PATH_BENEATH,
        pathBeneath(access, grant.fd),
        0,
      ),
    );
  }
  return ruleset;
}

/** struct landlock_ruleset_attr, with the length that the ABI knows: the kernel rejects a longer one. */
function rulesetAttributes(abi: number): Uint8Array {
  let files = LANDLOCK_ACCESS_FS_ABI1;
  if (abi >= 2) files |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) files |= LANDLOCK_ACCESS_FS_TRUNCATE;
  if (abi >= 5) files |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
  const scope = landlockScope(abi);
  const memory = allocate(scope.signals ? 24 : scope.tcp ? 16 : 8);
  const view = new DataView(memory.buffer);
  view.setBigUint64(0, files, true);
  if (scope.tcp) view.setBigUint64(8, LANDLOCK_ACCESS_NET_TCP, true);
  if (scope.signals) view.setBigUint64(16, LANDLOCK_SCOPE_ALL, true);
  return memory;
}

/** struct landlock_path_beneath_attr: packed, 12 bytes. */
function pathBeneath(access: bigint, fd: number): Uint8Array {
  const memory = allocate(12);
  const view = new DataView(memory.buffer);
  view.setBigUint64(0, access, true);
  view.setInt32(8, fd, true);
  return memory;
}

function must(step: string, result: number): number {
  if (result < 0) throw new Error(`${step} failed with errno ${-result}`);
  return result;
}
