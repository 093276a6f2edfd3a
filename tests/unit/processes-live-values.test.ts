import { runInThisContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CallLog } from "#api/processes/live/calls.ts";
import { OutputMerge, toJsonText } from "#api/processes/live/results.ts";
import { StreamCapture, sliceLevel, sliceUtf8 } from "#api/processes/live/streams.ts";
import { MAX_PREVIEW_BYTES, MAX_TRAIL_PREVIEW_BYTES } from "#api/processes/live/trail.ts";
import { createRedactor } from "#api/secrets/redactor.ts";

const NO_SECRETS = createRedactor();
const unicode = fc.string({ unit: "binary" }).map((text) => text.toWellFormed());

describe("a captured stream", () => {
  test("puts characters together however they were split", () => {
    fc.assert(
      fc.property(unicode, fc.array(fc.nat({ max: 50 })), (text, cuts) => {
        const bytes = Buffer.from(text);
        const capture = new StreamCapture("stdout", 1_000_000);
        let start = 0;
        for (const cut of cuts) {
          capture.write(bytes.subarray(start, start + cut));
          start += cut;
        }
        capture.write(bytes.subarray(start));
        capture.end();
        expect(capture.text()).toBe(text);
        expect(capture.truncated).toBe(false);
      }),
    );
  });

  test("replaces what is no UTF-8, also an unfinished character at the end", () => {
    const capture = new StreamCapture("stdout", 100);
    capture.write(Buffer.from([0x61, 0xff, 0x62, 0xe2, 0x82]));
    expect(capture.text()).toBe("a\ufffdb");
    capture.end();
    expect(capture.text()).toBe("a\ufffdb\ufffd");
  });

  test("remembers which bytes have another level, merged, for so many ranges, and not of the notice", () => {
    const capture = new StreamCapture("stdout", 20_000);
    const print = (text: string, level?: "debug") => {
      capture.level = level;
      capture.write(Buffer.from(text));
    };
    for (const [text, level] of [["é\n"], ["a\n", "debug"], ["b\n", "debug"], ["c\n"]] as const)
      print(text, level);
    expect(capture.levels).toEqual([[3, 7, "debug"]]);
    const slices: unknown[] = [];
    for (let at = 0; ; ) {
      const slice = sliceLevel(capture.bytes(), capture.levels, at, 3);
      if (slice === null) break;
      slices.push([slice.level, slice.text]);
      at = slice.end;
    }
    expect(slices).toEqual([
      [undefined, "é\n"],
      ["debug", "a\nb"],
      ["debug", "\n"],
      [undefined, "c\n"],
    ]);
    for (let n = 0; n < 2000; n += 1) print("x\n", n % 2 === 0 ? "debug" : undefined);
    expect(capture.levels).toHaveLength(1000);
    const full = new StreamCapture("stdout", 4);
    full.level = "debug";
    full.write(Buffer.from("12345"));
    expect(full.levels).toEqual([[0, 4, "debug"]]);
    expect(full.truncated).toBe(true);
  });

  test("keeps at most its cap, whole characters, and says so once", () => {
    fc.assert(
      fc.property(unicode, fc.nat({ max: 40 }), (text, cap) => {
        const capture = new StreamCapture("stderr", cap);
        capture.write(Buffer.from(text));
        capture.write(Buffer.from("more"));
        capture.end();
        const whole = `${text}more`;
        const fits = Buffer.byteLength(whole) <= cap;
        expect(capture.truncated).toBe(!fits);
        if (fits) {
          expect(capture.text()).toBe(whole);
          return;
        }
        const notice = `[stderr truncated: more than ${cap} bytes]\n`;
        const kept = capture.text();
        expect(kept.endsWith(notice)).toBe(true);
        const before = kept.slice(0, -notice.length);
        expect(whole.startsWith(before) || whole.startsWith(before.slice(0, -1))).toBe(true);
        expect(Buffer.byteLength(before)).toBeLessThanOrEqual(cap + 1);
      }),
    );
  });

  test("is read in slices that give the whole text and never half a character", () => {
    fc.assert(
      fc.property(unicode, fc.integer({ min: 4, max: 20 }), (text, max) => {
        const bytes = Buffer.from(text);
        let position = 0;
        let read = "";
        for (let slice = sliceUtf8(bytes, 0, max); slice; slice = sliceUtf8(bytes, position, max)) {
          expect(slice.end).toBeGreaterThan(position);
          position = slice.end;
          read += slice.text;
        }
        expect(read).toBe(text);
      }),
    );
  });
});

/**
 * JSON text as a literal of JavaScript. JSON.parse of V8 14.6 reads some keys of one escaped character as a backslash
 * (`{"g":0,"\\u0001":0}`), which is no fault of what is tested here.
 */
const readLiteral = (text: string): object =>
  runInThisContext(`(${text.replaceAll(/(?<!\\)"__proto__":/g, '["__proto__"]:')})`);

describe("merged output", () => {
  const emission = fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 2 }));

  test("is the shallow merge, and knows its own size", () => {
    fc.assert(
      fc.property(fc.array(emission), (emissions) => {
        const output = new OutputMerge(1_000_000, NO_SECRETS);
        const expected = new Map<string, unknown>();
        for (const data of emissions) {
          expect(output.merge(data)).toBeNull();
          for (const [key, value] of Object.entries(data)) expected.set(key, value);
        }
        const text = output.text();
        expect(new Map(Object.entries(readLiteral(text)))).toEqual(
          new Map([...expected].map(([key, value]) => [key, JSON.parse(JSON.stringify(value))])),
        );
        expect(output.bytes).toBe(Buffer.byteLength(text));
        expect(output.version).toBe(emissions.length);
      }),
    );
  });

  test("a reader that merges what came since its position has the whole", () => {
    fc.assert(
      fc.property(fc.array(emission), fc.nat(), (emissions, at) => {
        const output = new OutputMerge(1_000_000, NO_SECRETS);
        const cut = at % (emissions.length + 1);
        for (const data of emissions.slice(0, cut)) output.merge(data);
        const seen = readLiteral(output.text());
        for (const data of emissions.slice(cut)) output.merge(data);
        expect({ ...seen, ...readLiteral(output.textSince(cut)) }).toEqual(readLiteral(output.text()));
      }),
    );
  });

  test("changes nothing when it would become too large", () => {
    const output = new OutputMerge(50, NO_SECRETS);
    expect(output.merge({ a: "x".repeat(30) })).toBeNull();
    expect(output.merge({ b: 1, c: "y".repeat(30) })).toContain("50 bytes");
    expect(JSON.parse(output.text())).toEqual({ a: "x".repeat(30) });
    expect(output.merge({ a: "x".repeat(42) })).toBeNull();
    expect(output.bytes).toBe(50);
    expect(output.merge({ a: "x".repeat(43) })).not.toBeNull();
  });

  test("keeps members named __proto__, at every depth", () => {
    const output = new OutputMerge(1000, NO_SECRETS);
    const text = '{"__proto__":{"x":1},"a":{"__proto__":{"y":1},"b":"__proto__"}}';
    output.merge(JSON.parse(text));
    expect(output.text()).toBe(text);
  });
});

describe("JSON text of a value", () => {
  test("is bounded in size and nesting", () => {
    expect(toJsonText("It", "x".repeat(10), 12)).toEqual({ ok: true, text: '"xxxxxxxxxx"', bytes: 12 });
    expect(toJsonText("It", "x".repeat(11), 12)).toMatchObject({
      ok: false,
      problem: expect.stringContaining("13 bytes"),
    });
    const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;
    expect(toJsonText("It", nested(512), 10_000).ok).toBe(true);
    expect(toJsonText("It", nested(513), 10_000)).toMatchObject({
      problem: expect.stringContaining("512 levels"),
    });
    expect(toJsonText("It", nested(4000), 10_000).ok).toBe(false);
    expect(toJsonText("It", { text: '[[[["\\' }, 100).ok).toBe(true);
  });

  test("refuses what is no JSON", () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    expect(toJsonText("It", cycle, 100).ok).toBe(false);
    expect(toJsonText("It", 1n, 100).ok).toBe(false);
    expect(toJsonText("It", undefined, 100)).toEqual({ ok: true, text: "null", bytes: 4 });
  });
});

describe("the call trail", () => {
  const begin = (log: CallLog, seq: number, toolId: string, parameters: Record<string, unknown>) =>
    log.begin({ seq, serviceId: "s", toolId, parameters });

  test("keeps order of issue and order of ending apart", () => {
    const trail = new CallLog(NO_SECRETS);
    const { end: first } = begin(trail, 1, "one", { a: 1 });
    const { end: second } = begin(trail, 2, "two", {});
    second({ status: "ok", result: [1, 2] });
    expect(trail.all.map(({ toolId, status }) => [toolId, status])).toEqual([
      ["one", null],
      ["two", "ok"],
    ]);
    first({ status: "error", error: "broken" });
    first({ status: "ok", result: "too late" });
    expect(trail.ended.map(({ seq, position, status }) => [seq, position, status])).toEqual([
      [2, 0, "ok"],
      [1, 1, "error"],
    ]);
    expect(trail.all[1]).toMatchObject({
      parametersBytes: 2,
      resultBytes: 5,
      result: "[1,2]",
      parameters: "{}",
    });
  });

  test("caps each value and all of them together", () => {
    const trail = new CallLog(NO_SECRETS);
    const big = "ä".repeat(MAX_PREVIEW_BYTES);
    begin(trail, 1, "t", { big }).end({ status: "ok", result: "small" });
    const [call] = trail.all;
    expect(call?.parametersBytes).toBe(2 * MAX_PREVIEW_BYTES + '{"big":""}'.length);
    expect(Buffer.byteLength(call?.parameters ?? "")).toBeLessThanOrEqual(MAX_PREVIEW_BYTES + 100);
    expect(JSON.parse(call?.parameters ?? "")).toContain("truncated");
    for (let index = 0; index < 1500; index += 1)
      begin(trail, index + 2, "t", { y: "y".repeat(MAX_PREVIEW_BYTES - 10) }).end({ status: "ok" });
    const kept = trail.all.reduce((sum, { parameters }) => sum + Buffer.byteLength(parameters ?? ""), 0);
    expect(kept).toBeLessThanOrEqual(MAX_TRAIL_PREVIEW_BYTES);
    expect(trail.all.at(-1)).toMatchObject({
      parameters: null,
      parametersBytes: MAX_PREVIEW_BYTES - 10 + '{"y":""}'.length,
    });
  });
});
