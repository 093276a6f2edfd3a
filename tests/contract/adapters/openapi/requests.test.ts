/** Requests: every parameter style, bodies, servers; and limits on what a script can do with its parameters. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { prepareRequest, urlOf } from "#modules/openapi/call/request.ts";
import type { ToolDomain } from "#modules/openapi/domain.ts";
import { documentOf, type Received, startServer, startService } from "./service.ts";

interface Sent extends Received {
  path: string;
  query: string;
}

/** Calls the one operation of a document and answers the request that arrived. */
async function send(
  path: string,
  operation: Record<string, unknown>,
  parameters: Record<string, unknown>,
  options: {
    method?: string;
    rest?: Record<string, unknown>;
    config?: Record<string, unknown>;
    secrets?: Record<string, unknown>;
  } = {},
): Promise<Sent> {
  await using server = await startServer();
  const document = documentOf(path, operation, options.rest, options.method);
  await using service = await startService(document, {
    server,
    ...(options.config === undefined ? {} : { config: options.config }),
    ...(options.secrets === undefined ? {} : { secrets: options.secrets }),
  });
  await service.call("call", parameters);
  const [received] = server.received;
  if (received === undefined) throw new Error("Nothing arrived.");
  const [sentPath = "", query = ""] = received.url.split(/\?(.*)/s, 2);
  return { ...received, path: sentPath, query };
}

const list = ["a", "b c"];
const record = { x: "1", y: "a&b" };

test.each([
  ["simple", false, "p", "v%2Fw", list, "a,b%20c", record, "x,1,y,a%26b"],
  ["simple", true, "p", "v%2Fw", list, "a,b%20c", record, "x=1,y=a%26b"],
  ["label", false, "p", ".v%2Fw", list, ".a,b%20c", record, ".x,1,y,a%26b"],
  ["label", true, "p", ".v%2Fw", list, ".a.b%20c", record, ".x=1.y=a%26b"],
  ["matrix", false, "p", ";p=v%2Fw", list, ";p=a,b%20c", record, ";p=x,1,y,a%26b"],
  ["matrix", true, "p", ";p=v%2Fw", list, ";p=a;p=b%20c", record, ";x=1;y=a%26b"],
] as const)(
  "a path parameter of style %s, explode %s",
  async (style, explode, name, single, array, many, object, fields) => {
    const operation = { parameters: [{ in: "path", name, required: true, style, explode, schema: {} }] };
    for (const [value, written] of [
      ["v/w", single],
      [array, many],
      [object, fields],
    ] as const) {
      const { path } = await send("/s/{p}/e", operation, { path: { p: value } });
      expect(path).toBe(`/s/${written}/e`);
    }
  },
);

test.each([
  [{}, list, "q=a&q=b%20c"],
  [{ explode: false }, list, "q=a,b%20c"],
  [{ style: "spaceDelimited", explode: false }, list, "q=a%20b%20c"],
  [{ style: "pipeDelimited", explode: false }, list, "q=a|b%20c"],
  [{}, record, "x=1&y=a%26b"],
  [{ explode: false }, record, "q=x,1,y,a%26b"],
  [{ style: "deepObject" }, record, "q%5Bx%5D=1&q%5By%5D=a%26b"],
  [
    { style: "deepObject" },
    { a: { b: [1, { c: true }] } },
    "q%5Ba%5D%5Bb%5D%5B0%5D=1&q%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=true",
  ],
  [{}, "a b+c&d=e#f", "q=a%20b%2Bc%26d%3De%23f"],
  [{ allowReserved: true }, "a/b?c&d#e+f", "q=a/b?c%26d%23e%2Bf"],
  [
    { content: { "application/json": { schema: {} } }, schema: undefined },
    { a: [1] },
    "q=%7B%22a%22%3A%5B1%5D%7D",
  ],
  [{}, true, "q=true"],
  [{}, "", "q="],
  [{}, null, ""],
  [{}, [], ""],
  [{}, { "a&admin": "1", "b=c": 2 }, "a%26admin=1&b%3Dc=2"],
  [{}, [{ deep: 1 }], "q=%7B%22deep%22%3A1%7D"],
])("a query parameter %o with %o", async (how, value, written) => {
  const operation = { parameters: [{ in: "query", name: "q", schema: {}, ...how }] };
  expect((await send("/x", operation, { query: { q: value } })).query).toBe(written);
});

test("headers and cookies are written in their places, in their styles", async () => {
  const operation = {
    parameters: [
      { in: "header", name: "X-List", schema: {} },
      { in: "header", name: "X-Exploded", explode: true, schema: {} },
      { in: "cookie", name: "session", schema: {} },
      { in: "cookie", name: "flags", explode: false, schema: {} },
    ],
  };
  const { headers } = await send("/x", operation, {
    headers: { "X-List": ["a", 1], "X-Exploded": { k: "v" } },
    cookies: { session: "a;b=c", flags: [1, 2] },
  });
  expect(headers).toMatchObject({
    "x-list": "a,1",
    "x-exploded": "k=v",
    cookie: "session=a%3Bb%3Dc; flags=1,2",
  });
});

test("what the plan does not name is not sent", async () => {
  const { query, headers, body } = await send(
    "/x",
    {
      parameters: [
        { in: "query", name: "q", schema: {} },
        { in: "header", name: "Host", schema: {} },
      ],
    },
    {
      query: { q: 1, other: 2 },
      headers: { Host: "evil", "X-Other": "1" },
      cookies: { a: "b" },
      body: { a: 1 },
    },
  );
  expect(query).toBe("q=1");
  expect(headers).not.toHaveProperty("x-other");
  expect(headers).not.toHaveProperty("cookie");
  expect(headers.host).toMatch(/^127\.0\.0\.1:/);
  expect(body).toHaveLength(0);
});

test.each([
  ["..", /dots only/],
  [".", /dots only/],
  ["%2e%2e", null],
  ["../../admin", null],
  ["..\\admin", null],
  ["a?b#c", null],
  ["//evil.example/x", null],
  ["", /needs a value/],
  [null, /needs a value/],
  [[], /needs a value/],
])("a path parameter %o stays in its segment", async (value, refused) => {
  const operation = { parameters: [{ in: "path", name: "id", required: true, schema: {} }] };
  const sent = send("/users/{id}/profile", operation, { path: { id: value } });
  if (refused !== null) {
    await expect(sent).rejects.toMatchObject({
      code: "invalid_parameters",
      message: expect.stringMatching(refused),
    });
    return;
  }
  const { path, headers } = await sent;
  expect(path.split("/")).toHaveLength(4);
  expect(path).toMatch(/^\/users\/[^/]+\/profile$/);
  expect(decodeURIComponent(path.split("/")[2] as string)).toBe(value);
  expect(headers.host).toMatch(/^127\.0\.0\.1:/);
});

test.each([["a\r\nX-Evil: 1"], ["a\nb"], ["a\0b"], ["snow ☃"]])(
  "a header value %o is refused, and not shown",
  async (value) => {
    const operation = { parameters: [{ in: "header", name: "X-Name", schema: {} }] };
    const sent = send("/x", operation, { headers: { "X-Name": value } });
    await expect(sent).rejects.toMatchObject({
      code: "invalid_parameters",
      message: expect.not.stringContaining("a\r"),
    });
  },
);

test("line breaks in path, query and cookies are encoded", async () => {
  const operation = {
    parameters: [
      { in: "path", name: "p", required: true, schema: {} },
      { in: "query", name: "q", schema: {} },
      { in: "cookie", name: "c", schema: {} },
    ],
  };
  const evil = "a\r\nX-Evil: 1";
  const { headers, url } = await send("/x/{p}", operation, {
    path: { p: evil },
    query: { q: evil },
    cookies: { c: evil },
  });
  expect(headers).not.toHaveProperty("x-evil");
  expect(url).toBe("/x/a%0D%0AX-Evil%3A%201?q=a%0D%0AX-Evil%3A%201");
});

const body = (contentType: string, media: object = {}) => ({
  requestBody: { required: true, content: { [contentType]: { schema: { type: "object" }, ...media } } },
});

test.each([
  ["application/json", { a: [1, null] }, "application/json", '{"a":[1,null]}'],
  ["application/vnd.api+json", { a: 1 }, "application/vnd.api+json", '{"a":1}'],
  ["*/*", { a: 1 }, "application/json", '{"a":1}'],
  [
    "application/x-www-form-urlencoded",
    { a: "b c&d", l: [1, 2], o: { k: 1 } },
    "application/x-www-form-urlencoded",
    "a=b%20c%26d&l=1&l=2&o=%7B%22k%22%3A1%7D",
  ],
  ["text/plain", "hello", "text/plain", "hello"],
  ["application/xml", "<a/>", "application/xml", "<a/>"],
  ["application/octet-stream", "raw", "application/octet-stream", "raw"],
  ["application/octet-stream", { base64: "/wA=" }, "application/octet-stream", Buffer.from([255, 0])],
  ["image/png", { base64: "/wA=", contentType: "text/html" }, "image/png", Buffer.from([255, 0])],
])("a body of %s from %o", async (contentType, value, sentType, written) => {
  const sent = await send("/x", body(contentType), { body: value }, { method: "post" });
  expect(sent.headers["content-type"]).toBe(sentType);
  expect(sent.body).toEqual(Buffer.from(written));
});

test("an encoding decides how the fields of a form are written", async () => {
  const media = { encoding: { m: { style: "deepObject", explode: true }, l: { explode: false } } };
  const value = { m: { a: { b: 1 } }, l: [1, 2] };
  const sent = await send(
    "/x",
    body("application/x-www-form-urlencoded", media),
    { body: value },
    { method: "post" },
  );
  expect(sent.body.toString()).toBe("m%5Ba%5D%5Bb%5D=1&l=1,2");
});

test("a multipart body holds texts, JSON and files with their names and types", async () => {
  const media = {
    schema: {
      type: "object",
      properties: {
        note: { type: "string" },
        meta: { type: "object" },
        files: { type: "array", items: { type: "string", format: "binary" } },
      },
    },
    encoding: { meta: { contentType: "application/json" } },
  };
  const sent = await send(
    "/x",
    body("multipart/form-data", media),
    {
      body: {
        note: "a\r\n--b",
        meta: { k: 1 },
        files: [
          { base64: "AAE=", filename: 'a"\r\nX: 1.bin', contentType: "image/png" },
          { base64: "Ag==", contentType: "x\r\nEvil: 1" },
        ],
      },
    },
    { method: "post", rest: { openapi: "3.0.0" } },
  );
  const read = new Response(new Uint8Array(sent.body), {
    headers: { "content-type": sent.headers["content-type"] as string },
  });
  const form = await read.formData();
  expect(form.get("note")).toBe("a\r\n--b");
  const meta = form.get("meta") as File;
  expect([meta.type, await meta.text()]).toEqual(["application/json", '{"k":1}']);
  const files = form.getAll("files") as File[];
  expect(files.map(({ type }) => type)).toEqual(["image/png", "application/octet-stream"]);
  expect(await files[0]?.bytes()).toEqual(new Uint8Array([0, 1]));
  expect(sent.body.toString("latin1")).not.toMatch(/^(X|Evil): 1/m);
});

test("base64 that is none is refused", async () => {
  const sent = send(
    "/x",
    body("application/octet-stream"),
    { body: { base64: "not base64!" } },
    { method: "post" },
  );
  await expect(sent).rejects.toThrow(/base64 contains an invalid character/);
});

test("TRACE is a tool, and says why it cannot be called", async () => {
  const sent = send("/x", {}, {}, { method: "trace" });
  await expect(sent).rejects.toMatchObject({ code: "unsupported_method" });
});

test.each([
  ["a whole URL", [{ url: "https://api.example/v1" }], { serverUrl: "BASE/other/" }, "/other/x"],
  ["a relative URL, and the origin", [{ url: "/v1" }], { serverUrl: "BASE" }, "/v1/x"],
  ["a relative URL, and the whole URL", [{ url: "/v1" }], { serverUrl: "BASE/v1" }, "/v1/x"],
  [
    "variables",
    [{ url: "BASE/{base}", variables: { base: { default: "a" } } }],
    { serverVar_base: "b", serverUrl: undefined },
    "/b/x",
  ],
  [
    "a default of a variable",
    [{ url: "BASE/{base}", variables: { base: { default: "a" } } }],
    { serverUrl: undefined },
    "/a/x",
  ],
])("the server is %s", async (_name, servers, config, path) => {
  await using server = await startServer();
  const fill = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll("BASE", server.url));
  await using service = await startService(documentOf("/x", {}, { servers: fill(servers) }), {
    config: fill(config),
  });
  await service.call("call");
  expect(server.received[0]?.url).toBe(path);
});

test("an operation's own server is used, unless serverUrl is set", async () => {
  await using root = await startServer();
  await using own = await startServer();
  const document = documentOf(
    "/x",
    { servers: [{ url: `${own.url}/own` }] },
    { servers: [{ url: root.url }] },
  );
  await using service = await startService(document, {});
  await service.call("call");
  expect(own.received[0]?.url).toBe("/own/x");
  await using moved = await startService(document, { config: { serverUrl: `${root.url}/all` } });
  await moved.call("call");
  expect(root.received[0]?.url).toBe("/all/x");
});

test.each([
  [{}, /serverUrl/],
  [{ serverUrl: "ftp://example.com" }, /expected https: or http:/],
  [{ serverUrl: "https://user:pass@example.com" }, /user name or a password/],
  [{ serverUrl: "not a url" }, /not a URL/],
  [{ serverUrl: "https://example.com", timeoutMs: "soon" }, /timeoutMs/],
])("settings %o do not start a service", async (config, message) => {
  await expect(startService(documentOf("/x", {}), { config })).rejects.toThrow(message);
});

test("headers of the settings are sent, over those of a script and under the credentials", async () => {
  const { headers } = await send(
    "/x",
    { parameters: [{ in: "header", name: "X-Tenant", schema: {} }], security: [{ key: [] }] },
    { headers: { "X-Tenant": "script" } },
    {
      config: { headers: { "X-Tenant": "admin", "X-Key": "config", Accept: "text/x" } },
      secrets: { key: "secret" },
      rest: { components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } } } },
    },
  );
  expect(headers).toMatchObject({ "x-tenant": "admin", "x-key": "secret", accept: "text/x" });
});

/** Texts that mean something to URLs, headers or servers, and any other. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc
    .array(
      fc.constantFrom(
        "..",
        ".",
        "/",
        "\\",
        "%2e",
        "%2F",
        "?",
        "#",
        "&",
        "=",
        ";",
        "@",
        ":",
        "\r\n",
        "\0",
        "é",
        " ",
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join("")),
);
const anything = fc.oneof(
  text,
  fc.array(text, { maxLength: 3 }),
  fc.dictionary(text, text, { maxKeys: 3 }),
  fc.integer(),
  fc.boolean(),
);

test("whatever a script gives, the request goes to the path and the names of the document", async () => {
  const base = "https://api.example:8443/v1";
  const styles = fc.constantFrom("simple", "label", "matrix" as const);
  const property = fc.asyncProperty(
    anything,
    anything,
    styles,
    fc.boolean(),
    async (path, query, style, allowReserved) => {
      const plan: ToolDomain = {
        method: "GET",
        path: "/users/{id}/profile",
        accept: "*/*",
        parameters: [
          { in: "path", name: "id", style: style as "label" },
          { in: "query", name: "q", explode: false, allowReserved },
          { in: "cookie", name: "c", explode: false },
        ],
      };
      const request = await prepareRequest(
        plan,
        base,
        {},
        { parameters: { path: { id: path }, query: { q: query }, cookies: { c: query } } },
      ).catch((error: unknown) => {
        expect(error).toMatchObject({ code: "invalid_parameters" });
        return null;
      });
      if (request === null) return;
      const url = new URL(urlOf(request));
      expect(url.origin).toBe("https://api.example:8443");
      expect(url.pathname).toMatch(/^\/v1\/users\/[^/]+\/profile$/);
      expect([...url.searchParams.keys()].every((name) => name === "q")).toBe(true);
      expect(url.hash).toBe("");
      expect(request.cookies.join("; ")).toMatch(/^(c=[^;\s]*)?$/);
    },
  );
  await fc.assert(property, { numRuns: 1000 });
});
