/** Answers: bodies of every kind, to the script and to its workspace; and servers that are slow, endless, huge, broken or gone. */

import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { type Respond, startService, startTarget } from "./service.ts";

const MEBIBYTE = 1024 * 1024;

async function start(respond: Respond, more: object = {}, config: Record<string, unknown> = {}) {
  const target = await startTarget(respond);
  const rule = { name: "rule", origins: [target.origin], methods: ["GET", "HEAD", "POST"], ...more };
  const service = await startService([rule], { config: { timeoutMs: 5000, ...config } });
  return {
    target,
    url: `${target.origin}/`,
    call: service.call,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
    },
  };
}

/** Saves as the host does, and keeps what came. */
function saving() {
  const pieces: Uint8Array[] = [];
  let type = "";
  return {
    bytes: () => Buffer.concat(pieces),
    type: () => type,
    async save(contentType: string, bytes: AsyncIterable<Uint8Array>) {
      type = contentType;
      for await (const piece of bytes) pieces.push(piece);
      return { file: "http/1", size: Buffer.concat(pieces).length, contentType };
    },
  };
}

test.each<[string, Buffer, object]>([
  ["text/plain", Buffer.from("grüß"), { text: "grüß" }],
  ["text/plain", Buffer.from("\ufeffbom"), { text: "\ufeffbom" }],
  ["text/plain", Buffer.from("grüß", "latin1"), { base64: Buffer.from("grüß", "latin1").toString("base64") }],
  ["image/png", Buffer.from([0x89, 0x50]), { base64: "iVA=" }],
  ["image/png", Buffer.from("<script>"), { text: "<script>" }],
  ["application/json", Buffer.from("{not json"), { text: "{not json" }],
  ["not a type\t", Buffer.from("x"), { text: "x" }],
  ["text/plain", Buffer.from(""), { text: "" }],
])("a body of %j says what it is by its bytes", async (type, bytes, body) => {
  await using on = await start((_request, response) => {
    response.writeHead(200, { "content-type": type, "set-cookie": "session=1", "x-kept": "1" }).end(bytes);
  });
  const answer = await on.call({ url: on.url });
  expect(answer.body).toEqual(body);
  const names = answer.headers.map(([name]) => name);
  expect(names).toContain("x-kept");
  for (const hidden of ["set-cookie", "connection", "keep-alive", "transfer-encoding"]) {
    expect(names).not.toContain(hidden);
  }
});

test.each<[number, string]>([
  [204, "GET"],
  [304, "GET"],
  [200, "HEAD"],
])("%i to a %s has no body", async (status, method) => {
  await using on = await start((_request, response) => void response.writeHead(status).end());
  expect(await on.call({ url: on.url, method })).toMatchObject({ status, body: null });
});

test("an error of the server is an answer", async () => {
  await using on = await start((_request, response) => void response.writeHead(503, "Not Now").end("later"));
  expect(await on.call({ url: on.url })).toMatchObject({
    status: 503,
    statusText: "Not Now",
    body: { text: "later" },
  });
});

test("above 1 MiB a body goes to the workspace, whatever its status; up to there it comes inline", async () => {
  await using on = await start((request, response) => {
    const bytes = Buffer.alloc(Number(request.url.slice(1)), 7);
    response
      .writeHead(request.url === `/${MEBIBYTE + 1}` ? 500 : 200, { "content-type": "image/x" })
      .end(bytes);
  });
  const small = saving();
  const inline = await on.call({ url: `${on.url}${MEBIBYTE}` }, { save: small.save });
  expect([inline.body?.text?.length, small.bytes().length]).toEqual([MEBIBYTE, 0]);
  const large = saving();
  const saved = await on.call({ url: `${on.url}${MEBIBYTE + 1}` }, { save: large.save });
  expect(saved).toMatchObject({ status: 500, body: { file: "http/1", size: MEBIBYTE + 1 } });
  expect([large.type(), large.bytes().equals(Buffer.alloc(MEBIBYTE + 1, 7))]).toEqual(["image/x", true]);
  const whole = await on.call({ url: `${on.url}${2 * MEBIBYTE}` });
  expect(whole.body?.text?.length).toBe(2 * MEBIBYTE);
});

test.each([
  ["gzip", gzipSync(Buffer.alloc(30 * MEBIBYTE))],
  ["br", brotliCompressSync(Buffer.alloc(30 * MEBIBYTE))],
])("a %s bomb ends at the limit, inline and saved", async (encoding, bomb) => {
  await using on = await start(
    (_request, response) => void response.writeHead(200, { "content-encoding": encoding }).end(bomb),
    { maxResponseBytes: 2 * MEBIBYTE },
  );
  expect(bomb.length).toBeLessThan(100_000);
  await expect(on.call({ url: on.url })).rejects.toMatchObject({ code: "answer_too_large", status: 200 });
  const { save, bytes } = saving();
  await expect(on.call({ url: on.url }, { save })).rejects.toMatchObject({ code: "answer_too_large" });
  expect(bytes().length).toBeLessThanOrEqual(2 * MEBIBYTE);
});

const PLAIN = Buffer.from("plain");
test.each<[string, Buffer]>([
  ["gzip", gzipSync(PLAIN)],
  ["X-GZIP", gzipSync(PLAIN)],
  ["br", brotliCompressSync(PLAIN)],
  ["zstd", zstdCompressSync(PLAIN)],
  ["deflate", deflateSync(PLAIN)],
  ["gzip, br", brotliCompressSync(gzipSync(PLAIN))],
  ["identity", PLAIN],
])("an answer in %s is decoded", async (encoding, bytes) => {
  await using on = await start(
    (_request, response) => void response.writeHead(200, { "content-encoding": encoding }).end(bytes),
  );
  expect((await on.call({ url: on.url })).body).toEqual({ text: "plain" });
});

test.each(["compress", "aws-chunked", "gzip, identity", "gzip,", "rot13, gzip"])(
  "an answer in %j would hide what it holds, and is refused",
  async (encoding) => {
    await using on = await start(
      (_request, response) =>
        void response.writeHead(200, { "content-encoding": encoding }).end(gzipSync(PLAIN)),
    );
    await expect(on.call({ url: on.url })).rejects.toMatchObject({ code: "unknown_coding", status: 200 });
    const { save, bytes } = saving();
    await expect(on.call({ url: on.url }, { save })).rejects.toMatchObject({ code: "unknown_coding" });
    expect(bytes().length).toBe(0);
    expect(await on.call({ url: on.url, method: "HEAD" })).toMatchObject({ status: 200, body: null });
  },
);

test("an endless answer is cut off, and its connection closed", async () => {
  await using on = await start(
    (_request, response) => {
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        if (!response.destroyed) response.once("drain", write);
      };
      write();
    },
    { maxResponseBytes: MEBIBYTE },
  );
  await expect(on.call({ url: on.url })).rejects.toMatchObject({ code: "answer_too_large" });
  await expect.poll(() => on.target.abandoned).toBe(1);
});

test("a slow answer ends with the time of the service, a cancelled call at once", async () => {
  await using on = await start((_request, response) => void response.write("half"), {}, { timeoutMs: 300 });
  await expect(on.call({ url: on.url })).rejects.toMatchObject({ code: "timeout" });
  const aborter = new AbortController();
  const call = on.call({ url: on.url }, { signal: aborter.signal });
  setTimeout(() => aborter.abort(), 50);
  await expect(call).rejects.toMatchObject({ code: "aborted" });
  await expect.poll(() => on.target.abandoned).toBe(2);
});

/** A server of raw bytes, for what no HTTP server would send. */
async function startRaw(answer: string | Buffer, thenClose = true) {
  const seen: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (data) => {
      seen.push(data.toString("latin1"));
      socket.write(answer);
      if (thenClose) setTimeout(() => socket.destroy(), 20);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service = await startService([{ name: "rule", origins: [origin], methods: ["GET", "POST"] }], {
    config: { timeoutMs: 2000 },
  });
  return {
    origin,
    seen,
    call: service.call,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      server.close();
    },
  };
}

test.each([
  ["a length that is too large", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"],
  ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nhalf"],
  [
    "a length and chunks",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["a broken chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n"],
  ["no HTTP", "SSH-2.0-OpenSSH_9.0\r\n"],
  ["a header without end", `HTTP/1.1 200 OK\r\nX-Large: ${"x".repeat(200_000)}`],
  ["headers without end", `HTTP/1.1 200 OK\r\n${"X-A: 1\r\n".repeat(40_000)}`],
  ["gzip that is none", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nhalf"],
  ["nothing", ""],
])("an answer with %s is no answer", async (_name, answer) => {
  await using on = await startRaw(answer);
  await expect(on.call({ url: on.origin })).rejects.toMatchObject({ code: "unreachable" });
});

test("what follows an answer is no answer to the next request", async () => {
  const first = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  await using on = await startRaw(`${first}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged`);
  const told = async () =>
    on.call({ url: on.origin }).then(
      ({ body }) => body?.text,
      (error) => error.code,
    );
  for (let count = 0; count < 3; count += 1) {
    expect(["ok", "unreachable"]).toContain(await told());
    await sleep(30);
  }
});

test("one request is one request on the wire", async () => {
  await using on = await startRaw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  const body = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  await on.call({ url: `${on.origin}/a?b`, method: "POST", body });
  const [head = "", ...rest] = on.seen.join("").split("\r\n\r\n");
  expect(head.split("\r\n")[0]).toBe("POST /a?b HTTP/1.1");
  expect(head.toLowerCase()).toContain(`content-length: ${body.length}`);
  expect(head.toLowerCase()).not.toContain("transfer-encoding");
  expect(rest.join("\r\n\r\n")).toBe(body);
});

test("a server that is gone, and one that egress refuses, say so", async () => {
  const target = await startTarget();
  await target[Symbol.asyncDispose]();
  await using service = await startService([{ name: "rule", origins: [target.origin], methods: ["GET"] }]);
  await expect(service.call({ url: `${target.origin}/x?token=1` })).rejects.toMatchObject({
    code: "unreachable",
    message: `GET ${target.origin}/x got no response (ECONNREFUSED).`,
  });
});

test("an event stream that goes on is what came of it in time, with a warning", async () => {
  await using on = await start(
    (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const timer = setInterval(() => response.write("data: x\n\n"), 20);
      response.on("close", () => clearInterval(timer));
    },
    {},
    { maxStreamMs: 200 },
  );
  const warnings: string[] = [];
  const warn = ({ code }: { code: string }) => void warnings.push(code);
  const answer = (await on.call({ url: on.url }, { warn })) as { body: { text: string } };
  expect(answer.body.text).toMatch(/^data: x\n\n/);
  expect(warnings).toEqual(["answer_odd"]);
});
