/**
 * Compiles a policy, which states as data what happens to each system call, into a BPF program. The program checks
 * the architecture first: every policy kills foreign calls, and on x86_64 every x32 number.
 */
import {
  AUDIT_ARCH_AARCH64,
  AUDIT_ARCH_X86_64,
  SECCOMP_DATA_ARCH,
  SECCOMP_DATA_ARGS,
  SECCOMP_DATA_NR,
  SECCOMP_RET_ALLOW,
  SECCOMP_RET_ERRNO,
  SECCOMP_RET_KILL_PROCESS,
  X32_SYSCALL_BIT,
} from "../kernel/kernel-headers.ts";
import { assemble, type BpfProgram, type Label, OWN_PID, type Step } from "./bpf.ts";
import {
  type Architecture,
  HIGHEST_KNOWN_SYSCALL,
  type SyscallName,
  syscallNumber,
} from "./syscall-numbers.ts";

export type Verdict = "allow" | "kill" | { errno: number };

/**
 * Condition on one argument: `(argument & mask)` equals, or differs from, `value`. `bits: 32` compares the low half
 * only, as the kernel does for ints; use it for every int, or high bits hide a value.
 */
export interface Condition {
  argument: 0 | 1 | 2 | 3 | 4 | 5;
  bits: 32 | 64;
  mask?: bigint;
  is: "equal" | "different";
  value: bigint | typeof OWN_PID;
}

export interface Rule {
  calls: readonly SyscallName[];
  when?: readonly Condition[];
  verdict: Verdict;
}

export interface Policy {
  /** The first rule whose condition is true decides a call. */
  rules: readonly Rule[];
  otherwise: Verdict;
  unknown: Verdict;
}

const AUDIT_ARCH = { x86_64: AUDIT_ARCH_X86_64, aarch64: AUDIT_ARCH_AARCH64 } as const;

/** Compiles a policy for one architecture and omits calls that it lacks. */
export function compilePolicy(policy: Policy, architecture: Architecture): BpfProgram {
  const steps: Step[] = [];
  const returns = new Map<number, Label>();
  const kill = returnLabel("kill");
  const chains = chainRules(policy, architecture);

  function returnLabel(verdict: Verdict): Label {
    const value = returnValue(verdict);
    const known = returns.get(value);
    if (known) return known;
    const label = { name: `return ${value.toString(16)}` };
    returns.set(value, label);
    return label;
  }

  const known = { name: "known architecture" };
  const native = { name: "native number" };
  steps.push(
    { do: "load", offset: SECCOMP_DATA_ARCH },
    { do: "jump", if: "equal", than: AUDIT_ARCH[architecture], yes: known, no: kill },
    { do: "place", label: known },
    { do: "load", offset: SECCOMP_DATA_NR },
  );
  if (architecture === "x86_64") {
    steps.push(
      { do: "jump", if: "atLeast", than: X32_SYSCALL_BIT, yes: kill, no: native },
      { do: "place", label: native },
    );
  }

  const conditional: { label: Label; rules: readonly Rule[] }[] = [];
  const spans = spansOf(
    chains,
    policy,
    (rules) => {
      const [first] = rules;
      if (!first) return returnLabel(policy.otherwise);
      if (!first.when?.length) return returnLabel(first.verdict);
      const label = { name: `rules ${conditional.length}` };
      conditional.push({ label, rules });
      return label;
    },
    returnLabel(policy.unknown),
  );
  search(steps, spans);

  for (const { label, rules } of conditional) {
    steps.push({ do: "place", label });
    decide(steps, rules, returnLabel, policy.otherwise);
  }
  for (const [value, label] of returns) steps.push({ do: "place", label }, { do: "return", value });
  return assemble(steps);
}

/** Lists the rules of each call in order, up to the first unconditional one. */
function chainRules(policy: Policy, architecture: Architecture): Map<number, Rule[]> {
  const chains = new Map<number, Rule[]>();
  for (const rule of policy.rules) {
    for (const name of rule.calls) {
      const number = syscallNumber(name, architecture);
      if (number === null) continue;
      const chain = chains.get(number) ?? [];
      if (chain.length > 0 && !chain.at(-1)?.when?.length) continue;
      chain.push(rule);
      chains.set(number, chain);
    }
  }
  return chains;
}

interface Span {
  from: number;
  label: Label;
}

function spansOf(
  chains: ReadonlyMap<number, Rule[]>,
  policy: Policy,
  labelOf: (rules: readonly Rule[]) => Label,
  unknown: Label,
): Span[] {
  const spans: Span[] = [];
  function begin(from: number, label: Label): void {
    if (spans.at(-1)?.label !== label) spans.push({ from, label });
  }
  const otherwise = labelOf([{ calls: [], verdict: policy.otherwise }]);
  for (let number = 0; number <= HIGHEST_KNOWN_SYSCALL; number += 1) {
    const chain = chains.get(number);
    begin(number, chain ? labelOf(chain) : otherwise);
  }
  begin(HIGHEST_KNOWN_SYSCALL + 1, unknown);
  return spans;
}

/** Binary search over the spans: about eight comparisons instead of a hundred. */
function search(steps: Step[], spans: readonly Span[]): void {
  const [first] = spans;
  if (!first) return;
  if (spans.length === 1) {
    // Always jumps: 'at least 0' is true for every number.
    steps.push({ do: "jump", if: "atLeast", than: 0, yes: first.label, no: first.label });
    return;
  }
  const middle = spans.length >> 1;
  const halves = [spans.slice(0, middle), spans.slice(middle)] as const;
  const labels = halves.map((half, side) =>
    half.length === 1 && half[0] ? half[0].label : { name: `half ${side} of ${spans.length}` },
  );
  const [low, high] = labels;
  const pivot = halves[1][0];
  if (!low || !high || !pivot) return;
  steps.push({ do: "jump", if: "atLeast", than: pivot.from, yes: high, no: low });
  halves.forEach((half, side) => {
    const label = labels[side];
    if (half.length === 1 || !label) return;
    steps.push({ do: "place", label });
    search(steps, half);
  });
}

function decide(
  steps: Step[],
  rules: readonly Rule[],
  returnLabel: (verdict: Verdict) => Label,
  otherwise: Verdict,
): void {
  rules.forEach((rule, index) => {
    const last = index === rules.length - 1;
    const next = last ? returnLabel(otherwise) : { name: `rule ${index + 1}` };
    const conditions = rule.when ?? [];
    const verdict = returnLabel(rule.verdict);
    if (conditions.length === 0) {
      steps.push({ do: "jump", if: "atLeast", than: 0, yes: verdict, no: verdict });
    }
    conditions.forEach((condition, position) => {
      const holds = position === conditions.length - 1 ? verdict : { name: `condition ${position + 1}` };
      check(steps, condition, holds, next);
      if (holds !== verdict) steps.push({ do: "place", label: holds });
    });
    if (!last) steps.push({ do: "place", label: next });
  });
}

function check(steps: Step[], condition: Condition, holds: Label, fails: Label): void {
  const [same, differs] = condition.is === "equal" ? [holds, fails] : [fails, holds];
  const mask = condition.mask ?? 0xffff_ffff_ffff_ffffn;
  if (condition.value !== OWN_PID && (condition.value & ~mask) !== 0n) {
    throw new RangeError(`seccomp condition: ${condition.value} can never come out of the mask ${mask}`);
  }
  if (condition.bits === 32 && condition.value !== OWN_PID && condition.value >> 32n !== 0n) {
    throw new RangeError(`seccomp condition: ${condition.value} does not fit in 32 bits`);
  }
  if (condition.bits === 64) {
    if (condition.value === OWN_PID) throw new RangeError("seccomp condition: a pid has 32 bits");
    const low = { name: "low half" };
    half(steps, condition, 4, mask >> 32n, condition.value >> 32n, low, differs);
    steps.push({ do: "place", label: low });
  }
  const value = condition.value === OWN_PID ? OWN_PID : condition.value & 0xffff_ffffn;
  half(steps, condition, 0, mask & 0xffff_ffffn, value, same, differs);
}

function half(
  steps: Step[],
  condition: Condition,
  shift: 0 | 4,
  mask: bigint,
  value: bigint | typeof OWN_PID,
  same: Label,
  differs: Label,
): void {
  steps.push({ do: "load", offset: SECCOMP_DATA_ARGS + condition.argument * 8 + shift });
  if (mask !== 0xffff_ffffn) steps.push({ do: "and", mask: Number(mask) });
  const than = value === OWN_PID ? OWN_PID : Number(value);
  steps.push({ do: "jump", if: "equal", than, yes: same, no: differs });
}

function returnValue(verdict: Verdict): number {
  if (verdict === "allow") return SECCOMP_RET_ALLOW;
  if (verdict === "kill") return SECCOMP_RET_KILL_PROCESS;
  return SECCOMP_RET_ERRNO + verdict.errno;
}
