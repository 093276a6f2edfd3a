/**
 * An environment on a machine that lacks something: refuses itself the named system calls the way an old kernel or a strict
 * container would, then sets the environment up and runs one script: `node … <environment> <level> <errno> <call> …`.
 * `paranoid` is the process environment with that setting. Prints what came of it as JSON.
 */

import { instantiate as instantiateIvm } from "#modules/typescript-ivm/index.ts";
import { instantiate as instantiateProcess } from "#modules/typescript-process/index.ts";
import { openKernel } from "#runner/jail/kernel/syscalls.ts";
import { compilePolicy } from "#runner/jail/seccomp/compile.ts";
import { installFilter } from "#runner/jail/seccomp/install.ts";
import type { SyscallName } from "#runner/jail/seccomp/syscall-numbers.ts";
import type { IsolationLevel } from "#sdk";
import { inParts } from "#tests/contract/in-parts.ts";

const PR_SET_NO_NEW_PRIVS = 38;
const [name, level, errno, ...calls] = process.argv.slice(2);
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
const environment = inParts(name === "typescript-ivm" ? instantiateIvm() : instantiateProcess());
const refuse = async () => {
  throw new Error("not needed here");
};
let result: unknown;
try {
  await environment.setup({
    config: name === "paranoid" ? { paranoid: true } : {},
    secrets: {},
    fetch: globalThis.fetch,
    isolation: level as IsolationLevel,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    bindings: {
      invokeTool: refuse,
      discoverServices: refuse,
      discoverTools: refuse,
      getService: refuse,
      getTool: refuse,
      getToolDocs: refuse,
      ask: refuse,
      setState() {},
      setError() {},
      emitStdout() {},
      emitStderr() {},
      emitOutput() {},
      setUsage() {},
      setResult: (_, value) => {
        result = value;
      },
    },
  });
  const isolation = environment.status?.().isolation;
  const obtained = isolation?.layers.filter((layer) => layer.obtained).map(({ layer }) => layer);
  await environment.execute({ eid: 1, code: "return 1 + 1" });
  await environment.teardown();
  console.log(JSON.stringify({ level: isolation?.level, obtained, result }));
} catch (error) {
  console.log(JSON.stringify({ message: (error as Error).message }));
}
