/** Secrets on requests: every kind of scheme, which requirement is used, tokens of client credentials; never none. */
import { expect, test } from "vitest";
import {
  answerJson,
  documentOf,
  type Respond,
  startServer,
  startService,
  type TestServer,
} from "./service.ts";

const SCHEMES = {
  header: { type: "apiKey", in: "header", name: "X-Key" },
  query: { type: "apiKey", in: "query", name: "api_key" },
  cookie: { type: "apiKey", in: "cookie", name: "sid" },
  bearer: { type: "http", scheme: "bearer" },
  basic: { type: "http", scheme: "basic" },
  oidc: { type: "openIdConnect", openIdConnectUrl: "https://example.com" },
  login: {
    type: "oauth2",
    flows: { authorizationCode: { authorizationUrl: "https://a", tokenUrl: "https://t", scopes: {} } },
  },
  machine: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "/oauth/token", scopes: {} } } },
  digest: { type: "http", scheme: "digest" },
};
const components = { securitySchemes: SCHEMES };

async function receive(
  security: unknown,
  secrets: Record<string, unknown>,
  more: Record<string, unknown> = {},
) {
  await using server = await startServer();
  const document = documentOf(
    "/x",
    { ...(security === undefined ? {} : { security }), ...more },
    { components },
  );
  await using service = await startService(document, { server, secrets });
  await service.call("call", {
    query: { api_key: "script", q: "1" },
    cookies: { sid: "script" },
    headers: { "X-Key": "script" },
  });
  const { url, headers } = server.received[0] as TestServer["received"][number];
  return { url, headers };
}

test.each([
  ["header", "k1", { headers: { "x-key": "k1" } }],
  ["query", "k&2", { url: "/x?api_key=k%262" }],
  ["cookie", "k;3", { headers: { cookie: "sid=k%3B3" } }],
  ["bearer", "t1", { headers: { authorization: "Bearer t1" } }],
  ["bearer", "Bearer t2", { headers: { authorization: "Bearer t2" } }],
  [
    "basic",
    { username: "ü", password: "p:w" },
    { headers: { authorization: `Basic ${Buffer.from("ü:p:w").toString("base64")}` } },
  ],
  ["oidc", "t3", { headers: { authorization: "Bearer t3" } }],
  ["login", { accessToken: "t4" }, { headers: { authorization: "Bearer t4" } }],
])("a secret for %s is sent where it belongs", async (scheme, secret, expected) => {
  expect(await receive([{ [scheme]: [] }], { [scheme]: secret })).toMatchObject(expected);
});

test("a parameter that is a credential is none of a script's", async () => {
  const parameters = [
    { in: "query", name: "api_key", schema: { type: "string" } },
    { in: "query", name: "q", schema: { type: "string" } },
  ];
  await using server = await startServer();
  const document = documentOf("/x", { security: [{ query: [] }], parameters }, { components });
  await using service = await startService(document, { server, secrets: { query: "real" } });
  expect(service.definition.tools[0]?.inputSchema).toMatchObject({
    properties: { query: { properties: { q: {} } } },
  });
  expect(JSON.stringify(service.definition.tools[0]?.inputSchema)).not.toContain("api_key");
  await service.call("call", { query: { api_key: "script", q: "1" } });
  expect(server.received[0]?.url).toBe("/x?q=1&api_key=real");
});

test("an object that is written into the query cannot bring a credential of its own", async () => {
  await using server = await startServer();
  const parameters = [{ in: "query", name: "filter", schema: { type: "object" } }];
  const document = documentOf("/x", { security: [{ query: [] }], parameters }, { components });
  await using service = await startService(document, { server, secrets: { query: "real" } });
  await service.call("call", { query: { filter: { api_key: "script", a: "1" } } });
  expect(server.received[0]?.url).toBe("/x?a=1&api_key=real");
});

test("the first requirement that can be satisfied is used, and all its schemes", async () => {
  const security = [{ bearer: [] }, { header: [], query: [] }, { basic: [] }];
  const both = await receive(security, { header: "h", query: "q", basic: { username: "u", password: "p" } });
  expect(both).toMatchObject({ url: expect.stringContaining("api_key=q"), headers: { "x-key": "h" } });
  expect(both.headers).not.toHaveProperty("authorization");
  const last = await receive(security, { header: "h", basic: { username: "u", password: "p" } });
  expect(last.headers.authorization).toMatch(/^Basic /);
  expect(last.headers).not.toHaveProperty("x-key");
});

test.each([
  ["nothing is set", [{ bearer: [] }], {}],
  ["a secret is empty", [{ bearer: [] }], { bearer: "" }],
  ["one of two is missing", [{ header: [], query: [] }], { header: "h" }],
  ["the scheme is not supported", [{ digest: [] }], { digest: "x" }],
  ["the scheme does not exist", [{ missing: [] }], { missing: "x" }],
])("a call is refused, not made without credentials, when %s", async (_name, security, secrets) => {
  await using server = await startServer();
  await using service = await startService(documentOf("/x", { security }, { components }), {
    server,
    secrets,
  });
  await expect(service.call("call")).rejects.toMatchObject({
    code: "no_credentials",
    message: expect.stringContaining("PATCH /services/api/secrets"),
  });
  expect(server.received).toEqual([]);
});

test("an empty requirement allows a call without, and gives way to credentials that are set", async () => {
  expect((await receive([{}, { bearer: [] }], {})).headers).not.toHaveProperty("authorization");
  expect((await receive([{}, { bearer: [] }], { bearer: "t" })).headers.authorization).toBe("Bearer t");
  expect((await receive([], { bearer: "t" })).headers).not.toHaveProperty("authorization");
});

test("the requirement of the document applies where an operation has none of its own", async () => {
  await using server = await startServer();
  const document = documentOf("/x", {}, { components, security: [{ bearer: [] }] });
  await using service = await startService(document, { server, secrets: { bearer: "t" } });
  await service.call("call");
  expect(server.received[0]?.headers.authorization).toBe("Bearer t");
});

test("a document that never says when its schemes apply gets what is set", async () => {
  expect((await receive(undefined, { bearer: "t" })).headers.authorization).toBe("Bearer t");
  expect((await receive(undefined, {})).headers).not.toHaveProperty("authorization");
});

test("a document without any scheme takes secret headers", async () => {
  await using server = await startServer();
  const secrets = { headers: { Authorization: "Bearer gh" } };
  await using service = await startService(documentOf("/x", {}), { server, secrets });
  expect(service.definition.secretsSchema).toMatchObject({ properties: { headers: { type: "object" } } });
  await service.call("call");
  expect(server.received[0]?.headers.authorization).toBe("Bearer gh");
});

test("a secret that no header can hold fails without being shown", async () => {
  const failed = receive([{ bearer: [] }], { bearer: "planted\r\nsecret" });
  await expect(failed).rejects.toThrow(/The header "authorization" cannot be sent/);
  await expect(failed).rejects.not.toThrow(/planted/);
});

/** A token endpoint that gives out t1, t2, …; tokens in `expired` are answered 401 by the API. */
function tokenServer(
  answer: (form: URLSearchParams, authorization: string | undefined, n: number) => [number, unknown],
) {
  const expired = new Set<string>();
  let given = 0;
  const respond: Respond = ({ url, headers, body }, response) => {
    if (url !== "/oauth/token") {
      const token = headers.authorization ?? "";
      return answerJson(response, { token }, expired.has(token) ? 401 : 200);
    }
    given += 1;
    const [status, value] = answer(new URLSearchParams(body.toString()), headers.authorization, given);
    answerJson(response, value, status);
  };
  return { respond, expired, given: () => given };
}

const MACHINE = { machine: { clientId: "my-id", clientSecret: "s3cret/+" } };
const grantTokens = (_form: unknown, _authorization: unknown, n: number): [number, unknown] => [
  200,
  { access_token: `t${n}`, token_type: "Bearer", expires_in: 3600 },
];

async function startMachine(
  tokens: ReturnType<typeof tokenServer>,
  security: unknown = [{ machine: ["b", "a"] }],
) {
  const server = await startServer(tokens.respond);
  const service = await startService(documentOf("/x", { security }, { components }), {
    server,
    secrets: MACHINE,
  });
  return {
    server,
    service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("client credentials are exchanged once for concurrent and for later calls", async () => {
  const tokens = tokenServer(grantTokens);
  await using machine = await startMachine(tokens);
  const answers = await Promise.all(Array.from({ length: 10 }, () => machine.service.call("call")));
  expect(new Set(answers.map(({ body }) => (body as { token: string }).token))).toEqual(
    new Set(["Bearer t1"]),
  );
  await machine.service.call("call");
  expect(tokens.given()).toBe(1);
  const request = machine.server.received.find(({ url }) => url === "/oauth/token");
  expect(request?.headers.authorization).toBe(
    `Basic ${Buffer.from("my-id:s3cret%2F%2B").toString("base64")}`,
  );
  expect(Object.fromEntries(new URLSearchParams(request?.body.toString()))).toEqual({
    grant_type: "client_credentials",
    scope: "a b",
  });
});

test("a 401 fetches one new token and tries once more; a second 401 is thrown", async () => {
  const tokens = tokenServer(grantTokens);
  await using machine = await startMachine(tokens);
  await machine.service.call("call");
  tokens.expired.add("Bearer t1");
  expect(await machine.service.call("call")).toMatchObject({ status: 200, body: { token: "Bearer t2" } });
  tokens.expired.add("Bearer t2").add("Bearer t3");
  await expect(machine.service.call("call")).rejects.toMatchObject({ status: 401 });
  expect(tokens.given()).toBe(3);
});

test("a token that is about to expire is not used again", async () => {
  const tokens = tokenServer((_form, _authorization, n) => [
    200,
    { access_token: `t${n}`, token_type: "bearer", expires_in: 0 },
  ]);
  await using machine = await startMachine(tokens);
  await machine.service.call("call");
  await machine.service.call("call");
  expect(tokens.given()).toBe(2);
});

test("a server that wants the client in the body gets it there; a missing token_type is bearer", async () => {
  const tokens = tokenServer((form, authorization, n) =>
    authorization === undefined && form.get("client_secret") === "s3cret/+"
      ? [200, { access_token: `t${n}` }]
      : [401, { error: "invalid_client" }],
  );
  await using machine = await startMachine(tokens);
  expect(await machine.service.call("call")).toMatchObject({ body: { token: "Bearer t2" } });
});

test.each([
  ["a refusal", [400, { error: "invalid_scope", error_description: "s3cret/+" }]],
  ["an answer without a token", [200, { hello: "s3cret/+" }]],
  ["an error page", [500, "s3cret/+"]],
  ["a huge answer", [200, { access_token: "x".repeat(400_000), token_type: "bearer" }]],
] as [string, [number, unknown]][])(
  "%s of the token endpoint fails the call and names the endpoint, not the secret",
  async (_name, answer) => {
    const tokens = tokenServer(() => answer);
    await using machine = await startMachine(tokens);
    const error: Error & { code?: string } = await machine.service.call("call").then(
      () => new Error("no error"),
      (thrown: Error) => thrown,
    );
    expect(error.message).toMatch(/token endpoint/i);
    expect(error.message).not.toContain("s3cret");
    expect(machine.server.received.every(({ url }) => url === "/oauth/token")).toBe(true);
  },
);

test("a call that is stopped does not take the token from the others", async () => {
  const waiting = Promise.withResolvers<void>();
  const server = await startServer(({ url, headers }, response) => {
    if (url !== "/oauth/token") return answerJson(response, { token: headers.authorization });
    void waiting.promise.then(() => answerJson(response, { access_token: "t1", token_type: "bearer" }));
  });
  await using _server = server;
  await using service = await startService(
    documentOf("/x", { security: [{ machine: [] }] }, { components }),
    { server, secrets: MACHINE },
  );
  const stop = new AbortController();
  const stopped = service.call("call", {}, stop.signal);
  const other = service.call("call");
  await expect.poll(() => server.received.length).toBe(1);
  stop.abort();
  await expect(stopped).rejects.toMatchObject({ code: "aborted" });
  waiting.resolve();
  expect(await other).toMatchObject({ body: { token: "Bearer t1" } });
  expect(server.received.filter(({ url }) => url === "/oauth/token")).toHaveLength(1);
});

test("secrets are gone with the service", async () => {
  await using server = await startServer();
  await using service = await startService(documentOf("/x", { security: [{ bearer: [] }] }, { components }), {
    server,
    secrets: { bearer: "t" },
  });
  await service.adapter.dehydrateService("api");
  await service.adapter.dehydrateService("api");
  await expect(service.call("call")).rejects.toMatchObject({ code: "not_hydrated" });
});
