import { describe, expect, test } from "vitest";
import { type EndCause, exceeding, judge, reportSuspectedEscape, violation } from "#runner/host/outcome.ts";
import { EXECUTION_REASONS, errorDetailSchema } from "#sdk";

const exit = (signal: NodeJS.Signals | null, code: number | null = null, engineText = ""): EndCause => ({
  kind: "exit",
  exit: { signal, code },
  engineText,
  ranOutOfMemory: false,
  memoryMb: 64,
  cpuMs: 500,
});

const HEAP =
  "#\n# Fatal JavaScript invalid size error 169220804\nFATAL ERROR: Ineffective mark-compacts near heap limit";

describe("the verdict on a run", () => {
  test.each<[string, EndCause, string, string]>([
    ["a time limit", { kind: "timeout", limitMs: 1000 }, "timeout", "timeout"],
    ["a kill", { kind: "killed" }, "canceled", "killed"],
    ["too much CPU time", { kind: "cpu_limit", limitMs: 500 }, "failed", "cpu_limit"],
    ["too much memory", { kind: "memory_limit", limitMb: 64 }, "failed", "memory_limit"],
    [
      "a broken protocol",
      { kind: "violation", reason: "sandbox_violation", message: "m" },
      "failed",
      "sandbox_violation",
    ],
    [
      "too much output",
      { kind: "violation", reason: "output_limit", message: "m" },
      "failed",
      "output_limit",
    ],
    ["a full heap", exit("SIGABRT", null, HEAP), "failed", "memory_limit"],
    ["an abort for another reason", exit("SIGABRT", null, "assertion failed"), "failed", "crashed"],
    ["an abort without a word", exit("SIGABRT"), "failed", "crashed"],
    ["SIGSEGV", exit("SIGSEGV"), "failed", "crashed"],
    ["SIGSEGV after the words of a full heap", exit("SIGSEGV", null, HEAP), "failed", "crashed"],
    ["SIGILL after the words of a full heap", exit("SIGILL", null, HEAP), "failed", "crashed"],
    ["SIGBUS after the words of a full heap", exit("SIGBUS", null, HEAP), "failed", "crashed"],
    ["SIGSYS after the words of a full heap", exit("SIGSYS", null, HEAP), "failed", "sandbox_violation"],
    ["SIGXCPU", exit("SIGXCPU"), "failed", "cpu_limit"],
    ["SIGSYS", exit("SIGSYS"), "failed", "sandbox_violation"],
    ["an exit", exit(null, 0), "failed", "crashed"],
    ["a fault of the host", { kind: "host_error", error: new Error("secret") }, "failed", "crashed"],
  ])("after %s has its state, its reason and a sentence", (_, cause, state, reason) => {
    const verdict = judge(cause);
    expect(verdict).toMatchObject({ state, reason, error: { reason } });
    expect(errorDetailSchema.parse(verdict.error)).toEqual(verdict.error);
    expect(EXECUTION_REASONS[verdict.state]).toContain(verdict.reason);
    expect(JSON.stringify(verdict)).not.toContain("secret");
    expect(verdict.result).toBeUndefined();
  });

  test("names the limit that was hit, with its value", () => {
    expect(judge(exit("SIGABRT", null, HEAP)).error?.message).toContain("64 MB");
    expect(judge(exit("SIGXCPU")).error?.message).toContain("500 ms");
    expect(judge({ kind: "timeout", limitMs: 1000 }).error?.message).toContain("1000 ms");
  });

  test("tells a result of null from none", () => {
    expect(judge({ kind: "end", end: { ok: true, result: null }, memoryMb: 64 })).toEqual({
      state: "success",
      reason: "ok",
      result: { value: null },
    });
    expect(judge({ kind: "end", end: { ok: true }, memoryMb: 64 })).toEqual({
      state: "success",
      reason: "ok",
    });
  });

  test("passes on what the script threw, as it was", () => {
    const error = { name: "TypeError", message: "m", stack: "s", line: 3, column: 4 };
    expect(judge({ kind: "end", end: { ok: false, reason: "script_error", error }, memoryMb: 64 })).toEqual({
      state: "failed",
      reason: "script_error",
      error: { ...error, reason: "script_error" },
    });
  });

  test("a buffer that the limits left no room for is a memory limit, where the script did not handle it", () => {
    const error = {
      name: "RangeError",
      message: "Array buffer allocation failed",
      stack: "s",
      line: 3,
      column: 4,
    };
    expect(judge({ kind: "end", end: { ok: false, reason: "script_error", error }, memoryMb: 64 })).toEqual({
      state: "failed",
      reason: "memory_limit",
      error: {
        name: "MemoryLimitError",
        message: expect.stringContaining("64 MB"),
        stack: "s",
        line: 3,
        column: 4,
        reason: "memory_limit",
      },
    });
  });
});

describe("a suspicion", () => {
  test.each<[string, EndCause, { isTold: boolean; securityEvent?: true }]>([
    ["SIGSYS", exit("SIGSYS", null, HEAP), { isTold: true, securityEvent: true }],
    ["SIGSEGV", exit("SIGSEGV", null, HEAP), { isTold: true }],
    ["a full heap", exit("SIGABRT", null, HEAP), { isTold: false }],
    ["a broken protocol", violation("m"), { isTold: true, securityEvent: true }],
    ["a frame larger than any", violation("m", "output_limit"), { isTold: true, securityEvent: true }],
    ["more than a run may send", exceeding("m"), { isTold: false }],
    ["a time limit", { kind: "timeout", limitMs: 1000 }, { isTold: false }],
  ])("after %s is told of, once, or is none", (_, cause, { isTold, securityEvent }) => {
    const logged: unknown[] = [];
    let suspected = 0;
    const logger = { debug() {}, info() {}, error() {}, warn: (fields: unknown) => void logged.push(fields) };
    const onSuspectedEscape = () => {
      suspected += 1;
    };
    reportSuspectedEscape({ logger, onSuspectedEscape }, { eid: 1 }, judge(cause));
    expect(suspected).toBe(isTold ? 1 : 0);
    expect(logged).toEqual(
      isTold ? [expect.objectContaining({ eid: 1, ...(securityEvent && { securityEvent }) })] : [],
    );
    if (isTold && !securityEvent) expect(logged[0]).not.toHaveProperty("securityEvent");
  });
});
