/**
 * A child that has kept its way to the kernel: what a script would be that has taken over the engine. Locks itself as
 * told, reports `ready`, then performs the attacks it is named on stdin, one per line, and answers each on stdout.
 */
import { readSync, writeSync } from "node:fs";
import { loadFfi, openKernel } from "#runner/jail/kernel/syscalls.ts";
import { lockKernel } from "#runner/jail/lock-self.ts";
import { openCalls, type Targets } from "./attack.ts";
import { ATTACKS } from "./attacks.ts";

const PAGE_BYTES = 4096n;
const READ_WRITE_EXECUTE = 7;

const [lockWord = "", targetsWord = "{}"] = process.argv.slice(2);
const targets = JSON.parse(targetsWord) as Targets;
const kernel = openKernel();
const ffi = loadFfi();
const libc = new ffi.DynamicLibrary(null);
const getpid = libc.getFunction("getpid", { return: "int32", arguments: [] });
const mprotect = libc.getFunction("mprotect", { return: "int32", arguments: ["uint64", "uint64", "int32"] });

function runMachineCode(code: readonly number[]): number {
  const address = getpid.pointer;
  const page = address - (address % PAGE_BYTES);
  if (mprotect(page, 2n * PAGE_BYTES, READ_WRITE_EXECUTE) !== 0) return -1;
  code.forEach((byte, index) => {
    ffi.setUint8(address, index, byte);
  });
  return getpid();
}

function readLine(): string | null {
  const byte = Buffer.alloc(1);
  let line = "";
  for (;;) {
    if (readSync(0, byte) === 0) return null;
    const character = byte.toString("latin1");
    if (character === "\n") return line;
    line += character;
  }
}

if (lockWord !== "") lockKernel(JSON.parse(lockWord));
const calls = openCalls(kernel, runMachineCode);
writeSync(1, "ready\n");
for (let name = readLine(); name !== null; name = readLine()) {
  const attack = ATTACKS[name];
  writeSync(1, attack ? `${attack.run(calls, targets)}\n` : "no such attack\n");
}
