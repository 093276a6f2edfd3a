/** The processes that parse sources: what a hostile source does to one of them is nobody else's trouble. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { prepareSource } from "#runner/preparer/prepare.ts";

const LARGE = 'const a: number = 1; const text = "ä€😀";\n';

test("what is wrong with a large source is said with its place", async () => {
  const source = `{${LARGE}}\n`.repeat(5_000);
  expect(await prepareSource(source)).toMatchObject({ ok: true });
  expect(await prepareSource(`${source}const = 1`)).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining('"="'), line: 10_001, column: 7 },
  });
});

test.each([
  ["deeply", `${"!".repeat(900_000)}1`],
  ["deeply, in templates", `a${"``".repeat(450_000)}`],
  ["oddly", `(${"1,".repeat(450_000)}1)`],
])("one that is nested %s is refused, and others are not held up", async (_, source) => {
  const refused = prepareSource(source);
  const others = await Promise.all(
    Array.from({ length: 20 }, (_, index) => prepareSource(`const a: number = ${index}; return a;`)),
  );
  expect(others.filter(({ ok }) => !ok)).toEqual([]);
  expect(await refused).toMatchObject({
    ok: false,
    error: { name: "SyntaxError", message: expect.stringContaining("nested too deeply") },
  });
});

const ODD = 'import x from "./x.json"; return x;';

test.each([
  ["[1, 1,\n /[\\p{RGI_Emoji}]/v]", "Unexpected token '/'", 2, 2],
  [`[${"1,".repeat(300_000)}x`, "Unexpected token 'x'", 1, 600_002],
  ['{"a": "x\\"y", "b": [tru]}', "Unexpected token", 1, 21],
  ['{"a": "b",\n "c": }', "Unexpected token '}'", 2, 7],
  ["[1,]", "Unexpected token ']'", 1, 4],
  ['{"a": 1,}', "Expected double-quoted property name", 1, 9],
  ["[", "Unexpected end of JSON input", 1, 2],
])("what is no JSON is said with its place: %#", async (text, message, line, column) => {
  expect(await prepareSource(ODD, { readModule: async () => text })).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining(`No JSON: ${message}`), file: "x.json", line, column },
  });
});

test.runIf(process.platform === "linux")("a source is not blamed for a preparer that was ended", async () => {
  await prepareSource("");
  // It takes about a second, and both attempts would have to meet the end.
  const slow = prepareSource(`{${LARGE}}\n`.repeat(8_000));
  for (const pid of listPreparers()) process.kill(pid, "SIGKILL");
  expect(await slow).toMatchObject({ ok: true });
});

function listPreparers(): number[] {
  const table = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(process.pid)], { encoding: "utf8" });
  const lines = table.split("\n").filter((line) => line.includes("cyrnel-preparer"));
  return lines.map((line) => Number.parseInt(line, 10));
}
