/**
 * In place of runner/child/contexts.ts in a child for tests only: the script gets what is behind layer 0. It runs in the host's
 * realm, with `host` in its hands: Node's own objects, and system calls through FFI that was opened before it was taken away.
 */
import { Script } from "node:vm";
import { createScriptContext as createReal, type ScriptContext } from "../../../runner/child/contexts.ts";
import { WARM_UP_CODE } from "../../../runner/child/warm-up.ts";
import { allocate, openKernel } from "../../../runner/jail/kernel/syscalls.ts";

const kernel = openKernel();
const { process, Buffer, setTimeout } = globalThis;
const builtin = process.getBuiltinModule;

export function createScriptContext(...parameters: Parameters<typeof createReal>): ScriptContext {
  const real = createReal(...parameters);
  return {
    ...real,
    compile(code) {
      if (code === WARM_UP_CODE) return real.compile(code);
      Object.assign(globalThis, {
        host: { process, Buffer, setTimeout, builtin, syscall: kernel.syscall, allocate },
      });
      return new Script(code, { filename: "script.ts" }).runInThisContext();
    },
  };
}
