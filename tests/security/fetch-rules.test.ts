/**
 * Scripts that try to get a request past the rules of the adapter `http`, in both environments: by the URL, the method, headers,
 * redirects, bodies and the values themselves. No attempt may reach an origin, a path, a method or a header that no rule allows,
 * and no script may learn the secret.
 */
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import tls from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { type ApprovalsServer, startApprovalsServer } from "#tests/integration/approvals/server.ts";
import { SELF_SIGNED } from "#tests/integration/harness/self-signed.ts";

const SECRET = "planted-secret-of-the-fetch-rules-9917";

interface Seen extends Pick<IncomingMessage, "method" | "url" | "headers"> {
  body: string;
}

async function listen(seen: Seen[], isTls: boolean, answer: RequestListener) {
  const handle: RequestListener = async (request, response) => {
    const { method, url, headers } = request;
    let body = "";
    for await (const piece of request.setEncoding("latin1")) body += piece;
    seen.push({ method, url, headers, body });
    answer(request, response);
  };
  const server = isTls ? createTlsServer(SELF_SIGNED, handle) : createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

/** Requests received at the origin of the rules, and at other servers on this machine. */
const allowed: Seen[] = [];
const forbidden: Seen[] = [];
let api: Awaited<ReturnType<typeof listen>>;
let others: Awaited<ReturnType<typeof listen>>[];
const authorities = tls.getCACertificates("default");

beforeAll(async () => {
  tls.setDefaultCACertificates([...authorities, SELF_SIGNED.cert]);
  api = await listen(allowed, true, ({ url = "", headers }, response) => {
    const { pathname, searchParams } = new URL(url, "https://x");
    const to = searchParams.get("to");
    if (to !== null)
      response.writeHead(Number(searchParams.get("status") ?? 302), { location: to }).end("moved");
    // An origin that repeats what it was sent, as text, as bytes and as JSON.
    else if (pathname.endsWith("/echo")) response.end(JSON.stringify(headers));
    else if (pathname.endsWith("/bytes")) {
      response.setHeader("content-type", "image/png");
      response.end(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(headers.authorization ?? "")]));
    } else if (pathname.endsWith("/large")) {
      response.setHeader("content-type", "application/octet-stream");
      response.end(Buffer.concat([Buffer.alloc(1_500_000, 0xff), Buffer.from(headers.authorization ?? "")]));
    } else response.setHeader("x-echo", headers.authorization ?? "").end("ok");
  });
  others = [
    await listen(forbidden, true, (_request, response) => void response.end("taken")),
    await listen(forbidden, false, (_request, response) => void response.end("taken")),
  ];
});
afterAll(() => {
  tls.setDefaultCACertificates(authorities);
  for (const { server } of [api, ...others]) {
    server.closeAllConnections();
    server.close();
  }
});

/** Requests, each as the parameters of a call; `$API`, `$TLS`, `$HTTP` are hosts with their ports. */
const ATTEMPTS: object[] = [
  ...[
    "https://$TLS/open",
    "http://$HTTP/open",
    "http://$API/open",
    "https://localhost:$PORT/open",
    "https://127.0.0.2:$PORT/open",
    "https://$API@$TLS/open",
    "https://$API:80@$TLS/open",
    "https://$TLS#@$API/open",
    "https://$TLS?@$API/open",
    "https://$TLS\\@$API/open",
    "https:\\\\$TLS\\open",
    "https:/$TLS/open",
    "https:$TLS/open",
    "//$TLS/open",
    "https://$API.$TLS/open",
    "https://user:pass@$API/open",
    "https://127.0.0.1./open",
    "http://169.254.169.254/open",
    "http://[::ffff:a9fe:a9fe]/open",
    "http://2852039166/open",
    "http://0251.0376.0251.0376/open",
    "http://metadata.google.internal/open",
    "http://100.100.100.200/open",
    "file:///etc/passwd",
    "data:text/plain,x",
    "javascript:1",
    "unix:/var/run/docker.sock",
  ].map((url) => ({ url })),
  ...[
    "/",
    "/closed",
    "/opened",
    "/OPEN",
    "/open/../closed",
    "/open/%2e%2e/closed",
    "/open/.%2E/closed",
    "/open/..;/closed",
    "/open/;/../closed",
    "/open/..%2fclosed",
    "/open/..%5cclosed",
    "/open/..\\closed",
    "/open/%252e%252e/closed",
    "/open/%252e%252e%252fclosed",
    "/open/%c0%ae%c0%ae/closed",
    "/open/%ef%bc%8e%ef%bc%8e/closed",
    "/open/．．/closed",
    "/open/..%00/closed",
    "/open/..%0d%0aHost:%20evil",
    "//open",
    "/./closed",
    "/%6fpen",
    "/open\r\nHost: evil",
    "/open HTTP/1.1\r\nHost: evil\r\n\r\nGET /closed",
  ].map((path) => ({ url: `https://$API${path}` })),
  ...["POST", "PUT", "DELETE", "PATCH", "CONNECT", "TRACE", "get\0", "GET /closed", "GET\r\nX: 1", "PRI"].map(
    (method) => ({
      url: "https://$API/open",
      method,
    }),
  ),
  ...[
    ["Authorization", "Bearer mine"],
    ["authorization ", "Bearer mine"],
    ["Cookie", "a=1"],
    ["Host", "evil.example"],
    ["Content-Length", "0"],
    ["Transfer-Encoding", "chunked"],
    ["transfer_encoding", "chunked"],
    ["Connection", "upgrade"],
    ["Upgrade", "h2c"],
    ["Proxy-Authorization", "Basic x"],
    ["Sec-Fetch-Site", "same-origin"],
    ["X-HTTP-Method-Override", "DELETE"],
    ["X-Original-URL", "/closed"],
    ["X-Rewrite-URL", "/closed"],
    ["X-Forwarded-Host", "evil.example"],
    ["X-A", "1\r\nAuthorization: Bearer mine"],
    ["X-A\r\nHost", "evil.example"],
    ["X-A", "1\nHost: evil.example"],
    ["X-A", "1\0"],
  ].map((header) => ({ url: "https://$API/open", headers: [header] })),
  ...[
    "https://$TLS/open",
    "http://$HTTP/open",
    "//$TLS/open",
    "\\\\$TLS\\open",
    "http://169.254.169.254/latest/meta-data",
    "https://user@$API/open",
    "/closed",
    "../closed",
    "/open/..%2fclosed",
    "/open/..;/closed",
    "/open\u00a0\t/../closed",
  ].flatMap((to) =>
    [301, 302, 303, 307, 308].map((status) => ({
      url: `https://$API/open?status=${status}&to=${encodeURIComponent(to)}`,
    })),
  ),
  { url: ["https://$TLS/open"] },
  { url: { toString: "https://$TLS/open" } },
  { url: "https://$API/open", method: ["POST"] },
  { url: "https://$API/open", headers: [["X-A", { toString: "1" }]] },
  { url: "https://$API/open", headers: { Host: "evil.example" } },
  { url: "https://$API/open", headers: [["X-A"]] },
  { url: "https://$API/open", body: "GET /closed HTTP/1.1\r\nHost: x\r\n\r\n" },
  { url: "https://$API/open", origin: "https://$TLS" },
  { url: "https://$API/open", redirect: "anything" },
  { url: "https://$API/open", body: { file: "../../etc/passwd" } },
  { url: "https://$API/open", __proto__: { method: "POST" } },
];

describe.each(["typescript-process", "typescript-ivm"])("%s", (environmentId) => {
  let on: ApprovalsServer;
  beforeAll(async () => {
    on = await startApprovalsServer({
      environments: BUILTIN_MODULES.filter(({ type, id }) => type === "environment" || id === "http"),
      environment: { CYRNEL_EGRESS_ALLOW: "127.0.0.0/8" },
    });
    await on.server.post(`/modules/${environmentId}/enabled`, { enabled: true });
    const rule = { origins: [`https://127.0.0.1:${api.port}`], pathPrefix: "/open", methods: ["GET"] };
    const rules = [{ ...rule, name: "read", auth: { type: "bearer" }, redirects: "same-origin" }];
    const content = JSON.stringify({ rules });
    for (const answer of [
      await on.server.post("/services", { id: "web", adapter: "http", content }),
      await on.server.patch("/services/web/secrets", [{ op: "add", path: "/read", value: SECRET }]),
      await on.server.post("/services/web/enabled", { enabled: true }),
    ]) {
      expect(answer.status, answer.text).toBeLessThan(300);
    }
  });
  beforeEach(() => {
    allowed.length = 0;
    forbidden.length = 0;
  });
  afterAll(() => on?.[Symbol.asyncDispose]());

  const run = async (code: string, body: object = {}) =>
    (await on.agent.send("POST", "/processes", { block: true, code, ...body })).body;

  const fill = (text: string) =>
    text
      .replaceAll("$API", `127.0.0.1:${api.port}`)
      .replaceAll("$PORT", String(api.port))
      .replaceAll("$TLS", `127.0.0.1:${others[0]?.port}`)
      .replaceAll("$HTTP", `127.0.0.1:${others[1]?.port}`);

  test("no attempt reaches what no rule allows", async () => {
    const attempts = JSON.parse(fill(JSON.stringify(ATTEMPTS))) as object[];
    const record = await run(
      `const told = [];
      for (const parameters of cyrnel.input) {
        const ways = [
          () => tools.web.read(parameters),
          () => cyrnel.services.web.tools.read.invoke(parameters),
          async () => { const answer = await fetch(parameters.url, parameters); return { status: answer.status, text: await answer.text() }; },
        ];
        for (const way of ways) told.push(await (async () => JSON.stringify(await way()))().catch((error) => error.name + ": " + error.message));
      }
      return told;`,
      { input: attempts },
    );
    expect(record.error ?? null).toBeNull();
    expect(record.result.length).toBe(attempts.length * 3);
    expect(forbidden).toEqual([]);
    for (const { method, url, headers, body } of allowed) {
      expect([method, body]).toEqual(["GET", ""]);
      expect(url).toMatch(/^\/open(\/|\?|$)/);
      expect(headers.host).toBe(`127.0.0.1:${api.port}`);
      expect(headers.authorization).toBe(`Bearer ${SECRET}`);
      const names = Object.keys(headers).filter(
        (name) => !["host", "connection", "authorization"].includes(name),
      );
      for (const name of names) expect(name).toMatch(/^(accept.*|user-agent|sec-fetch-mode|x-a)$/);
    }
    // The redirects come to the origin, and end there.
    expect(allowed.length).toBeGreaterThan(50);
    expect(JSON.stringify(record)).not.toContain(SECRET);
  });

  test("the secret is in no answer: text, bytes, headers, a saved file, or what is left of it", async () => {
    const base = `https://127.0.0.1:${api.port}/open`;
    const record = await run(
      `const base = ${JSON.stringify(base)};
      const texts = [await tools.web.read({ url: base }), await tools.web.read({ url: base + "/echo" }), await tools.web.read({ url: base + "/bytes" })];
      const large = await tools.web.read({ url: base + "/large" }, { saveAs: "http/1" });
      const bytes = await cyrnel.files.read("http/1");
      return [texts, large.body, Array.from(bytes.slice(1_500_000), (byte) => String.fromCharCode(byte)).join(""), atob(texts[2].body.base64).slice(2)];`,
    );
    expect(record.error ?? null).toBeNull();
    const [texts, large, tail, bytes] = record.result;
    expect(JSON.stringify(record)).not.toContain(SECRET);
    expect(JSON.stringify(texts)).not.toContain(Buffer.from(SECRET).toString("base64").slice(4, 20));
    expect([tail, bytes]).toEqual(["Bearer [secret]", "Bearer [secret]"]);
    expect(large).toEqual({ file: "http/1", size: 1_500_000 + "Bearer [secret]".length });
    const saved = await on.server.get(`/processes/${record.id}/artifacts/http/1`);
    expect(saved.text).not.toContain(SECRET);
    const { calls } = (await on.server.get(`/processes/${record.id}/calls`)).body;
    expect(JSON.stringify(calls)).not.toContain(SECRET);
  });

  test("a file of the workspace is sent as it was, and only by its name there", async () => {
    const record = await run(
      `const tell = (parameters) => tools.web.read(parameters).then(() => "sent", (error) => error.code);
      return [await tell({ url: "https://127.0.0.1:${api.port}/open", body: { file: "/etc/passwd" } }), await tell({ url: "https://127.0.0.1:${api.port}/open", method: "GET", body: "x" })];`,
    );
    expect(record.result).toEqual(["file_not_found", "invalid_parameters"]);
    expect(allowed).toEqual([]);
  });
});
