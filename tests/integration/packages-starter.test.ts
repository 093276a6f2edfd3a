/** Each package of the starter set does its work in a script, on both environments; warm with V8's code cache. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { treeMemberSchema } from "#api/packages/install/messages.ts";
import { instantiate as instantiateIvm } from "#modules/typescript-ivm/index.ts";
import { instantiate as instantiateProcess } from "#modules/typescript-process/index.ts";
import type { BundledPackage } from "#runner/packages/bundle.ts";
import { STARTER_SET, starterFile } from "#runner/packages/starter.ts";
import { type Bench, openBench } from "#tests/contract/bench.ts";
import type { PackageBindings } from "#tests/contract/packages.ts";

const bundles = new Map<string, BundledPackage>(
  STARTER_SET.map((name) => [name, JSON.parse(readFileSync(starterFile(name), "utf8"))]),
);
const packages: PackageBindings = {
  async findPackage(_eid, { name }) {
    return bundles.get(name) ?? { message: `There is no ${name}.` };
  },
  async readPackage(_eid, digest) {
    const found = [...bundles.values()].find((bundle) => bundle.digest === digest);
    if (found === undefined) throw new Error("There is no such bundle.");
    return found;
  },
};

const USES: Record<(typeof STARTER_SET)[number], [script: string, result: unknown]> = {
  zod: [
    'import { z } from "zod"; const User = z.object({ name: z.string().min(2), age: z.number().int() }); return [User.parse({ name: "Ada", age: 36 }), User.safeParse({ name: "A" }).error.issues.length, z.toJSONSchema(User).type]',
    [{ name: "Ada", age: 36 }, 2, "object"],
  ],
  "date-fns": [
    'import { addDays, format, formatDistance, parseISO } from "date-fns"; import { de } from "date-fns/locale"; import { addHours } from "date-fns/addHours"; const day = parseISO("2026-01-31T12:00:00"); return [format(addDays(day, 1), "yyyy-MM-dd"), format(day, "EEEE", { locale: de }), formatDistance(addHours(day, 3), day)]',
    ["2026-02-01", "Samstag", "about 3 hours"],
  ],
  "lodash-es": [
    'import { chunk, groupBy, template } from "lodash-es"; import debounce from "lodash-es/debounce.js"; return [chunk([1, 2, 3], 2), Object.keys(groupBy(["a", "bb", "c"], "length")), typeof debounce]',
    [[[1, 2], [3]], ["1", "2"], "function"],
  ],
  papaparse: [
    'import Papa from "papaparse"; return [Papa.parse("a,b\\n1,\\"x, y\\"", { header: true }).data, Papa.unparse([{ a: 1, b: "q\\"" }])]',
    [[{ a: "1", b: "x, y" }], 'a,b\r\n1,"q"""'],
  ],
  yaml: [
    'import { parse, stringify } from "yaml"; import YAML from "yaml"; return [parse("a:\\n  - 1\\n  - x: y"), stringify({ b: [1] }), YAML.parse("1")]',
    [{ a: [1, { x: "y" }] }, "b:\n  - 1\n", 1],
  ],
  "fast-xml-parser": [
    'import { XMLParser, XMLBuilder } from "fast-xml-parser"; const value = new XMLParser({ ignoreAttributes: false }).parse("<a x=\\"1\\"><b>2</b></a>"); return [value, new XMLBuilder().build({ c: 3 })]',
    [{ a: { "@_x": "1", b: 2 } }, "<c>3</c>"],
  ],
  "decimal.js": [
    'import Decimal from "decimal.js"; import { Decimal as Named } from "decimal.js"; return [new Decimal("0.1").plus("0.2").toString(), Named.sqrt(2).toFixed(20)]',
    ["0.3", "1.41421356237309504880"],
  ],
  jszip: [
    'import JSZip from "jszip"; const zip = new JSZip(); zip.file("a/b.txt", "hello"); const bytes = await zip.generateAsync({ type: "uint8array", compression: "DEFLATE" }); const back = await JSZip.loadAsync(bytes); return [await back.file("a/b.txt").async("string"), bytes[0]]',
    ["hello", 80],
  ],
  cheerio: [
    'import * as cheerio from "cheerio"; const $ = cheerio.load("<ul><li class=a>1</li><li>2</li></ul>"); return [$("li.a").text(), $("li").map((_, e) => $(e).text()).get(), $.html($("li")[1])]',
    ["1", ["1", "2"], "<li>2</li>"],
  ],
  marked: [
    'import { marked } from "marked"; return marked.parse("# Hi *there*")',
    "<h1>Hi <em>there</em></h1>\n",
  ],
  mathjs: [
    'import { evaluate, matrix, inv, unit } from "mathjs"; return [evaluate("sqrt(3^2 + 4^2)"), inv(matrix([[2, 0], [0, 4]])).toArray(), unit("5 cm").to("mm").toString()]',
    [
      5,
      [
        [0.5, 0],
        [0, 0.25],
      ],
      "50 mm",
    ],
  ],
  "pdf-lib": [
    'import { PDFDocument, StandardFonts } from "pdf-lib"; const pdf = await PDFDocument.create(); const font = await pdf.embedFont(StandardFonts.Helvetica); pdf.addPage([200, 100]).drawText("Hello", { x: 10, y: 50, font }); const bytes = await pdf.save(); return [String.fromCharCode(...bytes.slice(0, 5)), (await PDFDocument.load(bytes)).getPageCount()]',
    ["%PDF-", 1],
  ],
  jose: [
    'import { base64url, decodeJwt, UnsecuredJWT } from "jose"; const token = new UnsecuredJWT({ a: 1 }).setIssuer("me").encode(); return [decodeJwt(token).iss, UnsecuredJWT.decode(token).payload.a, base64url.encode("hi")]',
    ["me", 1, "aGk"],
  ],
  "@cfworker/json-schema": [
    'import { Validator } from "@cfworker/json-schema"; const validator = new Validator({ type: "object", required: ["a"] }); return [validator.validate({ a: 1 }).valid, validator.validate({}).errors.length > 0]',
    [true, true],
  ],
  mustache: [
    'import Mustache from "mustache"; return Mustache.render("{{#all}}<{{name}}>{{/all}}", { all: [{ name: "a&b" }, { name: "c" }] })',
    "<a&amp;b><c>",
  ],
};

describe.each([
  ["typescript-process", instantiateProcess, { maxConcurrency: 2 }],
  ["typescript-ivm", instantiateIvm, { slots: 2 }],
])("on %s", (_name, instantiate, config) => {
  let bench: Bench & AsyncDisposable;
  beforeAll(async () => {
    bench = await openBench({ instantiate, config, packages });
  });
  afterAll(async () => {
    await bench?.[Symbol.asyncDispose]();
  });

  test.each(Object.entries(USES))("%s", async (_package, [script, result]) => {
    // The third run finds a code cache, if it is fast enough: none may change what is answered.
    for (let turn = 0; turn < 3; turn++) {
      const run = await bench.run(script);
      expect(run.error).toBeUndefined();
      expect(run.result).toEqual(result);
    }
  });
});

test("none makes code of strings, needs what a script has not, or is larger than it should be", () => {
  for (const { name, missing, sizes } of bundles.values()) {
    expect([name, missing]).toEqual([name, []]);
    expect(sizes.code, name).toBeLessThan(4 * 1024 * 1024);
  }
});

test("each has its declarations, those of @types and what they name included", () => {
  for (const { name, types } of bundles.values()) {
    const files = Object.keys(types).filter((file) => /\.d\.[cm]?ts$/.test(file));
    const typed = files.filter((file) => [name, `@types/${name}`].some((one) => file.startsWith(`${one}/`)));
    expect(typed, name).not.toEqual([]);
  }
  expect(bundles.get("lodash-es")?.types["@types/lodash/index.d.ts"]).toMatch(/./);
  expect(Object.keys(bundles.get("papaparse")?.types ?? {}).join()).not.toContain("@types/node/");
});

test("each says what it was made of: the tree of the lock file, with integrity and licence", () => {
  const trees = new Map(
    [...bundles].map(([name, bundle]) => [
      name,
      (bundle as BundledPackage & { about: { tree: unknown } }).about.tree,
    ]),
  );
  for (const [name, tree] of trees) {
    const members = treeMemberSchema.array().parse(tree);
    expect(members[0]).toMatchObject({
      name,
      version: bundles.get(name)?.version,
      path: `node_modules/${name}`,
    });
    for (const member of members) {
      expect(member, member.path).toMatchObject({
        integrity: expect.stringMatching(/^sha512-[A-Za-z0-9+/]{86}==$/),
        license: expect.stringMatching(/./),
      });
      expect([member.path, member.files > 0, member.bytes > 0]).toEqual([member.path, true, true]);
    }
  }
  const namesOf = (name: string) => (trees.get(name) as { name: string }[]).map((member) => member.name);
  expect(namesOf("zod")).toEqual(["zod"]);
  expect(namesOf("jszip")).toEqual(
    expect.arrayContaining(["jszip", "pako", "readable-stream", "safe-buffer"]),
  );
  expect(namesOf("cheerio")).toEqual(expect.arrayContaining(["parse5", "entities", "css-select"]));
});
