/** The filters of the jail: what each program answers, for every system call, on both architectures. */
import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assemble, type BpfProgram, type Label, OWN_PID, type Step } from "#runner/jail/seccomp/bpf.ts";
import {
  type Condition,
  compilePolicy,
  type Policy,
  type Rule,
  type Verdict,
} from "#runner/jail/seccomp/compile.ts";
import { birthPolicy, selfLockPolicy } from "#runner/jail/seccomp/policies.ts";
import {
  type Architecture,
  HIGHEST_KNOWN_SYSCALL,
  SYSCALL_NAMES,
  type SyscallName,
  syscallNumber,
} from "#runner/jail/seccomp/syscall-numbers.ts";
import { runSeccomp } from "./jail-bpf-interpreter.ts";

const ARCHITECTURES: Architecture[] = ["x86_64", "aarch64"];
const AUDIT_ARCH = { x86_64: 0xc000003e, aarch64: 0xc00000b7 };
const OWN = 4242;
const SERVER = 77;

/** The program as it is installed by process OWN. */
function installed({ bytes, pidOffsets }: BpfProgram): Uint8Array {
  const copy = Uint8Array.from(bytes);
  for (const offset of pidOffsets) new DataView(copy.buffer).setUint32(offset, OWN, true);
  return copy;
}

function nameOf(result: number): string {
  if (result === 0x7fff0000) return "allow";
  if (result === 0x80000000) return "kill";
  if ((result & 0xffff0000) === 0x00050000) return `errno ${result & 0xffff}`;
  return `0x${result.toString(16)}`;
}

function verdictName(verdict: Verdict): string {
  return typeof verdict === "string" ? verdict : `errno ${verdict.errno}`;
}

/** What the policy says, straight from its data. */
function expected(
  policy: Policy,
  architecture: Architecture,
  number: number,
  args: readonly bigint[],
): string {
  if (number > HIGHEST_KNOWN_SYSCALL) {
    return architecture === "x86_64" && number >= 0x40000000 ? "kill" : verdictName(policy.unknown);
  }
  for (const rule of policy.rules) {
    if (!rule.calls.some((name) => syscallNumber(name, architecture) === number)) continue;
    if ((rule.when ?? []).every((condition) => holds(condition, args))) return verdictName(rule.verdict);
  }
  return verdictName(policy.otherwise);
}

function holds(condition: Condition, args: readonly bigint[]): boolean {
  const value = condition.value === OWN_PID ? BigInt(OWN) : condition.value;
  const argument = BigInt.asUintN(condition.bits, args[condition.argument] ?? 0n);
  const masked = argument & (condition.mask ?? 0xffff_ffff_ffff_ffffn);
  return (masked === value) === (condition.is === "equal");
}

const verdicts = fc.oneof(
  fc.constant<Verdict>("allow"),
  fc.constant<Verdict>("kill"),
  fc.integer({ min: 1, max: 4095 }).map((errno): Verdict => ({ errno })),
);
/** Words that differ in one half only, so that a comparison of the wrong half shows. */
const words = fc.constantFrom(0n, 1n, 2n, 3n, 0xffff_ffffn, 1n << 32n, (1n << 32n) | 1n, (1n << 64n) - 1n);
const conditions: fc.Arbitrary<Condition> = fc
  .record({
    argument: fc.constantFrom(0 as const, 1 as const, 5 as const),
    bits: fc.constantFrom(32 as const, 64 as const),
    is: fc.constantFrom("equal" as const, "different" as const),
    mask: fc.option(words, { nil: undefined }),
    value: words,
  })
  .map(({ mask, value, ...rest }) => {
    const fitting = BigInt.asUintN(rest.bits, value) & (mask ?? (1n << 64n) - 1n);
    return mask === undefined ? { ...rest, value: fitting } : { ...rest, mask, value: fitting };
  });
const rules: fc.Arbitrary<Rule> = fc.record({
  calls: fc.uniqueArray(fc.constantFrom(...SYSCALL_NAMES), { minLength: 1, maxLength: 12 }),
  when: fc.array(conditions, { maxLength: 3 }),
  verdict: verdicts,
});
const policies: fc.Arbitrary<Policy> = fc.record({
  rules: fc.array(rules, { maxLength: 60 }),
  otherwise: verdicts,
  unknown: verdicts,
});

describe("the filter builder", () => {
  it("makes programs that answer exactly what the policy says", () => {
    fc.assert(
      fc.property(
        policies,
        fc.constantFrom(...ARCHITECTURES),
        fc.array(fc.array(words, { minLength: 6, maxLength: 6 }), { minLength: 1, maxLength: 3 }),
        (policy, architecture, samples) => {
          const program = installed(compilePolicy(policy, architecture));
          for (let number = 0; number <= HIGHEST_KNOWN_SYSCALL + 3; number += 1) {
            for (const args of samples) {
              const result = runSeccomp(program, { number, architecture: AUDIT_ARCH[architecture], args });
              expect([number, nameOf(result)]).toEqual([
                number,
                expected(policy, architecture, number, args),
              ]);
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it("reaches targets more than 255 instructions away", () => {
    const far: Label = { name: "far" };
    const near: Label = { name: "near" };
    for (const distance of [0, 1, 254, 255, 256, 257, 1000, 4000]) {
      const filler: Step[] = Array.from({ length: distance }, () => ({ do: "load", offset: 0 }));
      const { bytes } = assemble([
        { do: "load", offset: 0 },
        { do: "jump", if: "equal", than: 7, yes: far, no: near },
        { do: "place", label: near },
        ...filler,
        { do: "return", value: 1 },
        { do: "place", label: far },
        { do: "return", value: 2 },
      ]);
      const run = (number: number) => runSeccomp(bytes, { number, architecture: 0, args: [] });
      expect([distance, run(7), run(8)]).toEqual([distance, 2, 1]);
    }
  });

  it("lengthens jumps that only lengthening others made too long", () => {
    const end: Label = { name: "end" };
    const steps: Step[] = [{ do: "load", offset: 0 }];
    for (let index = 0; index < 400; index += 1) {
      const next: Label = { name: `next ${index}` };
      steps.push({ do: "jump", if: "equal", than: index, yes: end, no: next }, { do: "place", label: next });
    }
    steps.push({ do: "return", value: 1 }, { do: "place", label: end }, { do: "return", value: 2 });
    const { bytes } = assemble(steps);
    for (const number of [0, 1, 143, 144, 145, 255, 399, 400, 5000]) {
      expect([number, runSeccomp(bytes, { number, architecture: 0, args: [] })]).toEqual([
        number,
        number < 400 ? 2 : 1,
      ]);
    }
  });

  it("refuses what the kernel would refuse or what can never hold", () => {
    const nowhere: Label = { name: "nowhere" };
    expect(() => assemble([{ do: "jump", if: "equal", than: 0, yes: nowhere, no: nowhere }])).toThrow(
      'label "nowhere" is not placed',
    );
    const back: Label = { name: "back" };
    expect(() =>
      assemble([
        { do: "place", label: back },
        { do: "load", offset: 0 },
        { do: "jump", if: "equal", than: 0, yes: back, no: back },
      ]),
    ).toThrow("leads backwards");
    const many: Step[] = Array.from({ length: 5000 }, () => ({ do: "return", value: 0 }));
    expect(() => assemble(many)).toThrow("the kernel takes 4096");
    const impossible: Condition = { argument: 0, bits: 32, mask: 1n, is: "equal", value: 2n };
    expect(() =>
      compilePolicy(
        {
          rules: [{ calls: ["read"], when: [impossible], verdict: "kill" }],
          otherwise: "allow",
          unknown: "allow",
        },
        "x86_64",
      ),
    ).toThrow("can never come out");
  });
});

describe.each(ARCHITECTURES)("the filters on %s", (architecture) => {
  const programs = {
    birth: installed(compilePolicy(birthPolicy(SERVER), architecture)),
    lock: installed(compilePolicy(selfLockPolicy({ paranoid: false }), architecture)),
    paranoid: installed(compilePolicy(selfLockPolicy({ paranoid: true }), architecture)),
  };

  function answer(filter: keyof typeof programs, name: SyscallName, ...args: (number | bigint)[]): string {
    const number = syscallNumber(name, architecture);
    if (number === null) return "no such call";
    return nameOf(
      runSeccomp(programs[filter], {
        number,
        architecture: AUDIT_ARCH[architecture],
        args: args.map(BigInt),
      }),
    );
  }

  it("kill every call of a foreign architecture and every x32 number", () => {
    const foreign = [0x40000003, AUDIT_ARCH[architecture === "x86_64" ? "aarch64" : "x86_64"], 0, 0xc00000f3];
    for (const program of Object.values(programs)) {
      for (let number = 0; number <= HIGHEST_KNOWN_SYSCALL; number += 1) {
        for (const other of foreign) {
          expect(nameOf(runSeccomp(program, { number, architecture: other, args: [] }))).toBe("kill");
        }
      }
      const x32 = nameOf(
        runSeccomp(program, { number: 0x40000000, architecture: AUDIT_ARCH[architecture], args: [] }),
      );
      expect(x32).toBe(architecture === "x86_64" ? "kill" : "errno 38");
    }
  });

  it("leave calls of future kernels absent", () => {
    for (const filter of Object.values(programs)) {
      for (const number of [HIGHEST_KNOWN_SYSCALL + 1, 600, 4095, 0x3fffffff]) {
        expect(nameOf(runSeccomp(filter, { number, architecture: AUDIT_ARCH[architecture], args: [] }))).toBe(
          "errno 38",
        );
      }
    }
  });

  it("let a locked child do these and nothing else", () => {
    const allowed = SYSCALL_NAMES.filter((name) => answer("lock", name) === "allow");
    expect(allowed.toSorted()).toMatchSnapshot();
    const conditional = SYSCALL_NAMES.filter((name) =>
      [OWN, 15, 0x10000, 0x5421].some((value) =>
        [value, 0, 1, 3, 0x5421].some((second) => answer("lock", name, value, second) === "allow"),
      ),
    ).filter((name) => !allowed.includes(name));
    expect(conditional.toSorted()).toEqual(["clone", "fcntl", "ioctl", "prctl", "tgkill"]);
  });

  it("kill a locked child that reaches for another program or another's memory", () => {
    for (const name of [
      "execve",
      "execveat",
      "ptrace",
      "process_vm_readv",
      "process_vm_writev",
      "bpf",
    ] as const) {
      expect([name, answer("lock", name)]).toEqual([name, "kill"]);
    }
    expect(answer("birth", "execve")).toBe("allow");
    expect(answer("birth", "ptrace")).toBe("kill");
  });

  it("let a locked child start threads but no process", () => {
    const thread = 0x3d0f00; // what glibc passes
    const fork = 0x1200011;
    const vfork = 0x4111;
    expect(answer("lock", "clone", thread)).toBe("allow");
    for (const flags of [fork, vfork, thread | 0x10000000, thread | 0x40000000, thread | 0x2000]) {
      expect([flags, answer("lock", "clone", flags)]).toEqual([flags, "errno 1"]);
    }
    expect(answer("lock", "clone3")).toBe("errno 38");
    expect(answer("birth", "clone", fork)).toBe("allow");
    expect(answer("birth", "clone", vfork)).toBe("allow");
    expect(answer("birth", "clone", fork | 0x10000000)).toBe("errno 1");
    expect(answer("birth", "clone3")).toBe("errno 38");
  });

  it("let a locked child signal itself only", () => {
    expect(answer("lock", "tgkill", OWN, OWN, 6)).toBe("allow");
    expect(answer("lock", "tgkill", SERVER, SERVER, 9)).toBe("errno 1");
    for (const name of ["kill", "tkill", "rt_sigqueueinfo", "pidfd_send_signal"] as const) {
      expect([name, answer("lock", name, OWN, 0), answer("birth", name, OWN, 0)]).toEqual([
        name,
        "errno 1",
        "errno 1",
      ]);
    }
    expect(answer("birth", "tgkill", SERVER, SERVER, 9)).toBe("errno 1");
    expect(answer("birth", "tgkill", BigInt(SERVER) | (1n << 32n), SERVER, 9)).toBe("errno 1");
    expect(answer("birth", "tgkill", OWN, OWN, 6)).toBe("allow");
  });

  it("do not look at bits the kernel ignores, nor forget bits it reads", () => {
    const high = 1n << 32n;
    expect(answer("birth", "ioctl", 0, 0x5412n | high)).toBe("errno 1");
    expect(answer("birth", "prctl", 4n | high, 1)).toBe("errno 1");
    expect(answer("lock", "prlimit64", 0, 3, 0)).toBe("allow");
    expect(answer("lock", "prlimit64", 0, 3, high)).toBe("errno 1");
    expect(answer("lock", "prlimit64", SERVER, 3, 0)).toBe("errno 1");
    expect(answer("birth", "prlimit64", SERVER, 7, 4096)).toBe("errno 1");
    expect(answer("birth", "prlimit64", 0, 7, 4096)).toBe("allow");
  });

  it("refuse to open for writing from birth, and to open at all after the lock", () => {
    const readOnly = 0o2000000;
    for (const flags of [1, 2, 0o100, 0o1000, 0o20200002]) {
      expect([flags, answer("birth", "openat", -100, 0, flags)]).toEqual([flags, "errno 1"]);
    }
    expect(answer("birth", "openat", -100, 0, readOnly)).toBe("allow");
    expect(answer("lock", "openat", -100, 0, readOnly)).toBe("errno 1");
    for (const name of ["newfstatat", "statx", "faccessat", "readlinkat", "getdents64", "getcwd"] as const) {
      expect([name, answer("lock", name)]).toEqual([name, "errno 1"]);
    }
  });

  it("refuse executable memory only where it was asked for", () => {
    expect(answer("lock", "mmap", 0, 4096, 7)).toBe("allow");
    expect(answer("paranoid", "mmap", 0, 4096, 3)).toBe("allow");
    for (const name of ["mmap", "mprotect", "pkey_mprotect"] as const) {
      expect([name, answer("paranoid", name, 0, 4096, 5)]).toEqual([name, "errno 1"]);
    }
  });

  it("never offer io_uring, whose operations pass by every filter", () => {
    for (const name of ["io_uring_setup", "io_uring_enter", "io_uring_register"] as const) {
      expect([name, answer("birth", name), answer("lock", name)]).toEqual([name, "errno 38", "errno 38"]);
    }
  });
});

describe("system call numbers", () => {
  it("are those of the kernel headers of this machine", () => {
    const header = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h";
    if (!existsSync(header)) return;
    const defined = new Map(
      [...readFileSync(header, "utf8").matchAll(/#define __NR_(\w+) (\d+)/g)].map(([, name, number]) => [
        name,
        Number(number),
      ]),
    );
    const wrong = SYSCALL_NAMES.filter((name) => {
      const known = defined.get(name);
      return known !== undefined && known !== syscallNumber(name, "x86_64");
    });
    expect(wrong).toEqual([]);
  });

  it("name each number once", () => {
    for (const architecture of ARCHITECTURES) {
      const numbers = SYSCALL_NAMES.map((name) => syscallNumber(name, architecture)).filter(
        (n) => n !== null,
      );
      expect(new Set(numbers).size).toBe(numbers.length);
      expect(Math.max(...numbers)).toBeLessThanOrEqual(HIGHEST_KNOWN_SYSCALL);
    }
  });
});
