/** Definitions: what they become, what is refused, and the sentences in which a person reads them. */
import { expect, test } from "vitest";
import { instantiate } from "#modules/http/index.ts";

const adapter = instantiate();
await adapter.setup({
  config: {},
  secrets: {},
  logger: { debug() {}, info() {}, warn() {}, error() {} },
  fetch: globalThis.fetch,
});
const define = (definition: unknown) =>
  adapter.generateDefinition(typeof definition === "string" ? definition : JSON.stringify(definition));
const rule = (more: object = {}) => ({
  name: "read",
  origins: ["https://api.example.com"],
  methods: ["GET"],
  ...more,
});

test("each rule is a tool with the requests that it is for", async () => {
  const { name, tools, secretsSchema } = await define({
    name: "Shop",
    rules: [
      rule({ origins: ["HTTPS://API.Example.com:443/", "https://bücher.example"], pathPrefix: "/v1" }),
      rule({ name: "write", methods: ["POST", "PUT"], auth: { type: "bearer" } }),
      rule({ name: "login", methods: ["DELETE"], auth: { type: "basic" } }),
    ],
  });
  expect(name).toBe("Shop");
  expect(tools.map(({ id, destructive, fetch }) => ({ id, destructive, fetch }))).toEqual([
    {
      id: "read",
      destructive: false,
      fetch: {
        origins: ["https://api.example.com", "https://xn--bcher-kva.example"],
        pathPrefix: "/v1",
        methods: ["GET"],
      },
    },
    {
      id: "write",
      destructive: true,
      fetch: { origins: ["https://api.example.com"], pathPrefix: "/", methods: ["POST", "PUT"] },
    },
    {
      id: "login",
      destructive: true,
      fetch: { origins: ["https://api.example.com"], pathPrefix: "/", methods: ["DELETE"] },
    },
  ]);
  expect(Object.keys(secretsSchema.properties as object)).toEqual(["write", "login"]);
});

test("a rule is read in sentences", async () => {
  const { tools } = await define({
    rules: [
      rule({ pathPrefix: "/v1/", headers: { Accept: "application/json" }, redirects: "same-origin" }),
      rule({
        name: "write",
        description: 'Orders.\n\nNo "credential" is sent.',
        origins: ["https://a.example", "https://b.example"],
        methods: ["POST", "DELETE"],
        auth: { type: "header", name: "X-Key" },
        maxRequestBytes: 2048,
        maxResponseBytes: 100,
      }),
      rule({ name: "plain", origins: ["http://10.0.0.7:8080"], maxRequestBytes: 0 }),
    ],
  });
  expect(tools.map(({ description }) => description)).toEqual([
    'Scripts may send GET requests to https://api.example.com, to paths below /v1/. By the HTTP standard such requests only read. No credential is sent. Each request carries the header Accept: "application/json". Request bodies: up to 1 MiB; answers: up to 8 MiB. Redirects on the same origin are followed if this rule allows the next request; the script sees any other.',
    'Scripts may send POST and DELETE requests to https://a.example and https://b.example, to any path. Such requests may change or delete something there. The secret "write" of this service is sent with each request, in the header X-Key; it is removed from answers. Request bodies: up to 2 KiB; answers: up to 100 bytes. Redirects are not followed; the script sees them.\n\nIts author says: "Orders.\\n\\nNo \\"credential\\" is sent."',
    "Scripts may send GET requests to http://10.0.0.7:8080, to any path. By the HTTP standard such requests only read. No credential is sent. Requests to http://10.0.0.7:8080 are not encrypted: the network can read and change them. Request bodies: nothing; answers: up to 8 MiB. Redirects are not followed; the script sees them.",
  ]);
});

test.each<[unknown, string]>([
  ["{", "The definition is not JSON"],
  [{}, "rules: "],
  [{ rules: [{}] }, "rules.0."],
  [{ rules: [rule({ name: "a b" })] }, "rules.a b.name: expected an identifier"],
  [{ rules: [rule({ name: "__proto__" })] }, "cannot be used"],
  [{ rules: [rule(), rule()] }, "Two rules have the name read."],
  [{ rules: [rule({ more: 1 })] }, "rules.read: "],
  [{ rules: [rule({ methods: [] })] }, "rules.read.methods"],
  [{ rules: [rule({ methods: ["get"] })] }, "rules.read.methods.0"],
  [{ rules: [rule({ methods: ["CONNECT"] })] }, "rules.read.methods.0"],
  [{ rules: [rule({ methods: ["TRACE"] })] }, "rules.read.methods.0"],
  [{ rules: [rule({ origins: [] })] }, "rules.read.origins"],
  [{ rules: [rule({ origins: ["https://*.example.com"] })] }, "an origin cannot contain *"],
  [{ rules: [rule({ origins: ["api.example.com"] })] }, "expected an origin such as https://api.example.com"],
  [{ rules: [rule({ origins: ["file:///etc"] })] }, "expected an origin"],
  [{ rules: [rule({ origins: ["https://u:p@api.example.com"] })] }, "credentials belong in the secrets"],
  [{ rules: [rule({ origins: ["https://api.example.com/v1"] })] }, "put a path into pathPrefix"],
  [{ rules: [rule({ origins: ["https://api.example.com?a"] })] }, "put a path into pathPrefix"],
  [{ rules: [rule({ origins: ["https://api.example.com."] })] }, "must not end with a dot"],
  [{ rules: [rule({ origins: ["https:\\\\api.example.com"] })] }, "expected an origin"],
  [{ rules: [rule({ pathPrefix: "v1" })] }, "a path must begin with a slash"],
  [{ rules: [rule({ pathPrefix: "/v1/../x" })] }, "a segment of dots"],
  [{ rules: [rule({ pathPrefix: "/v1/%2e%2e/x" })] }, "a segment of dots"],
  [{ rules: [rule({ pathPrefix: "/v1?x" })] }, "cannot contain ? or #"],
  [{ rules: [rule({ pathPrefix: "/a b" })] }, "write it as in a URL: /a%20b"],
  [{ rules: [rule({ auth: { type: "bearer" }, origins: ["http://api.example.com"] })] }, "is not encrypted"],
  [{ rules: [rule({ auth: { type: "bearer" }, origins: ["http://127.0.0.1"] })] }, "is not encrypted"],
  [{ rules: [rule({ auth: { type: "header", name: "Host" } })] }, "belongs to HTTP"],
  [{ rules: [rule({ auth: { type: "header", name: "Transfer-Encoding" } })] }, "belongs to HTTP"],
  [{ rules: [rule({ auth: { type: "header", name: "a b" } })] }, "expected the name of a header"],
  [{ rules: [rule({ auth: { type: "oauth2" } })] }, "rules.read.auth"],
  [{ rules: [rule({ headers: { Authorization: "Bearer x" } })] }, "the header Authorization cannot be set"],
  [{ rules: [rule({ headers: { Cookie: "a=b" } })] }, "the header Cookie cannot be set"],
  [{ rules: [rule({ headers: { "X-A": "a\r\nB: c" } })] }, "a character that is not allowed in headers"],
  [{ rules: [rule({ headers: { "X-A": "1", X_A: "2" } })] }, "X_A appears twice"],
  [
    { rules: [rule({ headers: { X_KEY: "1" }, auth: { type: "header", name: "x-key" } })] },
    "is the rule's credential",
  ],
  [{ rules: [rule({ maxResponseBytes: 1e12 })] }, "rules.read.maxResponseBytes"],
  [
    {
      rules: [
        rule({ pathPrefix: "/v1" }),
        rule({ name: "more", methods: ["POST", "GET"], pathPrefix: "/v1/a" }),
      ],
    },
    "The rules read and more both allow GET https://api.example.com/v1/a",
  ],
])("%j is refused", async (definition, message) => {
  await expect(define(definition)).rejects.toThrow(message);
});

test("rules beside each other are no overlap", async () => {
  const { tools } = await define({
    rules: [
      rule({ pathPrefix: "/v1" }),
      rule({ name: "other", pathPrefix: "/v10" }),
      rule({ name: "write", methods: ["POST"], pathPrefix: "/v1" }),
      rule({ name: "elsewhere", origins: ["https://api.example.com:8443"] }),
    ],
  });
  expect(tools).toHaveLength(4);
});

test("each secret goes to the origins of its rule, and nowhere else", async () => {
  const auth = { type: "bearer" };
  const { tools, adapterDomain } = await define({
    rules: [
      rule({ auth }),
      rule({
        name: "write",
        methods: ["PUT"],
        origins: ["https://a.example", "https://b.example:8443"],
        auth,
      }),
      rule({ name: "open", origins: ["https://open.example"] }),
    ],
  });
  const stored = Object.fromEntries(tools.map((tool) => [tool.id, tool]));
  expect(await adapter.secretOrigins?.({ adapterDomain, tools: stored, config: {} })).toEqual([
    { place: "https://api.example.com (rule read)", secret: "read" },
    { place: "https://a.example (rule write)", secret: "write" },
    { place: "https://b.example:8443 (rule write)", secret: "write" },
  ]);
  expect(await adapter.secretOrigins?.({ definition: "{}", config: {} })).toEqual([]);
});
