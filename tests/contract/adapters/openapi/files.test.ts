/** Files of a workspace in requests, and answers that become files: streamed, repeated where a request is, never half there. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { CallFiles, InvokeInput } from "#sdk";
import { documentOf, startServer, startService, type TestServer } from "./service.ts";

const MEBIBYTE = 1024 * 1024;
/** More than the buffers of two sockets on loopback hold. */
const LARGE = 64 * MEBIBYTE;
const MAX_BUFFERED = 24 * MEBIBYTE;

let streamed = 0;
afterEach(() => {
  streamed = 0;
});

/** A workspace of files whose content is made as it is read. */
function workspace(sizes: Record<string, number>): CallFiles {
  return {
    async open(name) {
      const size = sizes[name];
      if (size === undefined) throw Object.assign(new Error(`no ${name}`), { code: "file_not_found" });
      return {
        size,
        contentType: "text/csv",
        async *stream() {
          for (let at = 0; at < size; at += MEBIBYTE) {
            const piece = Buffer.alloc(Math.min(MEBIBYTE, size - at), "x");
            streamed += piece.length;
            yield piece;
          }
        },
      };
    },
  };
}

const binary = (contentType = "application/octet-stream") => ({
  requestBody: { content: { [contentType]: { schema: { type: "string", format: "binary" } } } },
});
const multipart = {
  requestBody: {
    content: {
      "multipart/form-data": {
        schema: {
          type: "object",
          properties: {
            note: { type: "string" },
            meta: { type: "object" },
            file: { type: "string", format: "binary" },
            files: { type: "array", items: { type: "string", format: "binary" } },
          },
        },
      },
    },
  },
};

async function call(
  server: TestServer,
  operation: Record<string, unknown>,
  input: Partial<InvokeInput>,
  setup: { method?: string; config?: Record<string, unknown> } = {},
) {
  const document = documentOf("/x", operation, {}, setup.method ?? "post");
  await using service = await startService(document, {
    server,
    ...(setup.config && { config: setup.config }),
  });
  return (await service.adapter.invoke({
    serviceId: "api",
    toolId: "call",
    parameters: {},
    ...input,
  })) as { status: number; headers: Record<string, string>; body: unknown };
}

test("a body that is a file has its size and type", async () => {
  await using server = await startServer();
  const files = workspace({ "in/a.csv": 3 * MEBIBYTE + 1, "empty.csv": 0 });
  await call(server, binary(), { parameters: { body: { file: "in/a.csv" } }, files });
  await call(server, binary("image/png"), { parameters: { body: { file: "empty.csv" } }, files });
  expect(server.received.map(({ body, headers }) => [body.length, headers["content-length"]])).toEqual([
    [3 * MEBIBYTE + 1, String(3 * MEBIBYTE + 1)],
    [0, "0"],
  ]);
  expect(server.received.map(({ headers }) => headers["content-type"])).toEqual(["text/csv", "image/png"]);
  expect(server.received[0]?.headers["transfer-encoding"]).toBeUndefined();
});

test("parts of a multipart body are files, texts and bytes; names cannot add a line", async () => {
  await using server = await startServer();
  const files = workspace({ "in/a.csv": MEBIBYTE + 1, 'q"uo\te.csv': 2 });
  await call(server, multipart, {
    parameters: {
      body: {
        note: "a\nb",
        meta: { file: "in/a.csv" },
        file: { file: "in/a.csv", contentType: "x\r\nEvil: 1" },
        files: [
          { file: 'q"uo\te.csv', filename: 'a"\r\nEvil: 1', contentType: "image/png" },
          { base64: "AAE=" },
        ],
      },
    },
    files,
  });
  const [sent] = server.received;
  expect(sent?.headers["content-length"]).toBe(String(sent?.body.length));
  expect(sent?.body.toString("latin1")).not.toMatch(/^Evil/m);
  const form = await new Response(new Uint8Array(sent?.body ?? []), {
    headers: { "content-type": sent?.headers["content-type"] ?? "" },
  }).formData();
  expect([form.get("note"), form.get("meta")]).toEqual(["a\r\nb", '{"file":"in/a.csv"}']);
  const file = form.get("file") as File;
  expect([file.name, file.type, file.size]).toEqual(["a.csv", "text/csv", MEBIBYTE + 1]);
  const all = form.getAll("files") as File[];
  expect(all.map(({ type, size }) => [type, size])).toEqual([
    ["image/png", 2],
    ["application/octet-stream", 2],
  ]);
});

test("a redirect and a renewed token send the file again, from its beginning", async () => {
  await using server = await startServer(({ url, headers }, response) => {
    if (url === "/token") {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ access_token: `t${++tokens}`, token_type: "bearer", expires_in: 3600 }));
    } else if (headers.authorization === "Bearer t1") response.writeHead(401).end();
    else if (url === "/x") response.writeHead(307, { location: "/y" }).end();
    else response.end();
  });
  let tokens = 0;
  const scheme = {
    type: "oauth2",
    flows: { clientCredentials: { tokenUrl: `${server.url}/token`, scopes: {} } },
  };
  const document = documentOf(
    "/x",
    { ...binary(), security: [{ o: [] }] },
    { components: { securitySchemes: { o: scheme } } },
    "post",
  );
  await using service = await startService(document, {
    server,
    secrets: { o: { clientId: "a", clientSecret: "b" } },
  });
  const answer = await service.adapter.invoke({
    serviceId: "api",
    toolId: "call",
    parameters: { body: { file: "a" } },
    files: workspace({ a: MEBIBYTE }),
  });
  expect(answer).toMatchObject({ status: 200 });
  const uploads = server.received.filter(({ url }) => url !== "/token");
  expect(uploads.map(({ url, body }) => [url, body.length])).toEqual([
    ["/x", MEBIBYTE],
    ["/x", MEBIBYTE],
    ["/y", MEBIBYTE],
  ]);
});

test("a file that is not there, or that no script's call names, is a clear error; nothing is sent", async () => {
  await using server = await startServer();
  const parameters = { body: { file: "gone" } };
  await expect(call(server, binary(), { parameters, files: workspace({}) })).rejects.toMatchObject({
    code: "file_not_found",
  });
  await expect(call(server, binary(), { parameters })).rejects.toMatchObject({
    code: "invalid_parameters",
    message: expect.stringContaining("Only a script can send a file"),
  });
  expect(server.received).toEqual([]);
});

test("a server that does not read holds the file back: it is never in memory as a whole", async () => {
  for (const [operation, body] of [
    [binary(), { file: "large" }],
    [multipart, { note: "x", file: { file: "large" } }],
  ] as const) {
    streamed = 0;
    const reading = Promise.withResolvers<void>();
    let seen = 0;
    await using server = await startRaw(async (incoming, response) => {
      await reading.promise;
      for await (const piece of incoming) seen += piece.length;
      response.end();
    });
    const calling = call(server, operation, {
      parameters: { body },
      files: workspace({ large: LARGE }),
    });
    while (streamed === 0) await wait(5);
    // However long it is waited: no more than the buffers hold.
    await wait(300);
    expect(streamed).toBeLessThan(MAX_BUFFERED);
    reading.resolve();
    expect(await calling).toMatchObject({ status: 200 });
    expect([streamed, seen >= LARGE, seen < LARGE + 1000]).toEqual([LARGE, true, true]);
  }
});

/** A server that reads requests as the test wants it. */
async function startRaw(
  respond: (incoming: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<TestServer> {
  const server = createServer((incoming, response) => void respond(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    abandoned: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Takes what is saved, piece by piece. */
function saving(before?: () => Promise<void>) {
  const kept = { size: 0, type: "", isWhole: false };
  const save: NonNullable<InvokeInput["save"]> = async (type, bytes) => {
    kept.type = type;
    for await (const piece of bytes) {
      await before?.();
      kept.size += piece.length;
    }
    kept.isWhole = true;
    return { file: "out", size: kept.size, contentType: type };
  };
  return { kept, save };
}

test("an answer goes where the script wants it, whatever maxResponseBytes is, and no faster than it is taken", async () => {
  let written = 0;
  await using server = await startRaw(async (_incoming, response) => {
    response.writeHead(200, {
      "content-type": "text/html; charset=x",
      "content-disposition": 'attachment; filename="../../etc/passwd"',
    });
    while (written < LARGE) {
      const isTaken = response.write(Buffer.alloc(MEBIBYTE, "y"));
      written += MEBIBYTE;
      if (!isTaken) await new Promise((drained) => response.once("drain", drained));
    }
    response.end();
  });
  const taking = Promise.withResolvers<void>();
  const { kept, save } = saving(() => taking.promise);
  const calling = call(server, {}, { save }, { method: "get", config: { maxResponseBytes: 1000 } });
  while (written === 0) await wait(5);
  await wait(300);
  expect(written).toBeLessThan(MAX_BUFFERED);
  taking.resolve();
  const answer = await calling;
  expect(answer.body).toEqual({ file: "out", size: LARGE, contentType: "text/html; charset=x" });
  expect([kept.isWhole, answer.headers["content-disposition"]]).toEqual([
    true,
    'attachment; filename="../../etc/passwd"',
  ]);
});

test("an answer that breaks off is not saved; one that failed is thrown; one without a body is empty", async () => {
  await using server = await startServer(({ url }, response) => {
    if (url.endsWith("broken")) {
      response.writeHead(200, { "content-length": "100" });
      response.write("half");
      setTimeout(() => response.destroy(), 20);
    } else if (url.endsWith("missing")) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":"no"}');
    } else response.writeHead(204).end();
  });
  const ask = (way: string, save: InvokeInput["save"]) =>
    call(
      server,
      { parameters: [{ name: "q", in: "query", schema: { type: "string" } }] },
      { parameters: { query: { q: way } }, ...(save && { save }) },
      { method: "post" },
    );
  const broken = saving();
  await expect(ask("broken", broken.save)).rejects.toMatchObject({ code: "unreachable" });
  expect(broken.kept.isWhole).toBe(false);
  const missing = saving();
  await expect(ask("missing", missing.save)).rejects.toMatchObject({
    answer: { status: 404, body: { error: "no" } },
  });
  expect(missing.kept.type).toBe("");
  const empty = saving();
  expect(await ask("empty", empty.save)).toMatchObject({ status: 204, body: { file: "out", size: 0 } });
});

test("what a tool takes says that it takes files", async () => {
  await using server = await startServer();
  for (const operation of [binary(), multipart]) {
    await using service = await startService(documentOf("/x", operation, {}, "post"), { server });
    const text = JSON.stringify(service.definition.tools[0]?.inputSchema);
    expect(text).toContain('"required":["file"]');
    expect(text).toContain('"required":["base64"]');
  }
});
