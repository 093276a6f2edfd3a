/** Every script of examples/: what is put in front of it, and what its comment promises about the record it leaves. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { expect } from "vitest";
import { PROJECT } from "./started-server.ts";

export interface Example {
  file: string;
  options?: { timeout: number };
  /** JSON that becomes the input. */
  document?: string;
  input?: unknown;
  /** Files of examples/data that the workspace has. */
  files?: string[];
  /** Files of examples/ that the script imports. */
  sources?: string[];
  expected: Record<string, unknown>;
}

/** Origin of the API that api-walk.ts reads; the test starts it. */
const SHOP_PORT = 39_371;
export const SHOP_ORIGIN = `http://127.0.0.1:${SHOP_PORT}`;

const ORDERS_PORT = 39_372;
const ORDERS_REPORT = `# Orders by status

| status | orders | value |
| --- | --- | --- |
| late | 2 | 930.00 |
| open | 1 | 45.00 |
| sent | 1 | 12.00 |
`;
export const ORDERS_KEY = "tutorial-key-7f3a91";

/** An API of two pages, one item of which is not as it should be. */
export async function startShop(): Promise<Server> {
  const pages: Record<string, unknown> = {
    "/items": { items: [{ id: 1, name: "anchor", price: 120.5 }], next: "/items?page=2" },
    "/items?page=2": {
      items: [
        { id: 2, name: "buoy", price: 18 },
        { id: 4, name: "rope", price: "33.25" },
        { id: 3, name: "lamp", price: 249.99 },
      ],
      next: null,
    },
  };
  const server = createServer((request, response) => {
    const page = pages[request.url ?? ""];
    response.writeHead(page === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(page ?? {}));
  });
  await once(server.listen(SHOP_PORT, "127.0.0.1"), "listening");
  return server;
}

/** The rule that lets scripts read it. */
export const SHOP_RULES = JSON.stringify({
  rules: [{ name: "read", origins: [SHOP_ORIGIN], pathPrefix: "/items", methods: ["GET"] }],
});

/** The API of the tutorial, which order-report.ts calls: its document, once it answers, and the process that serves it. */
export async function startOrders(): Promise<{ document: string; orders: ChildProcess }> {
  const orders = spawn(process.execPath, [path.join(PROJECT, "examples/tutorial/orders.mjs")], {
    env: { ...process.env, ORDERS_PORT: String(ORDERS_PORT) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(orders.stdout, "data");
  const answer = await fetch(`http://127.0.0.1:${ORDERS_PORT}/openapi.json`);
  return { document: await answer.text(), orders };
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
    file: "csv-report.ts",
    files: ["sales.csv"],
    expected: {
      exitState: "success",
      result: { north: 666.25, east: 620.48, south: 346.25 },
      stderr: "sales.csv:6: two × 120.50 is no amount\n",
      artifacts: [expect.objectContaining({ name: "report.pdf", contentType: "application/pdf" })],
      packages: [
        expect.objectContaining({ name: "papaparse" }),
        expect.objectContaining({ name: "pdf-lib" }),
      ],
    },
  },
  {
    file: "order-report.ts",
    sources: ["order-report/totals.ts", "order-report/markdown.ts"],
    expected: {
      exitState: "success",
      result: { late: 930, open: 45, sent: 12 },
      stdout: "in/orders.json: 201 bytes, application/json\n",
      artifacts: [
        {
          name: "out/report.md",
          size: ORDERS_REPORT.length,
          contentType: "text/markdown",
          sha256: createHash("sha256").update(ORDERS_REPORT).digest("hex"),
        },
      ],
    },
  },
  {
    file: "api-walk.ts",
    input: { start: `${SHOP_ORIGIN}/items` },
    expected: {
      exitState: "success",
      result: { pages: 2, items: 3, dearest: { id: 3, name: "lamp", price: 249.99 } },
      stderr: expect.stringMatching(/^page 2: .*price/),
    },
  },
  {
    file: "html-extraction.ts",
    expected: {
      exitState: "success",
      result: {
        ports: [
          { name: "Hamburg", depthMetres: 15.1, berths: 290 },
          { name: "Genoa", depthMetres: 14, berths: 170 },
          { name: "Gdynia", depthMetres: 13.5, berths: 80 },
        ],
        links: ["https://ports.example/list/hamburg", "https://ports.example/old/genoa"],
      },
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
        "reach the network": expect.stringMatching(/rule/),
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

export function readSubmission({
  file,
  document,
  input,
  files = [],
  sources = [],
  options,
}: Example): Record<string, unknown> {
  const read = (name: string) => readFileSync(path.join(PROJECT, "examples", name), "utf8");
  return {
    code: read(file),
    ...(input !== undefined && { input }),
    files: Object.fromEntries([
      ...files.map((name) => [name, { text: read(`data/${name}`) }]),
      ...sources.map((name) => [name, { text: read(name) }]),
    ]),
    ...(document !== undefined && {
      input: createRequire(import.meta.url)(`@readme/oas-examples/${document}`) as unknown,
    }),
    ...(options && { options }),
  };
}
