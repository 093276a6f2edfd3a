/** Schemas of tools as services really have them, and as somebody who means harm would write them. */
export interface SchemaCase {
  name: string;
  schema: Record<string, unknown>;
  /** Whether the example call must satisfy the schema. Schemas nobody can satisfy, or that go too deep, say false. */
  satisfiable?: boolean;
}

function parse(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}

function nest(depth: number, make: (inner: unknown) => unknown, innermost: unknown): Record<string, unknown> {
  let schema = innermost;
  for (let level = 0; level < depth; level += 1) schema = make(schema);
  return schema as Record<string, unknown>;
}

export const SCHEMA_CASES: SchemaCase[] = [
  { name: "empty", schema: {} },
  {
    name: "plain object with every type",
    schema: {
      type: "object",
      description: "Creates an issue.",
      required: ["title", "count", "ratio", "open", "labels", "nothing"],
      properties: {
        title: { type: "string", minLength: 30, description: "Shown in lists.\n\nMarkdown is allowed." },
        count: { type: "integer", minimum: 3, multipleOf: 5 },
        ratio: { type: "number", exclusiveMinimum: 0, maximum: 1 },
        open: { type: "boolean", default: false },
        labels: { type: "array", items: { type: "string" }, minItems: 2 },
        nothing: { type: "null" },
        state: { enum: ["open", "closed", null, 3, true] },
        kind: { const: "issue" },
        due: { type: "string", format: "date-time", examples: ["2027-01-01T00:00:00Z"] },
        old: { type: "string", deprecated: true },
      },
      additionalProperties: false,
    },
  },
  {
    name: "slots of an HTTP operation",
    schema: {
      type: "object",
      required: ["path", "body"],
      properties: {
        path: { type: "object", required: ["id"], properties: { id: { type: "string", format: "uuid" } } },
        query: { type: "object", properties: { limit: { type: "integer", default: 20 } } },
        headers: {
          type: "object",
          properties: { "X-Request-Id": { type: "string" } },
          additionalProperties: true,
        },
        body: {
          oneOf: [
            {
              type: "object",
              required: ["email"],
              properties: { email: { type: "string", format: "email" } },
            },
            { type: "object", required: ["phone"], properties: { phone: { type: "string" } } },
          ],
        },
      },
    },
  },
  {
    name: "references, recursion and aliases",
    schema: {
      $ref: "#/$defs/Tree",
      $defs: {
        Tree: {
          type: "object",
          required: ["name"],
          properties: {
            name: { $ref: "#/$defs/Name", description: "Of this node." },
            children: { type: "array", items: { $ref: "#/$defs/Tree" } },
            parent: { anyOf: [{ $ref: "#/$defs/Tree" }, { type: "null" }] },
          },
        },
        Name: { $ref: "#/$defs/RealName" },
        RealName: { type: "string", minLength: 1 },
      },
    },
  },
  {
    name: "draft-07 definitions, tuples, nullable, type lists",
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      required: ["pair", "size"],
      properties: {
        pair: { type: "array", items: [{ type: "string" }, { type: "number" }], additionalItems: false },
        rest: { type: "array", prefixItems: [{ type: "string" }], items: { type: "integer" } },
        size: { type: ["integer", "null"], minimum: 2 },
        maybe: { type: "string", nullable: true },
        user: { $ref: "#/definitions/user~1name" },
      },
      definitions: { "user/name": { type: "object", properties: { first: { type: "string" } } } },
    },
  },
  {
    name: "all of several",
    schema: {
      allOf: [
        { type: "object", required: ["a"], properties: { a: { type: "string" } } },
        { $ref: "#/$defs/B" },
        { type: "object", properties: { c: { type: "boolean" } } },
      ],
      $defs: { B: { type: "object", required: ["b"], properties: { b: { type: "integer" } } } },
    },
  },
  {
    name: "maps and patterns beside named properties",
    schema: {
      type: "object",
      required: ["map", "mixed"],
      properties: {
        map: { type: "object", additionalProperties: { type: "number" } },
        mixed: {
          type: "object",
          properties: { n: { type: "number" } },
          additionalProperties: { type: "string" },
        },
        patterns: {
          type: "object",
          patternProperties: { "^x-*/": { type: "string" } },
          additionalProperties: false,
        },
      },
    },
  },
  {
    name: "names that are no identifiers, and text that ends comments, strings and fences",
    schema: parse(`{
      "type": "object",
      "title": "*/ export const injected = 1 /*",
      "description": "*/ export const injected = 1; /* \\u2028 \`\`\` \\n\`\`\`\`\\n# heading",
      "required": ["a b", "*/", "\\"quoted\\"", "new\\nline", "constructor", "toString", "hasOwnProperty", "class", "delete", "", "ключ", "😀", "\\u0000"],
      "properties": {
        "a b": {"type": "string", "description": "*/*/*/"},
        "*/": {"type": "string", "minItems": "*/ injected", "pattern": "*/"},
        "\\"quoted\\"": {"type": "integer"},
        "new\\nline": {"type": "string", "default": "*/"},
        "constructor": {"type": "string"},
        "hasOwnProperty": {"type": "string"},
        "toString": {"type": "string"},
        "class": {"type": "string"},
        "delete": {"enum": ["*/", "\`", "\${x}", "\\\\", "\\n"]},
        "": {"type": "string"},
        "ключ": {"type": "string"},
        "😀": {"type": "string"},
        "\\u0000": {"type": "string"},
        "inKey0_": {"type": "string"},
        "[k: string]": {"type": "string"},
        "readonly x": {"type": "string"}
      }
    }`),
  },
  {
    name: "definition names that collide with each other and with built-in types",
    schema: {
      type: "object",
      properties: {
        a: { $ref: "#/$defs/Input" },
        b: { $ref: "#/$defs/input" },
        c: { $ref: "#/$defs/Promise" },
        d: { $ref: "#/$defs/a1b" },
        e: { $ref: "#/$defs/a1B" },
        f: { $ref: "#/$defs/1" },
        g: { $ref: "#/$defs/*~1" },
        h: { $ref: "#/$defs/Output" },
        i: { $ref: "#/$defs/ünïcode" },
      },
      $defs: Object.fromEntries(
        ["Input", "input", "Promise", "a1b", "a1B", "1", "*/", "Output", "ünïcode"].map((name) => [
          name,
          {
            type: "object",
            required: ["x"],
            properties: { x: { type: "string" }, again: { $ref: `#/$defs/${name.replace("/", "~1")}` } },
          },
        ]),
      ),
    },
  },
  {
    name: "keywords of the generator itself, ids and foreign types",
    schema: {
      type: "object",
      $id: "https://example.com/*/x",
      id: "other",
      extends: { $ref: "file:///etc/passwd" },
      properties: {
        a: { tsType: "string } export const injected = 1; interface X {" },
        b: { type: "string", enum: ["x", "y"], tsEnumNames: ["X = 1; injected", "Y"] },
        c: { type: "object", $id: "C */", title: "C } injected {", properties: { x: { type: "string" } } },
      },
      definitions: { a: {} },
      $defs: { b: {} },
    },
  },
  {
    name: "wrong kinds everywhere",
    satisfiable: false,
    schema: parse(`{"type": 7, "properties": {"a": null, "b": 5, "c": "x", "d": [], "e": true, "f": false},
      "required": "a", "items": 3, "enum": {}, "anyOf": "x", "allOf": [], "oneOf": [null, 1, []], "description": {"a": 1},
      "deprecated": "yes", "minItems": -4, "maxItems": 2, "patternProperties": [], "$ref": 12, "$defs": 9, "nullable": "no"}`),
  },
  { name: "a reference to itself", satisfiable: false, schema: { $ref: "#" } },
  {
    name: "references in a circle, to nowhere, to files and to the network",
    satisfiable: false,
    schema: {
      type: "object",
      properties: {
        circle: { $ref: "#/$defs/a" },
        nowhere: { $ref: "#/$defs/none" },
        inherited: { $ref: "#/constructor" },
        file: { $ref: "file:///etc/passwd" },
        relative: { $ref: "../package.json" },
        web: { $ref: "http://127.0.0.1:9/schema.json" },
        anchor: { $ref: "#anchor" },
        broken: { $ref: "#/%zz" },
        text: { $ref: "#/$defs/text" },
      },
      $defs: {
        a: { $ref: "#/$defs/b" },
        b: { $ref: "#/$defs/c" },
        c: { $ref: "#/$defs/a" },
        text: "no schema",
      },
    },
  },
  {
    name: "nothing allowed",
    satisfiable: false,
    schema: { type: "object", properties: { never: false, also: { enum: [] } }, additionalProperties: false },
  },
  { name: "no object at all", satisfiable: false, schema: { type: "array", items: { type: "string" } } },
  {
    name: "very many properties",
    schema: {
      type: "object",
      properties: Object.fromEntries(
        Array.from({ length: 1000 }, (_, index) => [`property${index}`, { type: "string" }]),
      ),
    },
  },
  {
    name: "very many enum values",
    schema: {
      type: "object",
      required: ["code"],
      properties: {
        code: { type: "string", enum: Array.from({ length: 20_000 }, (_, index) => `value-${index}`) },
      },
    },
  },
  {
    name: "very deep",
    satisfiable: false,
    schema: nest(5000, (inner) => ({ type: "object", required: ["next"], properties: { next: inner } }), {
      type: "string",
    }),
  },
  {
    name: "very deep arrays",
    satisfiable: false,
    schema: {
      type: "object",
      required: ["list"],
      properties: {
        list: nest(3000, (items) => ({ type: "array", items, minItems: 20, maxItems: 20 }), {
          type: "string",
        }),
      },
    },
  },
  {
    name: "doubling definitions",
    satisfiable: false,
    schema: {
      $ref: "#/$defs/d40",
      $defs: Object.fromEntries(
        Array.from({ length: 41 }, (_, index) => [
          `d${index}`,
          index === 0
            ? { type: "string" }
            : {
                allOf: [
                  { $ref: `#/$defs/d${index - 1}` },
                  { anyOf: [{ $ref: `#/$defs/d${index - 1}` }, { type: "null" }] },
                ],
              },
        ]),
      ),
    },
  },
  {
    name: "doubling objects",
    satisfiable: false,
    schema: nest(40, (inner) => ({ type: "object", properties: { left: inner, right: inner } }), {
      type: "string",
    }),
  },
  {
    name: "a long chain of references",
    satisfiable: false,
    schema: {
      $ref: "#/$defs/c0",
      $defs: Object.fromEntries(
        Array.from({ length: 3000 }, (_, index) => [`c${index}`, { $ref: `#/$defs/c${index + 1}` }]),
      ),
    },
  },
  {
    name: "huge tuples in tuples",
    satisfiable: false,
    schema: {
      type: "object",
      properties: {
        grid: nest(6, (items) => ({ type: "array", items, minItems: 0, maxItems: 19 }), {
          type: "string",
          enum: ["a", "b"],
        }),
      },
    },
  },
  { name: "a megabyte of description", schema: { type: "object", description: "x */ ".repeat(200_000) } },
];

/** Objects that contain themselves, as dereferencing libraries make them. */
export function makeCyclicSchema(): Record<string, unknown> {
  const person: Record<string, unknown> = { type: "object", required: ["name"] };
  const address: Record<string, unknown> = {
    type: "object",
    properties: { owner: person, city: { type: "string" } },
  };
  person.properties = { name: { type: "string" }, friends: { type: "array", items: person }, home: address };
  return { type: "object", required: ["person"], properties: { person, address } };
}
