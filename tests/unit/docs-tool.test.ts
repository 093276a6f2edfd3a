import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import { transform } from "esbuild";
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildExampleParameters } from "#kernel/tool-docs/example-value.ts";
import { generateToolDocs } from "#kernel/tool-docs/tool-docs.ts";
import { TSC } from "#tests/checks/packages.ts";
import { makeCyclicSchema, SCHEMA_CASES } from "./docs-schemas.ts";

const MAX_DOCS_MS = 2000;

function document(
  inputSchema: Record<string, unknown>,
  outputSchema: Record<string, unknown> = {},
  description = "",
) {
  return generateToolDocs({
    serviceId: "github",
    toolId: "createIssue",
    description,
    inputSchema,
    outputSchema,
  });
}

/** The code in the fences of a document, checked to be a document with exactly two of them. */
function readFences(markdown: string): { example: string; types: string } {
  const blocks = [...markdown.matchAll(/^(`{3,})ts\n([\s\S]*?)\n\1$/gm)].map((match) => match[2] ?? "");
  expect(blocks, markdown.slice(0, 2000)).toHaveLength(2);
  return { example: blocks[0] ?? "", types: blocks[1] ?? "" };
}

const cases = [
  ...SCHEMA_CASES,
  { name: "objects that contain themselves", schema: makeCyclicSchema(), satisfiable: false },
];

test.each(cases)(
  "$name: bounded, structured, and no schema is left out of the document",
  async ({ schema }) => {
    const before = performance.now();
    const markdown = await document(schema, schema, "Creates an issue.");
    expect(performance.now() - before).toBeLessThan(MAX_DOCS_MS);
    expect(markdown.length).toBeLessThan(500_000);
    expect(markdown).not.toContain("too unusual");
    const { types } = readFences(markdown);
    expect(types).toContain("createIssue(params: Input): Promise<Output>");
    expect(types).toMatch(/^(interface|type) Input\b/m);
    expect(types).toMatch(/^(interface|type) Output\b/m);
  },
);

test("signatures and example calls of all of them type-check", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-docs-"));
  try {
    for (const [index, { schema, satisfiable = true }] of cases.entries()) {
      const { example, types } = readFences(await document(schema, schema, "It */ does `things`.\n```\n"));
      const call = satisfiable ? `export async function run() {\n${example}\n}` : "export {};";
      await writeFile(path.join(folder, `case${index}.ts`), `${types}\n${call}\n`);
    }
    const files = cases.map((_, index) => path.join(folder, `case${index}.ts`));
    const flags = [
      "--noEmit",
      "--strict",
      "--ignoreConfig",
      "--target",
      "es2024",
      "--module",
      "esnext",
      "--types",
      "",
    ];
    const { stdout } = await promisify(execFile)(TSC, [...flags, ...files], {
      maxBuffer: 10 * 1024 * 1024,
    }).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);

test.each(SCHEMA_CASES.filter((entry) => entry.satisfiable !== false))(
  "$name: the example call satisfies the schema",
  ({ schema }) => {
    const ajv =
      schema.$schema === undefined
        ? new Ajv2020({ strict: false, ownProperties: true })
        : new Ajv({ strict: false });
    (ajvFormats as unknown as (instance: unknown) => void)(ajv);
    const { $id, id, extends: _, properties, ...rest } = schema;
    const known = properties as Record<string, Record<string, unknown>> | undefined;
    const fixed = known && {
      properties: JSON.parse(
        JSON.stringify(known).replace('"minItems":"*/ injected","pattern":"*/"', '"x":1'),
      ),
    };
    const check = ajv.compile({ ...rest, ...fixed });
    const value = buildExampleParameters(schema);
    expect(check(value), `${JSON.stringify(value)} ${JSON.stringify(check.errors)}`).toBe(true);
  },
);

test("what the schema offers is what the example shows", () => {
  expect(
    buildExampleParameters({
      type: "object",
      required: ["a", "b", "c", "d", "list", "addresses"],
      properties: {
        a: { type: "string", examples: ["from examples"] },
        b: { type: "string", default: "from default", enum: ["other", "from default"] },
        c: { const: 7 },
        d: { enum: [null, "first"] },
        list: { type: "array", items: { type: "integer", minimum: 5 }, minItems: 3 },
        addresses: {
          type: "array",
          items: { type: "object", required: ["city"], properties: { city: { type: "string" } } },
        },
        optional: { type: "string" },
        suggested: { type: "boolean", example: false },
      },
    }),
  ).toEqual({
    a: "from examples",
    b: "from default",
    c: 7,
    d: "first",
    list: [5, 5, 5],
    addresses: [{ city: "city" }],
    suggested: false,
  });
});

test("the document an agent reads", async () => {
  const markdown = await generateToolDocs({
    serviceId: "github",
    toolId: "delete",
    description: "Deletes an issue.\n```js\nnever closed",
    inputSchema: {
      type: "object",
      required: ["id", "user"],
      properties: {
        id: { type: "integer", minimum: 1, description: "Number of the issue." },
        user: { $ref: "#/$defs/user" },
        reason: { type: "string", maxLength: 80, default: "duplicate" },
      },
      $defs: { user: { type: "object", required: ["login"], properties: { login: { type: "string" } } } },
    },
    outputSchema: { type: "object", properties: { deleted: { type: "boolean" } } },
  });
  expect(markdown).toMatchInlineSnapshot(`
    "# tools.github.delete

    > Deletes an issue.
    > \`\`\`js
    > never closed

    ## Example

    \`\`\`ts
    const result = await tools.github.delete({
      id: 1,
      user: {
        login: "login"
      },
      reason: "duplicate"
    });
    return result;
    \`\`\`

    The same call: \`cyrnel.services.github.tools.delete.invoke(params)\`. A failed call rejects with an \`Error\` (\`message\`, \`code\`, sometimes \`status\`).

    ## Types

    \`\`\`\`ts
    declare const tools: {
      github: {
        /**
         * Deletes an issue.
         * \`\`\`js
         * never closed
         */
        delete(params: Input): Promise<Output>
      }
    }

    interface Input {
      /**
       * Number of the issue.
       * @minimum 1
       */
      id: number
      user: User
      /**
       * @maxLength 80
       * @default "duplicate"
       */
      reason?: string
    }

    interface User {
      login: string
    }

    interface Output {
      deleted?: boolean
    }
    \`\`\`\`
    "
  `);
});

test("declared failures are a type of their own", async () => {
  const markdown = await document(
    {},
    {
      type: "object",
      "x-failures": {
        type: "object",
        properties: { status: { enum: [404, 422] }, body: { $ref: "#/$defs/Problem" } },
        required: ["status", "body"],
      },
      $defs: { Problem: { type: "object", properties: { reason: { type: "string" } } } },
    },
  );
  expect(readFences(markdown).types).toMatch(
    /interface Failure \{\n {2}status: 404 \| 422\n {2}body: Problem\n\}\n\ninterface Problem \{\n {2}reason\?: string\n\}$/,
  );
});

test("nothing is fetched for a reference, neither over the network nor from a file", async () => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.end('{"type":"string"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/schema.json`;
    const markdown = await document({
      type: "object",
      $schema: url,
      $id: url,
      properties: {
        web: { $ref: url },
        file: { $ref: "file:///etc/passwd" },
        relative: { $ref: "package.json#/name" },
      },
    });
    expect(requests).toBe(0);
    expect(markdown).not.toContain("root:");
    expect(readFences(markdown).types).toContain("web?: unknown");
  } finally {
    server.close();
  }
});

test("the same schema has the same answer, at once", async () => {
  const schema = {
    type: "object",
    properties: { cached: { type: "string", description: "Cached." } },
  };
  const first = await document(schema);
  const before = performance.now();
  const again = await Promise.all(Array.from({ length: 200 }, () => document(structuredClone(schema))));
  expect(new Set([first, ...again]).size).toBe(1);
  expect(performance.now() - before).toBeLessThan(5000);
});

test("whatever a schema is, the document has its shape and its code parses", async () => {
  const keyword = fc.constantFrom(
    "type",
    "properties",
    "required",
    "items",
    "prefixItems",
    "additionalProperties",
    "patternProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "enum",
    "const",
    "$ref",
    "$defs",
    "definitions",
    "description",
    "title",
    "default",
    "nullable",
    "not",
    "if",
    "minItems",
    "maxItems",
    "tsType",
    "$id",
    "__proto__",
    "constructor",
  );
  const { schema } = fc.letrec((tie) => ({
    leaf: fc.oneof(
      fc.constantFrom(
        "object",
        "array",
        "string",
        "#",
        "#/properties/a",
        "#/$defs/a",
        "*/",
        "```",
        "__proto__",
      ),
      fc.jsonValue({ maxDepth: 1 }),
    ),
    schema: fc.dictionary(fc.oneof(keyword, fc.constantFrom("a", "b c", "*/")), tie("value"), { maxKeys: 5 }),
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      tie("leaf"),
      tie("schema"),
      fc.array(tie("value"), { maxLength: 3 }),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(
      schema as fc.Arbitrary<Record<string, unknown>>,
      fc.string(),
      async (source, description) => {
        const { example, types } = readFences(await document(source, source, description));
        await transform(`${types}\nasync function run() {\n${example}\n}`, { loader: "ts" });
      },
    ),
    { numRuns: 150 },
  );
}, 60_000);
