/** Every script of examples/: what is put in front of it, and what its comment promises about the record it leaves. */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { expect } from "vitest";
import { PROJECT } from "./started-server.ts";

export interface Example {
  file: string;
  options?: { timeout: number };
  /** JSON that becomes the input. */
  document?: string;
  expected: Record<string, unknown>;
}

export const EXAMPLES: Example[] = [
  {
    file: "summarise-openapi.ts",
    document: "3.1/json/train-travel.json",
    expected: {
      exitState: "success",
      reason: "ok",
      result: {
        title: "Train Travel API",
        specification: "3.1.0",
        paths: 5,
        operations: 7,
        changing: 3,
        deprecated: [],
        perTag: expect.arrayContaining([{ tag: "Bookings", operations: 4 }]),
      },
      stdout: expect.stringMatching(/^Train Travel API .*: 7 operations on 5 paths\n$/),
      output: { markdown: expect.stringContaining("| GET | /stations |") },
    },
  },
  {
    file: "summarise-openapi.ts",
    document: "3.0/json/petstore.json",
    expected: { exitState: "success", result: { specification: "3.0.0", paths: 14, operations: 20 } },
  },
  {
    file: "group-sales.ts",
    expected: {
      exitState: "success",
      result: {
        accepted: 7,
        regions: [
          { region: "north", sales: 3, total: 666.25, median: 232.75, best: "anchor" },
          { region: "east", sales: 2, total: 620.48, median: 310.24, best: 'lamp "Fresnel"' },
          { region: "south", sales: 2, total: 346.25, median: 173.13, best: "buoy" },
        ],
      },
      stderr: "line 6: quantity is not a whole number: two\nline 9: expected 5 fields, found 4\n",
      stdout: expect.stringContaining("│"),
    },
  },
  {
    file: "parallel-work.ts",
    expected: {
      exitState: "success",
      result: {
        squares: [1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144],
        started: [11, 12, 13],
        failure: "job 13 failed",
      },
    },
  },
  {
    file: "error-with-line.ts",
    expected: {
      exitState: "failed",
      reason: "script_error",
      error: expect.stringContaining("undefined"),
      errorDetail: {
        name: "TypeError",
        line: 20,
        column: expect.any(Number),
        stack: expect.stringMatching(/script\.ts:20:\d+[\s\S]*script\.ts:27:\d+/),
      },
      result: null,
      stdout: "counting 2 orders\n",
    },
  },
  {
    file: "time-out.ts",
    options: { timeout: 500 },
    expected: {
      exitState: "timeout",
      reason: "timeout",
      result: null,
      stdout: "looking for an even prime above 2\n",
      options: { timeoutMs: 500 },
    },
  },
  {
    file: "stream-output.ts",
    expected: {
      exitState: "success",
      result: { steps: 5 },
      output: { progress: 100, step1: "fetch the list", step5: "write the report" },
      stdout: expect.stringMatching(/^1\/5 [\s\S]*5\/5 write the report\n$/),
      stderr: "3 duplicates removed\n",
    },
  },
  {
    file: "fingerprint.ts",
    expected: {
      exitState: "success",
      result: {
        fingerprints: [
          "3c48591d8d098a4538f5e013dfcf406e948eac4d3277b10bf614e295d6068179",
          "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        ],
        address: "https://example.com/list?a=1&b=2",
        base64: "bmHDr3Zl",
        tags: { original: 2, copy: 3 },
        date: "21. November 2026",
        unique: 1000,
      },
    },
  },
  {
    file: "locked-in.ts",
    expected: {
      exitState: "success",
      result: {
        "reach the network": expect.stringMatching(/service/),
        "read the environment": expect.stringMatching(/Error/),
        "load a module": expect.stringMatching(/Error/),
        "make code from text": expect.stringMatching(/Error/),
        "evaluate text": expect.stringMatching(/Error/),
        "climb out through a constructor": expect.stringMatching(/Error/),
      },
    },
  },
];

/** The scripts in examples/, by file name. */
export function listScripts(): string[] {
  return readdirSync(path.join(PROJECT, "examples")).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".d.ts"),
  );
}

/** What is submitted. */
export function readSubmission({ file, document, options }: Example): Record<string, unknown> {
  return {
    code: readFileSync(path.join(PROJECT, "examples", file), "utf8"),
    ...(document !== undefined && {
      input: createRequire(import.meta.url)(`@readme/oas-examples/${document}`) as unknown,
    }),
    ...(options && { options }),
  };
}
