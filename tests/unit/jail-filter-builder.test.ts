/** From a policy to a program: generated policies, executed, must answer what their data says. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assemble, type Label, OWN_PID, type Step } from "#runner/jail/seccomp/bpf.ts";
import {
  type Condition,
  compilePolicy,
  type Policy,
  type Rule,
  type Verdict,
} from "#runner/jail/seccomp/compile.ts";
import {
  type Architecture,
  HIGHEST_KNOWN_SYSCALL,
  SYSCALL_NAMES,
  syscallNumber,
} from "#runner/jail/seccomp/syscall-numbers.ts";
import { ARCHITECTURES, AUDIT_ARCH, installed, nameOf, OWN, runSeccomp } from "./jail-bpf-interpreter.ts";

function verdictName(verdict: Verdict): string {
  return typeof verdict === "string" ? verdict : `errno ${verdict.errno}`;
}

/** Verdict of the policy, computed directly from its data. */
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
