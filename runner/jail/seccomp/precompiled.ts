/** The filters of the jail compiled ahead, for a build: a program that starts one child would take longer to compile them than to use them. */
import type { BpfProgram } from "./bpf.ts";
import { compileFilters } from "./filters.ts";
import type { Architecture } from "./syscall-numbers.ts";

const ARCHITECTURES: readonly Architecture[] = ["x86_64", "aarch64"];

/**
 * The text of a JavaScript module that can stand in the place of filters.ts: it answers the same for the children of that program,
 * which start no threads.
 */
export function writeFilters(): string {
  const programs = ARCHITECTURES.map((architecture) => {
    const ways = [false, true].map((paranoid) => {
      const { birth, selfLock } = compileFilters(architecture, { paranoid });
      return [`${paranoid}`, { birth: encode(birth), selfLock: encode(selfLock) }];
    });
    return [architecture, Object.fromEntries(ways)];
  });
  return `const programs = ${JSON.stringify(Object.fromEntries(programs))};
const decode = ({ base64, pidOffsets }) => ({ bytes: Uint8Array.fromBase64(base64), pidOffsets });
export function compileFilters(architecture, { paranoid }) {
  const { birth, selfLock } = programs[architecture][paranoid];
  return { birth: decode(birth), selfLock: decode(selfLock) };
}
`;
}

function encode({ bytes, pidOffsets }: BpfProgram) {
  return { base64: Buffer.from(bytes).toString("base64"), pidOffsets };
}
