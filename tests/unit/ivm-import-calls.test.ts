import { describe, expect, test } from "vitest";
import { replaceImportCalls } from "#modules/typescript-ivm/import-calls.ts";
import { IMPORT_FUNCTION } from "#modules/typescript-ivm/import-function-name.ts";

describe("import() in an isolate", () => {
  test("becomes a call of the hidden function, and nothing on the line moves", () => {
    const code = 'async () => { const a = await import("fs"), b = await import ("path"); return [a, b]; }';
    const replaced = replaceImportCalls(code);
    expect(replaced).toBe(code.replaceAll("import", IMPORT_FUNCTION));
    expect(replaced).toHaveLength(code.length);
  });

  test("is found inside templates, defaults and nested functions", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template is the script's.
    const code = "async (a = import('x')) => `${await import(`y${await import('z')}`)}`";
    expect(replaceImportCalls(code)).not.toContain("import");
  });

  test("is not found in strings, comments, regular expressions and property names", () => {
    const code =
      'async () => { /* import("a") */ return ["import(1)", /import\\(/, ({ import() {} }).import()]; }';
    expect(replaceImportCalls(code)).toBe(code);
  });

  test("leaves what cannot be parsed as it is", () => {
    expect(replaceImportCalls("async () => { import( }")).toBe("async () => { import( }");
  });
});
