import fc from "fast-check";
import { expect, test } from "vitest";
import { createRedactor, type Redactor } from "#api/secrets/redactor.ts";

const SECRET = 'p@ss/wörd "quoted"\\n+1';

function redactorOf(...values: unknown[]): Redactor {
  const redactor = createRedactor();
  for (const [index, value] of values.entries()) redactor.setOwner(`service:s${index}`, { value });
  return redactor;
}

/** Sends bytes in pieces cut at these places. */
function stream(redactor: Redactor, bytes: Buffer, cuts: readonly number[]): string {
  const out = redactor.createByteStream();
  const parts: Buffer[] = [];
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    parts.push(out.push(bytes.subarray(from, cut)));
    from = Math.max(from, cut);
  }
  parts.push(out.push(bytes.subarray(from)), out.end());
  return Buffer.concat(parts).toString("utf8");
}

/** The obvious way: every occurrence of every value, overlapping ones together. */
function expected(values: readonly string[], text: string): string {
  const covered = new Array<boolean>(text.length).fill(false);
  const starts = new Set<number>();
  const intervals: [number, number][] = [];
  for (const value of values) {
    for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1))
      intervals.push([at, at + value.length]);
  }
  intervals.sort((a, b) => a[0] - b[0]);
  let end = -1;
  for (const [from, to] of intervals) {
    if (from >= end) starts.add(from);
    end = Math.max(end, to);
    covered.fill(true, from, to);
  }
  let result = "";
  for (let index = 0; index < text.length; index += 1) {
    if (starts.has(index)) result += "[secret]";
    if (!covered[index]) result += text[index];
  }
  return result;
}

test.each([
  ["as it is", SECRET],
  ["escaped as JSON", JSON.stringify(SECRET)],
  ["as JSON inside of JSON", JSON.stringify(JSON.stringify(SECRET))],
  ["as JSON with escaped slashes", JSON.stringify(SECRET).replaceAll("/", "\\/")],
  ["as JSON of ASCII", JSON.stringify(SECRET).replaceAll("ö", "\\u00f6")],
  ["percent-encoded", encodeURIComponent(SECRET)],
  [
    "percent-encoded in lower case",
    encodeURIComponent(SECRET).replaceAll(/%../g, (digits) => digits.toLowerCase()),
  ],
  ["as a form writes it", new URLSearchParams({ a: SECRET }).toString()],
  ["in base64", Buffer.from(SECRET).toString("base64")],
  ["in base64url", Buffer.from(SECRET).toString("base64url")],
  ["in base64 after one byte", Buffer.from(`:${SECRET}`).toString("base64")],
  ["in base64 after a user name", Buffer.from(`me:${SECRET}:x`).toString("base64")],
  ["in base64 inside of a document", Buffer.from(`{"a":"b","token":"${SECRET}"}`).toString("base64url")],
])("a value is found %s", (_, text) => {
  const redactor = redactorOf(SECRET);
  const redacted = redactor.text(`before ${text} after`);
  expect(redacted).toContain("[secret]");
  expect(redacted).toMatch(/^before .* after$/);
  const leftover = redacted.replaceAll("[secret]", "").length;
  expect(leftover).toBeLessThan("before  after".length + 45);
  for (const form of [SECRET, "p@ss", "quoted", "p%40ss"]) expect(redacted).not.toContain(form);
});

test("values shorter than eight characters are left alone, nested ones and long numbers are found", () => {
  const redactor = createRedactor();
  redactor.setOwner("service:a", {
    short: "1234567",
    nested: { list: ["deep-secret-1"] },
    number: 4711471147114711,
    flag: true,
  });
  expect(redactor.text("1234567 deep-secret-1 4711471147114711 true")).toBe("1234567 [secret] [secret] true");
});

test("the credential of an authorization header is found without its scheme", () => {
  expect(redactorOf("Bearer tok-abcdef-123").text("got tok-abcdef-123")).toBe("got [secret]");
  expect(redactorOf("  padded-secret\n").text("<padded-secret>")).toBe("<[secret]>");
});

test("nothing is touched, and nothing is copied, while no secret is known", () => {
  const redactor = createRedactor();
  const value = { a: ["anything"] };
  const chunk = Buffer.from("anything");
  expect(redactor.value(value)).toBe(value);
  expect(redactor.createByteStream().push(chunk)).toBe(chunk);
  expect(redactor.text("anything")).toBe("anything");
});

test("a JSON value keeps its shape: strings, names, numbers; the same value when it holds none", () => {
  const redactor = redactorOf("12345678", "secret-name", 'quo"ted-secret');
  const value = {
    "secret-name": 1,
    n: 12345678,
    bigger: 1123456789,
    near: 1234567,
    list: [null, true, 'a quo"ted-secret b', "\nabc"],
    __proto__: 1,
  };
  expect(redactor.value(value)).toEqual({
    "[secret]": 1,
    n: "[secret]",
    bigger: "[secret]",
    near: 1234567,
    list: [null, true, "a [secret] b", "\nabc"],
  });
  const clean = { nothing: ["here", 1] };
  expect(redactor.value(clean)).toBe(clean);
});

test("an escape sequence next to a secret stays one", () => {
  // In JSON text, `\nabcdefg` looks as if it held `nabcdefg`, and a secret that ends with a backslash meets the quote.
  const redactor = redactorOf("nabcdefg", "ends-with\\");
  for (const text of ["\nabcdefg", "nabcdefg", "ends-with\\", '"ends-with\\"', "\\nabcdefg"]) {
    const json = JSON.stringify({ text });
    expect(JSON.parse(redactor.jsonText(json)).text).toBe(redactor.text(text));
  }
  expect(redactor.text("\nabcdefg")).toBe("\nabcdefg");
});

test("what cannot be written as JSON, or is nested endlessly, is replaced whole", () => {
  const redactor = redactorOf("some-secret");
  const cyclic: Record<string, unknown> = { secret: "some-secret" };
  cyclic.self = cyclic;
  expect(redactor.value(cyclic)).toBe("[secret]");
  const deep = `${"[".repeat(100_000)}"some-secret"${"]".repeat(100_000)}`;
  expect(redactor.jsonText(deep)).not.toContain("some-secret");
});

test("a value that was replaced stays known, one whose owner is dropped does not", () => {
  const redactor = createRedactor();
  redactor.setOwner("service:a", { key: "first-secret" });
  redactor.setOwner("service:b", { key: "other-secret" });
  redactor.setOwner("service:a", { key: "second-secret" });
  expect(redactor.text("first-secret second-secret other-secret")).toBe("[secret] [secret] [secret]");
  redactor.dropOwner("service:a");
  expect(redactor.text("first-secret second-secret other-secret")).toBe(
    "first-secret second-secret [secret]",
  );
});

test("a stream passes on whole lines, and of an endless one all but its end", () => {
  const out = redactorOf("abcdefghij").createByteStream();
  expect(out.push(Buffer.from("one\ntwo")).toString()).toBe("one\n");
  expect(out.push(Buffer.from(" abcdef")).toString()).toBe("");
  expect(out.push(Buffer.from("ghij\r50%\rthree")).toString()).toBe("two [secret]\r50%\r");
  expect(out.push(Buffer.from("x".repeat(10_000))).length).toBeGreaterThan(9900);
  expect(out.end().length).toBeLessThan(100);
  expect(out.end().length).toBe(0);
});

test("of a stream that was cut off, nothing that may be half a secret is left, and its length does not say what it was", () => {
  const known = "sk-live-0123456789abcdef";
  const redactor = redactorOf(known, "another-secret");
  const cutAfter = (text: string) => {
    const out = redactor.createByteStream();
    return Buffer.concat([out.push(Buffer.from(text)), out.cut()]).toString();
  };
  for (let length = 1; length < known.length; length += 1) {
    const right = cutAfter(`line\n${"x".repeat(200)}${known.slice(0, length)}`);
    const wrong = cutAfter(`line\n${"x".repeat(200)}${"~".repeat(length)}`);
    expect(right).toBe(wrong);
    expect(right).toMatch(/^line\nx{100,200}$/);
  }
  expect(cutAfter(`${known}${"x".repeat(200)}`)).toMatch(/^\[secret\]x{100,200}$/);
  expect(cutAfter(`${"x".repeat(200)}${known}${known}y`)).toMatch(/^x{100,200}(\[secret\])*$/);
});

test("what a reader of a stream sees, and when, does not tell how a secret begins", () => {
  const known = "sk-live-0123456789abcdef";
  const redactor = redactorOf(known, `first line\n${known}`);
  const watch = (pieces: string[]) => {
    const out = redactor.createByteStream();
    return pieces.map((text) => out.push(Buffer.from(text)).length);
  };
  for (let length = 1; length < known.length; length += 1) {
    const right = known.slice(0, length);
    const wrong = `${known.slice(0, length - 1)}~`;
    for (const after of ["", "\n", " ", "x".repeat(9000)]) {
      expect(watch([right, after, "\n"])).toEqual(watch([wrong, after, "\n"]));
      expect(watch([`${"y".repeat(8180)}${right}`, after])).toEqual(
        watch([`${"y".repeat(8180)}${wrong}`, after]),
      );
    }
  }
});

test("a secret inside of a longer one that does not come is replaced all the same", () => {
  const redactor = redactorOf("abcdefgh", "xxabcdefghyyyyyy");
  const text = "..xxabcdefgh!";
  for (let cut = 0; cut <= text.length; cut += 1)
    expect(stream(redactor, Buffer.from(text), [cut])).toBe("..xx[secret]!");
  const out = redactor.createByteStream();
  expect(Buffer.concat([out.push(Buffer.from("..xxabcdefgh")), out.end()]).toString()).toBe("..xx[secret]");
});

test("a secret that becomes known while a stream runs is found in what is still held", () => {
  const redactor = redactorOf("first-secret");
  const out = redactor.createByteStream();
  expect(out.push(Buffer.from("first-")).toString()).toBe("");
  redactor.setOwner("service:new", { key: "t-second-secret" });
  expect(Buffer.concat([out.push(Buffer.from("second-secret")), out.end()]).toString()).toBe("firs[secret]");
});

test("what was printed with a level keeps it, whatever is held back and replaced around it", () => {
  const known = "abc\ndefgh";
  const text = fc.array(fc.constantFrom("x", "\n", "abc", "!", known, "\ndefgh"), { maxLength: 4 });
  const level = fc.constantFrom("debug" as const, undefined);
  fc.assert(
    fc.property(fc.array(fc.tuple(text, level), { maxLength: 12 }), fc.boolean(), (writes, isKnown) => {
      const redactor = isKnown ? redactorOf(known) : createRedactor();
      const out = redactor.createByteStream();
      const raw = writes.map(([parts]) => parts.join("")).join("");
      const rawLevels = writes.flatMap(([parts, of]) => Array.from(parts.join(""), () => of ?? "info"));
      let passed = "";
      const passedLevels: string[] = [];
      let now = "info";
      const take = (bytes: Buffer) => {
        passed += bytes;
        for (const at of [...bytes.keys(), bytes.length]) {
          for (const change of out.levels) if (change.at === at) now = change.level ?? "info";
          if (at < bytes.length) passedLevels.push(now);
        }
      };
      for (const [parts, of] of writes) take(out.push(Buffer.from(parts.join("")), of));
      take(out.end());
      const without = (whole: string, levels: string[], found: string) =>
        [...Array(whole.length).keys()]
          .filter((index) => !inAny(whole, found, index))
          .map((index) => `${whole[index]} ${levels[index]}`);
      const found = isKnown ? known : "no such text";
      expect(without(passed, passedLevels, "[secret]")).toEqual(without(raw, rawLevels, found));
    }),
    { numRuns: 500 },
  );
});

function inAny(text: string, part: string, index: number): boolean {
  const from = text.lastIndexOf(part, index);
  return from !== -1 && index < from + part.length;
}

const piece = fc.constantFrom("a", "b", "c", "ab", "abc", "aaaaaaaa", "ö", "\u{1f511}");
const secret = fc.array(piece, { minLength: 8, maxLength: 12 }).map((parts) => parts.join(""));

test("finds what a search for each value finds, however the values overlap", () => {
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 6 }),
      fc.array(piece, { maxLength: 60 }),
      (secrets, noise) => {
        const text = [...noise.slice(0, 30), ...secrets, ...noise.slice(30), secrets[0]?.slice(3) ?? ""].join(
          "",
        );
        expect(redactorOf(...secrets).text(text)).toBe(expected(secrets, text));
      },
    ),
    { numRuns: 500 },
  );
});

test("a stream gives the same as the whole text, wherever it is cut", () => {
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 4 }),
      fc.array(piece, { maxLength: 40 }),
      fc.array(fc.nat(300), { maxLength: 20 }),
      (secrets, noise, cuts) => {
        const text = [...secrets, ...noise, ...secrets].join("");
        const redactor = redactorOf(...secrets);
        expect(stream(redactor, Buffer.from(text), cuts)).toBe(redactor.text(text));
      },
    ),
    { numRuns: 500 },
  );
});

test("bytes that are no text pass through unchanged", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(200)), (bytes, cuts) => {
      const out = redactorOf("never-in-there").createByteStream();
      const parts: Buffer[] = [];
      let from = 0;
      for (const cut of [...cuts].sort((a, b) => a - b)) {
        parts.push(out.push(Buffer.from(bytes.subarray(from, cut))));
        from = Math.max(from, cut);
      }
      parts.push(out.push(Buffer.from(bytes.subarray(from))), out.end());
      expect(Buffer.concat(parts)).toEqual(Buffer.from(bytes));
    }),
  );
});

test("any JSON value comes back whole and without the secret", () => {
  fc.assert(
    fc.property(fc.jsonValue(), secret, (value, planted) => {
      const redactor = redactorOf(planted);
      const redacted = redactor.value({ value, planted: `<${planted}>` });
      expect(JSON.stringify(redacted)).not.toContain(JSON.stringify(planted).slice(1, -1));
      expect(redacted.planted).toBe("<[secret]>");
    }),
  );
});

test("a text is cut after its secrets were replaced, and one that was cut before ends before a secret's first part", () => {
  const redactor = redactorOf("Sk-Live-kQ7vR2mXw9", "dots...and-more", "ends-in-dots...");
  expect(redactor.cut("a Sk-Live-kQ7vR2mXw9 b", 4)).toBe("a [s");
  for (const end of ["", "...", "…", '..."', "...)."]) {
    expect(redactor.cut(`a Sk-Live-kQ${end}`, 100)).toBe(`a [secret]${end}`);
    expect(redactor.cut(`a Sk-Live-k${end}`, 100)).toBe(`a [secret]${end}`);
    expect(redactor.cut(`a Sk-Live-${end}`, 100)).toBe(`a [secret]${end}`);
    expect(redactor.cut(`a Sk-Live${end}`, 100)).toBe(`a Sk-Live${end}`);
    expect(redactor.cut(`Sk-Live-kQ7vR2mXw9${end}`, 100)).toBe(`[secret]${end}`);
  }
  expect(redactor.cut("a dots...", 100)).toBe("a dots...");
  expect(redactor.cut("a dots...and-more", 100)).toBe("a [secret]");
  expect(redactor.cut("a ends-in-dots...", 100)).toContain("a [secret]");
  expect(createRedactor().cut("plain", 3)).toBe("pla");
});

test("a value is found in lower case, in any of its forms", () => {
  const secret = "Sk-Live+kQ7vR2mXw9";
  const redactor = redactorOf(secret);
  for (const form of [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64url")])
    expect(redactor.value({ [`x-${form.toLowerCase()}`]: 1 })).toEqual({ "x-[secret]": 1 });
});
