import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { describeParameters } from "#api/audit/parameters.ts";
import { createRedactor } from "#api/secrets/redactor.ts";

const previewOf = (parameters: unknown) => JSON.parse(describeParameters(parameters).preview);

describe("parameters in the audit trail", () => {
  test("equal parameters have one hash, whatever the order of their names; it is the SHA-256 of sorted JSON", () => {
    const one = describeParameters({ b: [1, { d: null, c: "x" }], a: true });
    const other = describeParameters({ a: true, b: [1, { c: "x", d: null }] });
    expect(one.sha256).toEqual(other.sha256);
    expect(one.sha256).toEqual(createHash("sha256").update('{"a":true,"b":[1,{"c":"x","d":null}]}').digest());
  });

  test("different parameters have different hashes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const same = JSON.stringify(a) === JSON.stringify(b);
        if (!same && describeParameters(a).sha256.equals(describeParameters(b).sha256)) {
          // Only the order of names may differ.
          expect(a).toEqual(b);
        }
      }),
    );
  });

  test("any JSON makes a preview that is JSON, short, and that Postgres can store", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const { preview } = describeParameters(value);
        expect(() => JSON.parse(preview)).not.toThrow();
        expect(preview.length).toBeLessThanOrEqual(2000);
        expect(preview.includes("\0")).toBe(false);
        expect(preview.isWellFormed()).toBe(true);
      }),
    );
  });

  test.each([
    ["password", "hunter22"],
    ["accessToken", "abc"],
    ["Authorization", "Bearer x"],
    ["api_key", "abc"],
    ["clientSecret", "abc"],
    ["DB_PASSWORD", "abc"],
  ])("what is called %s is covered", (name, value) => {
    expect(previewOf({ nested: [{ [name]: value }] })).toEqual({ nested: [{ [name]: "[redacted]" }] });
  });

  test("so are values of a patch to such a setting, and credentials in a URL", () => {
    expect(previewOf([{ op: "add", path: "/apiKey", value: "abc" }])).toEqual([
      { op: "add", path: "/apiKey", value: "[redacted]" },
    ]);
    const url = previewOf({ url: "https://me:hunter22@example.com/spec.json?sig=abcdef" }).url;
    expect(url).toContain("example.com/spec.json");
    expect(url).not.toMatch(/hunter22|abcdef/);
  });

  test("scripts and documents are told by their size", () => {
    expect(previewOf({ code: "return 1", content: "x".repeat(500), note: "y".repeat(500) })).toEqual({
      code: "[8 characters]",
      content: "[500 characters]",
      note: "[500 characters]",
    });
  });

  test("known secrets are replaced wherever they are", () => {
    const redactor = createRedactor();
    redactor.setOwner("service:x", { token: "s3cr3t-value-of-x" });
    const { preview } = describeParameters({ note: "use s3cr3t-value-of-x here" }, (json) =>
      redactor.value(json),
    );
    expect(preview).toBe('{"note":"use [secret] here"}');
  });

  test("nesting and size of hostile parameters cost little", () => {
    let deep: unknown = "x";
    for (let level = 0; level < 5000; level += 1) deep = { a: deep };
    expect(() => describeParameters(deep)).not.toThrow();
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, index]));
    expect(describeParameters(wide).preview.length).toBeLessThanOrEqual(2000);
  });
});
