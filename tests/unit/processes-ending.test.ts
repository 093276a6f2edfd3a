import { describe, expect, test } from "vitest";
import { concludeRun, type EndingInputs, parseReportedError } from "#api/processes/live/ending.ts";
import { failedWith } from "#api/processes/model/records.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { EXECUTION_EXIT_STATES, EXECUTION_REASONS } from "#sdk";

const read = (error: Parameters<typeof parseReportedError>[0]) => parseReportedError(error, createRedactor());
const returned = (value: unknown) => ({ kind: "returned", value }) as const;
const inputs = (over: Partial<EndingInputs>): EndingInputs => ({
  answer: returned("success"),
  decided: null,
  killed: false,
  reported: null,
  timeoutMs: 30_000,
  ...over,
});
const report = (reason?: string) =>
  read({
    name: "E",
    message: "m",
    ...(reason === undefined ? {} : { reason: reason as "crashed" }),
  });

describe("how a run ended", () => {
  test("the environment's word, with the first reason of its exit state", () => {
    for (const exitState of EXECUTION_EXIT_STATES) {
      const ending = concludeRun(inputs({ answer: returned(exitState) }));
      expect(ending).toMatchObject({ exitState, reason: EXECUTION_REASONS[exitState][0] });
    }
  });

  test("a reported reason counts only where it belongs", () => {
    expect(concludeRun(inputs({ answer: returned("failed"), reported: report("memory_limit") })).reason).toBe(
      "memory_limit",
    );
    expect(concludeRun(inputs({ answer: returned("failed"), reported: report("killed") })).reason).toBe(
      "script_error",
    );
    expect(
      concludeRun(inputs({ answer: returned("canceled"), reported: report("queue_timeout") })),
    ).toMatchObject({
      reason: "queue_timeout",
      error: { message: "m" },
    });
    expect(concludeRun(inputs({ answer: returned("success"), reported: report("crashed") }))).toEqual({
      exitState: "success",
      reason: "ok",
      error: null,
    });
  });

  test("a timeout names the limit that was in force", () => {
    expect(concludeRun(inputs({ answer: returned("timeout"), timeoutMs: 1234 })).error?.message).toContain(
      "1234 ms",
    );
  });

  test.each([["banana"], [undefined], [null], [{ exitState: "success" }], [["success"]]])(
    "an environment that answers %s has crashed",
    (value) => {
      expect(concludeRun(inputs({ answer: returned(value) }))).toMatchObject({
        exitState: "failed",
        reason: "crashed",
      });
    },
  );

  test("what the host decided wins over everything", () => {
    const decided = failedWith("output_limit", "OutputLimitError", "too much");
    for (const answer of [
      returned("success"),
      returned("canceled"),
      { kind: "threw" } as const,
      { kind: "unconfirmed" } as const,
    ]) {
      expect(concludeRun(inputs({ decided, answer, killed: true, reported: report() }))).toBe(decided);
    }
  });

  test("a kill wins over a crash or failure it has caused, not over a success or a timeout", () => {
    for (const answer of [
      returned("failed"),
      returned("canceled"),
      returned("junk"),
      { kind: "threw" } as const,
    ]) {
      expect(concludeRun(inputs({ killed: true, answer }))).toMatchObject({
        exitState: "canceled",
        reason: "killed",
        error: null,
      });
    }
    expect(concludeRun(inputs({ killed: true, answer: returned("success") })).exitState).toBe("success");
    expect(concludeRun(inputs({ killed: true, answer: returned("timeout") })).exitState).toBe("timeout");
  });

  test("reported errors are cut, cleaned, and refused when they are none", () => {
    const detail = read({
      name: "N".repeat(5000),
      message: `a\0b${"x".repeat(200_000)}`,
      line: 3,
      column: 0,
    });
    expect(detail.name).toHaveLength(1000);
    expect(detail.message.startsWith("a\ufffdb")).toBe(true);
    expect(detail.message).toHaveLength(100_000);
    expect(detail).toMatchObject({ line: 3, column: null, stack: null, reason: null });
    expect(read("plain")).toMatchObject({ name: "Error", message: "plain" });
    expect(() => read(7 as unknown as string)).toThrow(TypeError);
  });
});
