/** What the command shows on a terminal of text that is not its own, and how it reads what people write. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { visibleJson, visibleLine } from "../../client/visible-text.ts";
import { exitCodeOfRun } from "../../command/failure.ts";
import { parseDuration, parseId, parseMemory, parsePair, toPointer } from "../../command/options.ts";
import { openRunOutput } from "../../command/run/report.ts";
import { formatTable } from "../../command/table.ts";
import { createSafeStream, safeLines, type Terminal } from "../../command/terminal.ts";

function openTerminal(isTty: boolean): Terminal & { text(): string } {
  let text = "";
  return {
    isTty,
    columns: 80,
    write: (more) => {
      text += more;
    },
    paint: (_style, plain) => plain,
    flushed: async () => {},
    text: () => text,
  };
}

const openStreams = (isTty: boolean) => ({ stdout: openTerminal(isTty), stderr: openTerminal(isTty) });

/** For rows that are pairs. */
const COLUMNS = { A: (row: string[]) => row[0], B: (row: string[]) => row[1] };

const DANGEROUS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

describe("text of others", () => {
  test("is shown, not obeyed", () => {
    expect(safeLines("a\u001b[2Jb\r\nc\rd\u202ee\u009bf\u0007")).toBe(
      "a\\e[2Jb\nc\\rd\\u202ee\\u009bf\\u0007",
    );
    expect(visibleLine("a\nb\tc")).toBe("a\\nb\\tc");
  });

  test("whatever it is, nothing dangerous is left, in whichever pieces it comes", () => {
    const piece = fc.string({
      unit: fc.oneof(
        fc.constantFrom("\u001b", "\r", "\n", "\t", "\u202e", "\u0085", "a"),
        fc.string({ unit: "binary", maxLength: 1 }),
      ),
    });
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const safe = createSafeStream();
        const streamed = pieces.map((text) => safe(text)).join("") + safe("", true);
        expect(streamed).toBe(safeLines(pieces.join("")));
        expect(streamed.replaceAll(/[\t\n]/g, "")).not.toMatch(DANGEROUS);
        expect(visibleLine(pieces.join(""))).not.toMatch(DANGEROUS);
      }),
      { numRuns: 50 },
    );
  });

  test("as JSON it means the same", () => {
    const value = { "k\u001b": ["\u009b\u202e\u2028", "ä😀"] };
    expect(visibleJson(value)).not.toMatch(DANGEROUS);
    expect(JSON.parse(visibleJson(value, 2))).toEqual(value);
  });

  test("a script's output is made safe on a terminal only", () => {
    for (const isTty of [true, false]) {
      const stdout = openTerminal(isTty);
      const output = openRunOutput({ json: false, stdout, stderr: stdout } as never);
      output.stdout("a\u001b[31m\r");
      output.stdout("\nb");
      output.end();
      expect(stdout.text()).toBe(isTty ? "a\\e[31m\nb\n" : "a\u001b[31m\r\nb");
    }
  });

  test("cannot make rows of a table", () => {
    const table = formatTable(openStreams(false), [["x\ny", "\u001b[1m"]], "none", COLUMNS);
    expect(table).toBe("A     B\nx\\ny  \\e[1m\n");
  });
});

test("a list without rows says so: on a terminal in its place, in a pipe beside it", () => {
  const terminal = openStreams(true);
  expect(formatTable(terminal, [], "No rows yet.", COLUMNS)).toBe("No rows yet.\n");
  expect(terminal.stderr.text()).toBe("");
  const pipe = openStreams(false);
  expect(formatTable(pipe, [], "No rows yet.", COLUMNS)).toBe("");
  expect(pipe.stderr.text()).toBe("No rows yet.\n");
});

test("a table is cut on a terminal, never wrapped", () => {
  const table = formatTable(openStreams(true), [["x".repeat(200), "y".repeat(200)]], "none", COLUMNS);
  for (const line of table.trimEnd().split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});

describe("what people write", () => {
  test.each([
    ["1500", 1500],
    ["1.5s", 1500],
    ["2m", 120_000],
    ["none", Number.POSITIVE_INFINITY],
  ])("the time %s", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
  test.each(["", "0", "-1", "1e3", "5 parsecs", "9999999999h", "constructor", "1 toString"])(
    "no time: %j",
    (text) => {
      expect(() => parseDuration(text)).toThrow(/Expected a time/);
    },
  );
  test("sizes, ids, pairs and pointers", () => {
    expect([parseMemory("256"), parseMemory("1GB"), parseMemory("64 mb")]).toEqual([256, 1024, 64]);
    expect(() => parseId("0")).toThrow();
    expect(() => parseId("1/../2")).toThrow();
    expect(parsePair("a=b=c")).toEqual(["a", "b=c"]);
    expect(parsePair('list=["x"]')).toEqual(["list", ["x"]]);
    expect([toPointer("a/b~c"), toPointer("/a/b")]).toEqual(["/a~1b~0c", "/a/b"]);
  });
});

test("each reason a run ends for has its exit code", () => {
  const codes = (
    [
      ["success", "ok"],
      ["failed", "script_error"],
      ["timeout", "timeout"],
      ["failed", "memory_limit"],
      ["failed", "cpu_limit"],
      ["failed", "sandbox_violation"],
      ["canceled", "killed"],
      ["failed", "approval_denied"],
    ] as const
  ).map(([exitState, reason]) => exitCodeOfRun({ exitState, reason }));
  expect(codes).toEqual([0, 1, 3, 4, 4, 5, 6, 1]);
});
