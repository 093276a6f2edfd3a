/**
 * Loaded before a program (`--import`): the machine then lacks the system calls that CRIPPLED names, the way an old kernel or a strict
 * container would.
 */
import { isMainThread } from "node:worker_threads";
import { openKernel } from "#runner/jail/kernel/syscalls.ts";
import { compilePolicy } from "#runner/jail/seccomp/compile.ts";
import { installFilter } from "#runner/jail/seccomp/install.ts";
import type { SyscallName } from "#runner/jail/seccomp/syscall-numbers.ts";

const ENOSYS = 38;
const PR_SET_NO_NEW_PRIVS = 38;
const calls = (process.env.CRIPPLED ?? "").split(" ").filter((name) => name !== "") as SyscallName[];
if (isMainThread && calls.length > 0) {
  const kernel = openKernel();
  kernel.prctl(PR_SET_NO_NEW_PRIVS, 1);
  const policy = {
    rules: [{ calls, verdict: { errno: ENOSYS } }],
    otherwise: "allow",
    unknown: "allow",
  } as const;
  installFilter(kernel, compilePolicy(policy, process.arch === "arm64" ? "aarch64" : "x86_64"), "process");
}
