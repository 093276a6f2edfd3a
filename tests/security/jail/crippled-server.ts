/**
 * A server on a machine that lacks something: refuses itself the named system calls the way an old kernel or a strict
 * container would, then opens the jail: `node … <level> <errno> <call> …`. Prints what came of it as JSON.
 */
import { openJail } from "#runner/jail/jail.ts";
import { openKernel } from "#runner/jail/kernel/syscalls.ts";
import { compilePolicy } from "#runner/jail/seccomp/compile.ts";
import { installFilter } from "#runner/jail/seccomp/install.ts";
import type { SyscallName } from "#runner/jail/seccomp/syscall-numbers.ts";

const PR_SET_NO_NEW_PRIVS = 38;
const [level, errno, ...calls] = process.argv.slice(2);
if (calls.length > 0) {
  const kernel = openKernel();
  kernel.prctl(PR_SET_NO_NEW_PRIVS, 1);
  const policy = {
    rules: [{ calls: calls as SyscallName[], verdict: { errno: Number(errno) } }],
    otherwise: "allow",
    unknown: "allow",
  } as const;
  installFilter(kernel, compilePolicy(policy, process.arch === "arm64" ? "aarch64" : "x86_64"), "process");
}
try {
  await using jail = await openJail({
    level: level === "standard" ? "standard" : "strict",
    nodePath: process.execPath,
    readable: [],
    paranoid: false,
  });
  const { seccomp, landlockAbi } = jail.probe;
  console.log(
    JSON.stringify({ opened: true, seccomp: seccomp === true, landlock: typeof landlockAbi === "number" }),
  );
} catch (error) {
  console.log(
    JSON.stringify({ opened: false, name: (error as Error).name, message: (error as Error).message }),
  );
}
