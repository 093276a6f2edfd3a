/** Landlock requests on each ABI: a kernel rejects rights and structures it does not know. */
import { describe, expect, it } from "vitest";
import type { Kernel, KernelArgument } from "#runner/jail/kernel/syscalls.ts";
import { landlockAbi, landlockScope, restrictToFiles } from "#runner/jail/landlock.ts";

const CREATE_RULESET = 444;
const ADD_RULE = 445;
const RESTRICT_SELF = 446;
const CLOSE_RANGE = 436;
const RULESET_FD = 17;
const EINVAL = -22;

type Answers = (number: number, args: readonly KernelArgument[]) => number;

/** A kernel that remembers what it was asked. */
function recordingKernel(answer: Answers): { kernel: Kernel; calls: [number, ...KernelArgument[]][] } {
  const calls: [number, ...KernelArgument[]][] = [];
  const kernel: Kernel = {
    syscall(number, ...args) {
      calls.push([number, ...args]);
      return answer(number, args);
    },
    prctl: () => 0,
    prlimit: () => 0,
    addressOf: () => 0n,
  };
  return { kernel, calls };
}

function words(memory: KernelArgument | undefined): bigint[] {
  if (!(memory instanceof Uint8Array)) throw new Error("a structure was expected");
  const view = new DataView(memory.buffer);
  return Array.from({ length: memory.byteLength >> 3 }, (_, index) => view.getBigUint64(index * 8, true));
}

const accepts: Answers = (number) => (number === CREATE_RULESET ? RULESET_FD : 0);

describe("Landlock", () => {
  it.each([
    [1, [0x1fffn]],
    [2, [0x3fffn]],
    [3, [0x7fffn]],
    [4, [0x7fffn, 3n]],
    [5, [0xffffn, 3n]],
    [6, [0xffffn, 3n, 3n]],
    [7, [0xffffn, 3n, 3n]],
    [8, [0xffffn, 3n, 3n]],
    [20, [0xffffn, 3n, 3n]],
  ])("of ABI %i is asked for every right it knows and none beyond", (abi, structure) => {
    const { kernel, calls } = recordingKernel(accepts);
    restrictToFiles(kernel, abi, []);
    expect(words(calls[0]?.[1])).toEqual(structure);
    expect(calls[0]?.[2]).toBe(structure.length * 8);
  });

  it("grants reading, and execution only where it was asked for", () => {
    const { kernel, calls } = recordingKernel(accepts);
    restrictToFiles(kernel, 7, [
      { fd: 5, execute: true },
      { fd: 6, execute: false },
    ]);
    const rules = calls.filter(([number]) => number === ADD_RULE);
    const granted = rules.map(([, ruleset, type, memory]) => {
      if (!(memory instanceof Uint8Array)) throw new Error("a structure was expected");
      const view = new DataView(memory.buffer);
      return [ruleset, type, memory.byteLength, view.getBigUint64(0, true), view.getInt32(8, true)];
    });
    expect(granted).toEqual([
      [RULESET_FD, 1, 12, 0b101n, 5],
      [RULESET_FD, 1, 12, 0b100n, 6],
    ]);
    expect(calls.at(-1)).toEqual([CLOSE_RANGE, RULESET_FD, RULESET_FD, 0]);
  });

  it("covers all threads from ABI 8, and the caller alone where that is refused", () => {
    const flagsOf = (abi: number, answer: Answers) => {
      const { kernel, calls } = recordingKernel(answer);
      restrictToFiles(kernel, abi, []);
      return calls.filter(([number]) => number === RESTRICT_SELF).map(([, , flags]) => flags);
    };
    expect(flagsOf(7, accepts)).toEqual([0]);
    expect(flagsOf(8, accepts)).toEqual([8]);
    expect(
      flagsOf(8, (n, args) => (n === RESTRICT_SELF && args[1] === 8 ? EINVAL : accepts(n, args))),
    ).toEqual([8, 0]);
    expect(landlockScope(7).allThreads).toBe(false);
  });

  it("that refuses a step is an error that names it", () => {
    for (const [refused, step] of [
      [CREATE_RULESET, "landlock_create_ruleset failed with errno 95"],
      [ADD_RULE, "landlock_add_rule for descriptor 5 failed with errno 95"],
      [RESTRICT_SELF, "landlock_restrict_self failed with errno 95"],
    ] as const) {
      const { kernel } = recordingKernel((n, args) => (n === refused ? -95 : accepts(n, args)));
      expect(() => restrictToFiles(kernel, 7, [{ fd: 5, execute: false }])).toThrow(step);
    }
  });

  it("is absent where the kernel knows no such call, or does not enable it", () => {
    expect(landlockAbi(recordingKernel(() => -38).kernel)).toBe(0);
    expect(landlockAbi(recordingKernel(() => -95).kernel)).toBe(0);
    expect(landlockAbi(recordingKernel(() => 4).kernel)).toBe(4);
  });
});
