/** GET /tools/types.d.ts: compiles under tsc, whatever the schemas say, and follows changes. */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { printPackages } from "#api/tools/declarations/packages.ts";
import { TSC } from "#tests/checks/packages.ts";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

let server: ToolsServer;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "cyrnel-types-"));
  server = await startToolsServer();
});
afterAll(async () => {
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Errors that tsc reports for a script with the declarations; empty if it compiles. */
async function compile(declarations: string, script: string, lib = ["es2024"]): Promise<string> {
  await writeFile(path.join(folder, "types.d.ts"), declarations);
  await writeFile(path.join(folder, "script.ts"), `export {};\n${script}`);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "es2024",
    lib,
    types: [],
    module: "preserve",
  };
  await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  return promisify(execFile)(TSC, ["-p", folder], { cwd: folder }).then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
}

async function read(query = ""): Promise<string> {
  const answer = await server.get(`/tools/types.d.ts${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.text;
}

test("declares calls, results and what is optional, so that mistakes are found before a run", async () => {
  await server.addService("shop", {
    list: {
      description: "Lists */ orders.",
      inputSchema: {
        type: "object",
        properties: { page: { type: "integer" }, state: { enum: ["open", "closed"] } },
      },
      outputSchema: {
        type: "array",
        items: { $ref: "#/$defs/order" },
        $defs: {
          order: {
            type: "object",
            properties: { id: { type: "string" }, next: { $ref: "#/$defs/order" } },
            required: ["id"],
          },
        },
      },
    },
    http: {
      outputSchema: {
        type: "object",
        properties: { status: { type: "string" }, body: { type: "boolean" } },
        required: ["status"],
      },
    },
    get: {
      inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
      outputSchema: {
        "x-failures": {
          type: "object",
          properties: { status: { enum: [404] }, body: { $ref: "#/$defs/problem" } },
          required: ["status", "body"],
        },
        $defs: {
          order: { type: "object", properties: { other: { type: "boolean" } } },
          problem: { type: "object", properties: { reason: { type: "string" } } },
        },
        $ref: "#/$defs/order",
      },
    },
  });
  const declarations = await read();
  const fine = `
    const orders = await tools.shop.list();
    const id: string | undefined = orders[0]?.next?.id;
    const { other } = await cyrnel.services.shop.tools.get.invoke({ id: id ?? "x" });
    const flag: boolean | undefined = other;
    const found = await tools.search({ query: "x" });
    const saved: { file: string; size: number; contentType: string } = await tools.shop.list({}, { saveAs: "a" });
    const part: { status: string; body: typeof saved } = await tools.shop.http({}, { saveAs: saved.file });
    const same: typeof part = await cyrnel.services.shop.tools.http.invoke({}, { saveAs: "b" });
    await tools.shop.get({ id: "y" }).catch((error: CyrnelService_shop.GetError) => {
      const status: 404 = error.status;
      const reason: string | undefined = error.body.reason;
      return reason ?? status;
    });
    cyrnel.output({ flag, first: found[0]?.path, docs: await cyrnel.getToolDocs({ serviceId: "shop", toolId: "get" }) });`;
  expect(await compile(declarations, fine)).toBe("");
  expect(declarations).toContain("@throws {GetError}");
  for (const wrong of [
    "await tools.shop.get();",
    "await tools.shop.get({ id: 5 });",
    'await tools.shop.list({ state: "shut" });',
    "await tools.shop.lst();",
    "await tools.shopp.list();",
    'await tools.shop.list({}, { as: "a" });',
    'await tools.shop.get({ id: 5 }, { saveAs: "a" });',
    'for (const order of await tools.shop.list({}, { saveAs: "a" })) order;',
  ]) {
    expect(await compile(declarations, wrong), wrong).toContain("error TS");
  }
});

test("compiles whatever schemas and names say", async () => {
  // biome-ignore lint/suspicious/noThenProperty: the name of a tool.
  await server.addService("describe", { tool: {}, then: {}, constructor: {}, class: {} });
  await server.addService("delete", {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an attack on the declarations, which are text.
    $: { description: "*/ declare const x: { \u2028 `${1}`" },
    a_b: {
      inputSchema: {
        type: "object",
        properties: { "weird key": { type: "string" }, "*/": {}, inKey0_: {}, __proto__x: { type: "null" } },
        required: ["weird key"],
      },
    },
    aB: {
      inputSchema: {
        type: "object",
        additionalProperties: { type: "number" },
        properties: { a: { type: "string" } },
      },
    },
    A_B: { outputSchema: { anyOf: [{ $ref: "#" }, { type: "string" }] } },
    loop: {
      outputSchema: {
        $defs: {
          a: { allOf: [{ $ref: "#/$defs/b" }] },
          b: { anyOf: [{ $ref: "#/$defs/a" }, { type: "null" }] },
        },
        $ref: "#/$defs/a",
      },
    },
    tuple: {
      outputSchema: {
        type: "array",
        prefixItems: [{ type: "string" }, { type: ["null", "integer"] }],
        items: false,
      },
    },
    odd: {
      outputSchema: {
        type: "object",
        properties: {
          n: { type: "string", nullable: true, enum: ["a", 'b"\n', null] },
          m: { oneOf: [{}, { not: {} }] },
          e: { enum: [] },
          f: false,
        },
      },
    },
    foreign: { inputSchema: { $ref: "file:///etc/passwd" }, outputSchema: { $ref: "http://127.0.0.1:1/x" } },
    Input: {},
    Tools: {},
    many: {
      outputSchema: {
        type: "object",
        properties: Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`p${n}`, { type: "string" }])),
      },
    },
  });
  expect(
    await compile(
      await read(),
      'await tools.delete.a_b({ "weird key": "x" }); await tools.describe.tool({ path: "a.b" });',
    ),
  ).toBe("");
});

test("declares what every script finds, unless other declarations have it", async () => {
  const script = `
    const request = new Request("https://api.test/", { method: "POST", body: new FormData() });
    const response = await fetch(request, { signal: AbortSignal.timeout(100) });
    for (const [name, value] of response.headers) console.log(name, value);
    for await (const piece of response.body ?? []) new TextDecoder().decode(piece);
    const text: string = await new Response(new Blob(["a"]).stream()).text();`;
  const declarations = await read();
  expect(await compile(declarations, script)).toBe("");
  expect(await compile(declarations, 'await fetch("https://api.test/", { methd: "GET" });')).toContain(
    "methd",
  );
  expect(await compile(declarations, "process.exit();")).toContain("error TS");
  const bare = await read("?globals=false");
  expect(bare).not.toContain("fetch");
  expect(await compile(bare, script, ["es2024", "dom", "dom.iterable", "dom.asynciterable"])).toBe("");
});

test("is compressed for those who take it so, under another entity tag", async () => {
  const ask = (accepted: string, tag = "") =>
    server.get("/tools/types.d.ts", { "accept-encoding": accepted, "if-none-match": tag });
  const plain = await ask("identity");
  const packed = await ask("br, gzip;q=0.5");
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(packed.headers.get("content-encoding")).toBe("gzip");
  expect(packed.text).toBe(plain.text);
  const sizes = [plain, packed].map(({ headers }) => Number(headers.get("content-length")));
  expect(sizes[0]).toBe(Buffer.byteLength(plain.text));
  expect(sizes[1]).toBeLessThan((sizes[0] ?? 0) / 2);
  const tags = [plain, packed].map(({ headers }) => headers.get("etag") ?? "");
  expect(new Set(tags).size).toBe(2);
  for (const { headers } of [plain, packed]) expect(headers.get("vary")).toBe("accept-encoding");
  expect((await ask("gzip;q=0", tags[0])).status).toBe(304);
  const unchanged = await ask("gzip", tags[1]);
  expect([unchanged.status, unchanged.text, unchanged.headers.get("etag")]).toEqual([304, "", tags[1]]);
  expect((await ask("gzip", tags[0])).status).toBe(200);
});

test("follows changes, and says when nothing has changed", async () => {
  const first = await server.get("/tools/types.d.ts?serviceId=shop");
  const tag = first.headers.get("etag") ?? "";
  expect((await server.get("/tools/types.d.ts?serviceId=shop", { "if-none-match": tag })).status).toBe(304);
  await server.post("/tools/shop/get/enabled", { enabled: false });
  const second = await server.get("/tools/types.d.ts?serviceId=shop", { "if-none-match": tag });
  expect(second.status).toBe(200);
  expect(first.text).toContain("get(parameters");
  expect(second.text).not.toContain("get(parameters");
  await server.post("/services/shop/enabled", { enabled: false });
  expect(second.text).toContain("CyrnelService_shop");
  expect(await read("?serviceId=shop")).not.toContain("CyrnelService_shop");
  expect((await server.get("/tools/types.d.ts?serviceId=shpo")).body.error).toContain("Did you mean");
});

test("packages are any until their declarations are found", async () => {
  const declarations =
    (await read()) + printPackages([{ name: "@corp/sums", version: "1.0.0", description: "Sums." }]);
  const script = `import { add } from "@corp/sums";
    import * as all from "npm:@corp/sums@^1/more";
    const total: string = add(1, 2);
    all.anything(total);`;
  expect(await compile(declarations, script)).toBe("");
  expect(await compile(declarations, 'import { x } from "not-installed"; x();')).toContain("not-installed");
  const place = path.join(folder, "node_modules/@corp/sums");
  await mkdir(place, { recursive: true });
  await writeFile(path.join(place, "package.json"), '{"name":"@corp/sums","types":"index.d.ts"}');
  await writeFile(
    path.join(place, "index.d.ts"),
    "export declare function add(a: number, b: number): number;",
  );
  expect(await compile(declarations, script)).toContain("'number' is not assignable to type 'string'");
});
