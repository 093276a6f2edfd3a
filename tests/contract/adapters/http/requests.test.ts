/** Requests that scripts make by a rule: what is sent, what is refused before anything is, and where redirects end. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { filesOf, type Respond, startService, startTarget } from "./service.ts";

const SECRET = "planted-secret-of-the-rule-4711";

/** One rule for one server of the test. */
async function start(respond?: Respond, more: object = {}, secrets?: Record<string, unknown>) {
  const target = await startTarget(respond, secrets === undefined ? "http" : "https");
  const rule = { name: "rule", origins: [target.origin], methods: ["GET", "HEAD", "POST", "PUT"], ...more };
  const service = await startService([rule], secrets === undefined ? {} : { secrets });
  return {
    target,
    ...service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
    },
  };
}

test("method, headers and body are sent, with the headers of the rule in place of the script's", async () => {
  await using on = await start(undefined, { headers: { "User-Agent": "rule", "X-Fixed": "1" } });
  const url = `${on.target.origin}/a/b?c=d%20e&f=%2F#fragment`;
  const headers = [
    ["Content-Type", "application/json"],
    ["x-twice", "1"],
    ["X-Twice", "2"],
    ["user-agent", "script"],
  ];
  const answer = await on.call({ url, method: "POST", headers, body: '{"ü":1}' });
  expect(answer).toMatchObject({ status: 200, statusText: "OK", redirected: false, body: { text: "ok" } });
  expect(answer.url).toBe(`${on.target.origin}/a/b?c=d%20e&f=%2F`);
  expect(on.target.received).toMatchObject([
    {
      method: "POST",
      url: "/a/b?c=d%20e&f=%2F",
      headers: {
        "content-type": "application/json",
        "content-length": "8",
        "x-twice": "1, 2",
        "user-agent": "rule",
        "x-fixed": "1",
      },
      body: Buffer.from('{"ü":1}'),
    },
  ]);
});

test("a file of the workspace is streamed with its length, bytes as they are", async () => {
  await using on = await start(undefined, { maxRequestBytes: 4 * 1024 * 1024 });
  const bytes = Buffer.from(Uint8Array.from({ length: 3 * 1024 * 1024 }, (_, index) => (index * 31) % 256));
  const files = filesOf({ "a.bin": bytes });
  await on.call({ url: on.target.origin, method: "PUT", body: { file: "a.bin" } }, { files });
  await on.call({
    url: on.target.origin,
    method: "PUT",
    body: { base64: bytes.subarray(0, 5).toString("base64") },
  });
  expect(on.target.received.map(({ headers }) => headers["content-length"])).toEqual([
    String(bytes.length),
    "5",
  ]);
  expect(on.target.received[0]?.headers["transfer-encoding"]).toBeUndefined();
  expect(on.target.received[0]?.body.equals(bytes)).toBe(true);
  await expect(
    on.call({ url: on.target.origin, method: "PUT", body: { file: "none" } }, { files }),
  ).rejects.toThrow("There is no such file");
});

test.each<[object, string]>([
  [{ maxRequestBytes: 3 }, "request_too_large"],
  [{}, "sent"],
])("a body of 4 bytes with %j: %s", async (more, code) => {
  await using on = await start(undefined, more);
  const bodies = ["four", { base64: "Zm91cg==" }, { file: "four" }];
  const files = filesOf({ four: Buffer.from("four") });
  for (const body of bodies) {
    const call = on.call({ url: on.target.origin, method: "POST", body }, { files });
    expect(
      await call.then(
        () => "sent",
        (error) => error.code,
      ),
    ).toBe(code);
  }
  expect(on.target.received.length).toBe(code === "sent" ? 3 : 0);
});

describe("a URL or method that the rule is not for is refused before anything is sent", () => {
  test.each<[string, string?]>([
    ["/v2"],
    ["/v1x"],
    ["/V1"],
    ["/%76%31"],
    ["//v1/"],
    ["/v1/../v2"],
    ["/v1/..;/v2"],
    ["/v1/..;a=b/v2"],
    ["/v1/%2e%2e/v2"],
    ["/v1/.%2e/v2"],
    ["/v1/%252e%252e/v2"],
    ["/v1/%25252e%25252e/v2"],
    ["/v1/..%2fv2"],
    ["/v1/..%5cv2"],
    ["/v1/%2e%2e%2fv2"],
    ["/v1/%2e%2e%252fv2"],
    ["/v1/..%00/v2"],
    ["/v1/..%20/v2"],
    ["/v1/%c0%ae%c0%ae/v2"],
    ["/v1/%e0%80%ae%e0%80%ae/v2"],
    ["/v1/%u002e%u002e/v2"],
    ["/v1/%ef%bc%8e%ef%bc%8e/v2"],
    ["/v1/%uff0e%uff0e/v2"],
    ["/v1/%u2025%uff0fv2"],
    ["/v1/..%u2215v2"],
    ["/v1/..%3f"],
    ["/v1/..%3fx/v2"],
    ["/v1/..%253f"],
    ["/v1/%2e%2e%23"],
    ["/v1/..%2523x"],
    ["/v1/．．/v2"],
    ["/v1/..\\v2"],
    ["/v1\\..\\v2"],
    ["/v1/a%0d%0aX-Evil:%201"],
    ["/v1/a%00"],
    ["/v1/a b"],
    ["/v1/a\tb"],
    ["/v1/a\r\nHost: evil"],
    ["/v1/", "DELETE"],
    ["/v1/", "GET POST"],
    ["/v1/", "CONNECT"],
    ["/v1/", "GET\r\nX: 1"],
  ])("%j %s", async (path, method = "GET") => {
    await using on = await start(undefined, { pathPrefix: "/v1" });
    await expect(on.call({ url: `${on.target.origin}${path}`, method })).rejects.toMatchObject({
      code: "invalid_parameters",
    });
    expect(on.target.received).toEqual([]);
  });

  test.each([
    (origin: string) => origin.replace("http:", "https:"),
    (origin: string) => origin.replace("127.0.0.1", "127.0.0.2"),
    (origin: string) => origin.replace("127.0.0.1", "localhost"),
    (origin: string) => origin.replace("http://", "http://u:p@"),
    (origin: string) => origin.replace("http://", "http://127.0.0.1:1@"),
    (origin: string) => origin.replace(/:\d+$/, ":1"),
    (origin: string) => origin.replace(/:\d+$/, ""),
    (origin: string) => origin.replace("http://", "http:\\\\"),
    (origin: string) => `${origin}.evil.example`,
    (origin: string) => `${origin}@evil.example`,
    (origin: string) => origin.replace("http:", "ftp:"),
    (origin: string) => origin.replace("http://", "//"),
    (origin: string) => ` ${origin}`,
    () => "javascript:1",
    () => "",
    () => "http://169.254.169.254/latest/meta-data",
    () => "http://[::ffff:169.254.169.254]/",
    () => "http://2852039166/",
    () => "http://metadata.google.internal/",
  ])("another origin %#", async (change) => {
    await using on = await start();
    await expect(on.call({ url: change(on.target.origin) })).rejects.toMatchObject({
      code: "invalid_parameters",
    });
    expect(on.target.received).toEqual([]);
  });

  test("the same address in another notation is the same origin, sent as it was checked", async () => {
    await using on = await start();
    const url = `${on.target.origin.replace("127.0.0.1", "0x7f.1").replace("http:", "HTTP:")}/a/./b/../c`;
    const answer = await on.call({ url });
    expect([answer.url, on.target.received[0]?.url]).toEqual([`${on.target.origin}/a/c`, "/a/c"]);
  });
});

describe("headers that decide for whom a request is are refused", () => {
  test.each([
    "Authorization",
    "authorization",
    "Proxy-Authorization",
    "Cookie",
    "Host",
    "Connection",
    "Content-Length",
    "content_length",
    "Transfer-Encoding",
    "TE",
    "Trailer",
    "Upgrade",
    "Expect",
    "Keep-Alive",
    "Sec-Fetch-Site",
    "Proxy-Anything",
    "X-Forwarded-Host",
    "X_Forwarded_For",
    "Forwarded",
    "X-HTTP-Method-Override",
    "X_HTTP_METHOD_OVERRIDE",
    "X-Original-URL",
    "X-Rewrite-URL",
    "content.length",
    "Accept-Encoding",
    "accept_encoding",
    "Proxy",
    "True-Client-IP",
    "CF-Connecting-IP",
    "X-Client-IP",
    "X-Real-IP",
    "Forwarded-For",
    "X-Forwarded",
    "Remote-User",
    "REMOTE_USER",
    "X-Remote-User",
    "X-Auth-Request-Email",
    "X_Auth_Request_User",
    "X-Original-Host",
    "X-Original-Forwarded-For",
    "X-Amzn-Oidc-Data",
    "X-Goog-IAP-JWT-Assertion",
    "X-MS-CLIENT-PRINCIPAL-ID",
    "X-SSL-Client-Cert",
    "X-Middleware-Subrequest",
    "X-Envoy-Original-Path",
  ])("%s", async (name) => {
    await using on = await start();
    await expect(on.call({ url: on.target.origin, headers: [[name, "1"]] })).rejects.toMatchObject({
      code: "invalid_parameters",
      message: expect.stringContaining(`header ${name} cannot be set`),
    });
    expect(on.target.received).toEqual([]);
  });

  test.each([
    ["X-A", "a\r\nX-Evil: 1"],
    ["X-A", "a\nX-Evil: 1"],
    ["X-A", "a\0b"],
    ["X-A", "a\u2028b"],
    ["X-A\r\nX-Evil", "1"],
    ["X A", "1"],
    ["", "1"],
    ["X-A:", "1"],
    ["ümlaut", "1"],
  ])("%j: %j", async (name, value) => {
    await using on = await start();
    await expect(on.call({ url: on.target.origin, headers: [[name, value]] })).rejects.toMatchObject({
      code: "invalid_parameters",
    });
    expect(on.target.received).toEqual([]);
  });

  test.each(["Range", "range", "If-Range", "Accept-Charset", "A-IM"])(
    "%s, where a credential is sent",
    async (name) => {
      await using on = await start(undefined, { auth: { type: "bearer" } }, { rule: SECRET });
      await expect(on.call({ url: on.target.origin, headers: [[name, "bytes=0-9"]] })).rejects.toMatchObject({
        code: "invalid_parameters",
        message: expect.stringContaining(`header ${name} cannot be set, because the rule sends a credential`),
      });
      expect(on.target.received).toEqual([]);
      await using open = await start();
      await open.call({ url: open.target.origin, headers: [[name, "bytes=0-9"]] });
      expect(open.target.received[0]?.headers[name.toLowerCase()]).toBe("bytes=0-9");
    },
  );

  test("a header of the rule is sent alone, whatever the script calls its own", async () => {
    await using on = await start(undefined, { headers: { "X-Tenant": "ours", X_Trace_Id: "1" } });
    const names = ["X-Tenant", "x-tenant", "X_Tenant", "x_tenant", "X.Tenant", "X-Trace-Id"];
    await on.call({ url: on.target.origin, headers: names.map((name) => [name, "theirs"]) });
    const { headers } = on.target.received[0] as { headers: object };
    expect(headers).toMatchObject({ "x-tenant": "ours", x_trace_id: "1" });
    expect(JSON.stringify(headers)).not.toContain("theirs");
  });

  test("those of proxies may be the rule's", async () => {
    await using on = await start(undefined, {
      headers: { "CF-Access-Client-Id": "id", "Remote-User": "bot" },
    });
    await on.call({ url: on.target.origin });
    expect(on.target.received[0]?.headers).toMatchObject({
      "cf-access-client-id": "id",
      "remote-user": "bot",
    });
  });

  test("a GET has no body", async () => {
    await using on = await start();
    await expect(on.call({ url: on.target.origin, body: "x" })).rejects.toThrow(
      "A GET request cannot have a body",
    );
  });

  test("many and large headers are refused, or answered by the server's own refusal", async () => {
    await using on = await start();
    const many = Array.from({ length: 300 }, (_, index) => [`x-${index}`, "1"]);
    await expect(on.call({ url: on.target.origin, headers: many })).rejects.toThrow("the limit is 200");
    const answer = await on.call({ url: on.target.origin, headers: [["x-large", "x".repeat(100_000)]] });
    expect(answer.status).toBe(431);
  });
});

describe("a credential", () => {
  const ways: [object, unknown, (seen: { headers: object; url: string }) => unknown, unknown][] = [
    [{ type: "bearer" }, SECRET, ({ headers }) => headers, { authorization: `Bearer ${SECRET}` }],
    [{ type: "bearer" }, `Bearer ${SECRET}`, ({ headers }) => headers, { authorization: `Bearer ${SECRET}` }],
    [
      { type: "basic" },
      { username: "u", password: SECRET },
      ({ headers }) => headers,
      { authorization: `Basic ${Buffer.from(`u:${SECRET}`).toString("base64")}` },
    ],
    [{ type: "header", name: "X-Key" }, SECRET, ({ headers }) => headers, { "x-key": SECRET }],
    [
      { type: "query", name: "api key" },
      `${SECRET}&x=1`,
      ({ url }) => ({ url }),
      { url: `/?a=1&api%20key=${SECRET}%26x%3D1` },
    ],
  ];

  test.each(ways)("%j goes with each request, and is in no answer", async (auth, secret, read, expected) => {
    await using on = await start(undefined, { auth }, { rule: secret });
    const answer = await on.call({ url: `${on.target.origin}/?a=1` });
    expect(read(on.target.received[0] as never)).toMatchObject(expected as object);
    expect(JSON.stringify(answer)).not.toContain(SECRET);
    expect(answer.url).toBe(`${on.target.origin}/?a=1`);
  });

  test("that is not set refuses the call", async () => {
    await using on = await start(undefined, { auth: { type: "bearer" } }, {});
    await expect(on.call({ url: on.target.origin })).rejects.toMatchObject({ code: "no_credentials" });
    expect(on.target.received).toEqual([]);
  });

  test.each([`${SECRET}\r\nX-Evil: 1`, `${SECRET}\0`, `${SECRET}\u2028x`, `${SECRET}\xfc`])(
    "%j is refused, unquoted",
    async (secret) => {
      const started = start(undefined, { auth: { type: "bearer" } }, { rule: secret });
      await expect(started).rejects.toThrow(/secrets\.rule must be ASCII without line breaks/);
      await expect(started).rejects.not.toThrow(SECRET);
    },
  );

  test.each<[object, unknown]>([
    [{ type: "bearer" }, "short12"],
    [{ type: "bearer" }, "Bearer short12"],
    [{ type: "header", name: "X-Key" }, "  short12  "],
    [{ type: "query", name: "key" }, "short12"],
    [{ type: "basic" }, { username: "a-long-user-name", password: "short12" }],
    [{ type: "basic" }, { username: "short12", password: "" }],
  ])("%j that is too short to be found in answers is refused", async (auth, secret) => {
    const started = start(undefined, { auth }, { rule: secret });
    await expect(started).rejects.toThrow(
      /^secrets\.rule(: does not match its schema| must have at least 8 characters)/,
    );
    await expect(started).rejects.not.toThrow("short12");
  });

  test("may be a user name without a password", async () => {
    await using on = await start(
      undefined,
      { auth: { type: "basic" } },
      { rule: { username: SECRET, password: "" } },
    );
    await on.call({ url: on.target.origin });
    expect(on.target.received[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from(`${SECRET}:`).toString("base64")}`,
    );
  });

  test("cannot be set by the script, in any spelling", async () => {
    const key = { auth: { type: "header", name: "X-Api-Key" } };
    await using on = await start(undefined, key, { rule: SECRET });
    for (const name of ["x-api-key", "X-API-KEY", "x_api_key"]) {
      await expect(on.call({ url: on.target.origin, headers: [[name, "mine"]] })).rejects.toThrow(
        "rule's credential",
      );
    }
    await using query = await start(undefined, { auth: { type: "query", name: "key" } }, { rule: SECRET });
    for (const search of ["?key=1", "?KEY=1", "?a=1&k%65y=1", "?key", "?key[]=1", "?a=1;key=1", "?+key=1"]) {
      await expect(query.call({ url: `${query.target.origin}/${search}` })).rejects.toThrow("cannot be set");
    }
    expect([...on.target.received, ...query.target.received]).toEqual([]);
  });
});

describe("a redirect", () => {
  const lead =
    (location: string, status = 302): Respond =>
    (request, response) => {
      if (request.url.startsWith("/v1/start")) response.writeHead(status, { location }).end("moved");
      else response.end(`at ${request.method} ${request.url}`);
    };
  const follows = { redirects: "same-origin", pathPrefix: "/v1" };

  test("is not followed by a rule that does not say so", async () => {
    await using on = await start(lead("/v1/next"));
    const answer = await on.call({ url: `${on.target.origin}/v1/start` });
    expect(answer).toMatchObject({ status: 302, redirected: false, body: { text: "moved" } });
    expect(answer.headers).toContainEqual(["location", "/v1/next"]);
    expect(on.target.received.length).toBe(1);
  });

  test("is followed on the origin, below the path", async () => {
    await using on = await start(lead("next?x=1"), follows);
    const answer = await on.call({ url: `${on.target.origin}/v1/start` });
    expect(answer).toMatchObject({
      redirected: true,
      url: `${on.target.origin}/v1/next?x=1`,
      body: { text: "at GET /v1/next?x=1" },
    });
  });

  test.each([
    "/v2",
    "/v1/../v2",
    "/v1/%2e%2e/v2",
    "/v1/..;/v2",
    "/v1/..%2fv2",
    "//evil.example/v1",
    "http://evil.example/v1",
    "https://127.0.0.1/v1",
    "http://127.0.0.1:1/v1",
    "http://localhost/v1",
    "http://u:p@127.0.0.1/v1",
    "http://169.254.169.254/v1",
    "http:\\\\evil.example\\v1",
    "\\\\evil.example/v1",
    "javascript:alert(1)",
    "data:text/plain,x",
    "file:///v1",
    "http://[::1",
  ])("to %j is shown to the script, not followed", async (location) => {
    await using on = await start(lead(location), follows);
    const answer = await on.call({ url: `${on.target.origin}/v1/start` });
    expect([answer.status, on.target.received.length]).toEqual([302, 1]);
  });

  test.each<[number, string, string, string]>([
    [301, "POST", "GET", ""],
    [302, "POST", "GET", ""],
    [303, "PUT", "GET", ""],
    [303, "HEAD", "HEAD", ""],
    [302, "PUT", "PUT", "body"],
    [307, "POST", "POST", "body"],
    [308, "PUT", "PUT", "body"],
  ])("%i of a %s becomes a %s", async (status, method, next, body) => {
    await using on = await start(lead("/v1/next", status), follows);
    const isBodiless = method === "HEAD";
    await on.call({
      url: `${on.target.origin}/v1/start`,
      method,
      ...(!isBodiless && { headers: [["content-type", "text/x"]], body: "body" }),
    });
    const { received } = on.target;
    expect([received.length, received[1]?.method, received[1]?.body.toString()]).toEqual([2, next, body]);
    expect(received[1]?.headers["content-type"]).toBe(body === "" ? undefined : "text/x");
  });

  test("that would use a method the rule does not allow is not followed", async () => {
    await using on = await start(lead("/v1/next", 303), { ...follows, methods: ["POST"] });
    const answer = await on.call({ url: `${on.target.origin}/v1/start`, method: "POST", body: "x" });
    expect([answer.status, on.target.received.length]).toEqual([303, 1]);
  });

  test("that never ends is cut off; manual and error are as the script says", async () => {
    await using on = await start(lead("/v1/start"), follows);
    const url = `${on.target.origin}/v1/start`;
    await expect(on.call({ url })).rejects.toMatchObject({ code: "too_many_redirects" });
    expect(on.target.received.length).toBe(6);
    expect((await on.call({ url, redirect: "manual" })).status).toBe(302);
    await expect(on.call({ url, redirect: "error" })).rejects.toMatchObject({ code: "redirected" });
    expect(on.target.received.length).toBe(8);
  });

  test("takes a credential along on the origin, and nowhere else", async () => {
    await using other = await startTarget(undefined, "https");
    const auth = { type: "query", name: "key" };
    await using on = await start(
      ({ url }, response) => {
        const { pathname } = new URL(url, "http://x");
        // A server that repeats the query it was asked with.
        if (pathname === "/near") response.writeHead(307, { location: url.replace("/near", "/next") }).end();
        else if (pathname === "/far") response.writeHead(307, { location: `${other.origin}/x` }).end();
        else response.end("ok");
      },
      { auth, redirects: "same-origin" },
      { rule: SECRET },
    );
    const near = await on.call({ url: `${on.target.origin}/near?a=1` });
    expect([near.url, on.target.received[1]?.url]).toEqual([
      `${on.target.origin}/next?a=1`,
      `/next?a=1&key=${SECRET}`,
    ]);
    expect((await on.call({ url: `${on.target.origin}/far` })).status).toBe(307);
    expect(other.received).toEqual([]);
  });

  test("opens a file anew", async () => {
    await using on = await start(lead("/v1/next", 307), { ...follows, maxRequestBytes: 1024 * 1024 });
    const bytes = Buffer.alloc(200_000, "x");
    const files = filesOf({ "a.bin": bytes });
    await on.call({ url: `${on.target.origin}/v1/start`, method: "PUT", body: { file: "a.bin" } }, { files });
    const digests = on.target.received.map(({ body }) => createHash("sha256").update(body).digest("hex"));
    expect([digests.length, new Set(digests).size]).toEqual([2, 1]);
  });
});
