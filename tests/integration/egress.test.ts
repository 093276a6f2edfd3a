import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, LookupFunction } from "node:net";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { createDownload, type Download } from "#api/egress/download.ts";
import { parseEgressEntries } from "#api/egress/entries.ts";
import { createGuardedFetch, type GuardedFetch } from "#api/egress/fetch.ts";
import { SELF_SIGNED } from "./harness/self-signed.ts";

let opened = new AsyncDisposableStack();
afterEach(async () => {
  await opened.disposeAsync();
  opened = new AsyncDisposableStack();
});

async function serve(
  handler: RequestListener,
  host = "127.0.0.1",
): Promise<{ port: number; server: Server; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  opened.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, server, requests };
}

interface Resolver {
  lookup: LookupFunction;
  asked: string[];
}

/** Answers names from a table; each question takes the next of a name's answers, the last one for ever. */
function resolver(table: Record<string, string[][]>): Resolver {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, options, callback) => {
    asked.push(hostname);
    const answers = table[hostname];
    const answer = answers && (answers.length > 1 ? answers.shift() : answers[0]);
    if (!answer)
      return callback(
        Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: "ENOTFOUND" }),
        "",
        0,
      );
    const all = answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    setImmediate(() =>
      options.all ? callback(null, all as never) : callback(null, all[0]?.address ?? "", all[0]?.family),
    );
  };
  return { lookup, asked };
}

function guarded(allow: string, options: { lookup?: LookupFunction; deny?: string } = {}): GuardedFetch {
  const rules = {
    allow: parseEgressEntries(allow).entries,
    deny: parseEgressEntries(options.deny ?? "").entries,
  };
  return opened.use(createGuardedFetch(rules, options.lookup ? { lookup: options.lookup } : {}));
}

function downloader(allow: string, options: { lookup?: LookupFunction; deny?: string } = {}): Download {
  return createDownload(guarded(allow, options));
}

const text = (response: ServerResponse, body: string | Buffer, headers: Record<string, string> = {}) => {
  response.writeHead(200, { "content-type": "text/plain", ...headers });
  response.end(body);
};

describe("the guarded fetch", () => {
  test("refuses loopback by address and by name, without a connection, and says which rule it was", async () => {
    const { port, server } = await serve((_, response) => text(response, "never"));
    let connections = 0;
    server.on("connection", () => {
      connections += 1;
    });
    const fetch = guarded("");
    for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "127.1"]) {
      const error = await fetch(`http://${host}:${port}/`).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "egress_refused" });
      expect((error as Error).message).toContain("CYRNEL_EGRESS_ALLOW");
    }
    expect(connections).toBe(0);
  });

  test("is fetch for an allowed address: methods, bodies, headers, FormData, Request", async () => {
    const { port } = await serve((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () =>
        text(response, `${request.method} ${request.headers["x-a"]} ${Buffer.concat(chunks)}`),
      );
    });
    const fetch = guarded("127.0.0.1");
    const url = `http://127.0.0.1:${port}/`;
    expect(await (await fetch(url)).text()).toBe("GET undefined ");
    expect(await (await fetch(url, { method: "PUT", body: "x", headers: { "x-a": "1" } })).text()).toBe(
      "PUT 1 x",
    );
    expect(await (await fetch(new Request(url, { method: "POST", body: "y" }))).text()).toBe(
      "POST undefined y",
    );
    const form = new FormData();
    form.set("file", new File(["content"], "a.txt"));
    const answer = await (await fetch(url, { method: "POST", body: form })).text();
    expect(answer).toContain('name="file"; filename="a.txt"');
    expect(answer).toContain("content");
  });

  test("a dispatcher of the caller's own is not used", async () => {
    const { port } = await serve((_, response) => text(response, "never"));
    const fetch = guarded("");
    const used: string[] = [];
    const dispatcher = { dispatch: () => used.push("used") };
    await expect(
      fetch(`http://127.0.0.1:${port}/`, { dispatcher } as unknown as RequestInit),
    ).rejects.toMatchObject({ code: "egress_refused" });
    const error = await fetch(
      new Request(`http://localhost:${port}/`, { dispatcher } as unknown as RequestInit),
    ).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "egress_refused" });
    expect(used).toEqual([]);
  });

  test("connects to the address that was checked, although the name has another one a moment later", async () => {
    const allowed = await serve(
      (_, response) => text(response, "allowed", { connection: "close" }),
      "127.0.0.2",
    );
    const { lookup, asked } = resolver({ "rebind.example": [["127.0.0.2"], ["127.0.0.1"]] });
    const fetch = guarded("127.0.0.2", { lookup });
    const url = `http://rebind.example:${allowed.port}/`;
    expect(await (await fetch(url)).text()).toBe("allowed");
    expect(asked).toEqual(["rebind.example"]);
    await expect(fetch(url)).rejects.toMatchObject({
      code: "egress_refused",
      message: expect.stringContaining("127.0.0.1"),
    });
    expect(asked).toHaveLength(2);
  });

  test("of a name with several addresses it uses the allowed ones only", async () => {
    const allowed = await serve((_, response) => text(response, "allowed"), "127.0.0.2");
    const { lookup } = resolver({
      "mixed.example": [["169.254.169.254", "127.0.0.1", "::1", "127.0.0.2"]],
      "bad.example": [["10.0.0.1", "169.254.169.254"]],
      "empty.example": [[]],
    });
    const fetch = guarded("127.0.0.2", { lookup });
    expect(await (await fetch(`http://mixed.example:${allowed.port}/`)).text()).toBe("allowed");
    for (const host of ["bad.example", "empty.example"]) {
      await expect(fetch(`http://${host}/`)).rejects.toMatchObject({ code: "egress_refused" });
    }
  });

  test("checks each redirect that fetch follows", async () => {
    const inner = await serve((_, response) => text(response, "internal secret"), "127.0.0.1");
    const outer = await serve((request, response) => {
      const target = new URL(request.url ?? "/", "http://x").searchParams.get("to") ?? "";
      response.writeHead(302, { location: target });
      response.end();
    }, "127.0.0.2");
    const { lookup } = resolver({ "inner.example": [["127.0.0.1"]], "denied.example": [["127.0.0.2"]] });
    const fetch = guarded("127.0.0.2", { lookup, deny: "denied.example" });
    for (const to of [
      `http://127.0.0.1:${inner.port}/`,
      `http://2130706433:${inner.port}/`,
      `http://inner.example:${inner.port}/`,
      `http://[::ffff:7f00:1]:${inner.port}/`,
      `http://denied.example:${outer.port}/`,
      "http://169.254.169.254/latest/meta-data/",
    ]) {
      await expect(
        fetch(`http://127.0.0.2:${outer.port}/?to=${encodeURIComponent(to)}`),
      ).rejects.toMatchObject({ code: "egress_refused" });
    }
    expect(inner.requests).toHaveLength(0);
    await expect(fetch(`http://127.0.0.2:${outer.port}/?to=file:///etc/passwd`)).rejects.toThrow();
  });

  test("keeps connections and uses them again; disposing ends them", async () => {
    const { port, server } = await serve((_, response) => text(response, "x"));
    let connections = 0;
    server.on("connection", () => {
      connections += 1;
    });
    const fetch = guarded("127.0.0.1");
    for (let call = 0; call < 20; call += 1) await (await fetch(`http://127.0.0.1:${port}/`)).text();
    expect(connections).toBeLessThan(5);
    await fetch[Symbol.asyncDispose]();
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });

  test("aborting closes the connection of a slow server at once", async () => {
    const gone = Promise.withResolvers<void>();
    const { port } = await serve((request) => void request.socket.once("close", () => gone.resolve()));
    const controller = new AbortController();
    const call = guarded("127.0.0.1")(`http://127.0.0.1:${port}/`, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("killed")), 50);
    await expect(call).rejects.toThrow("killed");
    await gone.promise;
  });

  test("an https server whose certificate nobody vouches for is refused", async () => {
    const server = createTlsServer(SELF_SIGNED, (_, response) => text(response, "never"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    opened.defer(() => void server.close());
    const { lookup } = resolver({ "tls.example": [["127.0.0.1"]] });
    const fetch = guarded("127.0.0.1", { lookup });
    const { port } = server.address() as AddressInfo;
    await expect(fetch(`https://tls.example:${port}/`)).rejects.toMatchObject({
      cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
    });
  });
});

describe("a download", () => {
  const LIMITS = { maxBytes: 10_000 };

  test("gives bytes, type and where they came from after redirects", async () => {
    const { port, requests } = await serve((request, response) => {
      if (request.url === "/file") return text(response, "content", { "content-type": "application/json" });
      response.writeHead(302, { location: request.url === "/a" ? "/b" : "/file" });
      response.end();
    });
    const download = downloader("127.0.0.1");
    const got = await download(`http://127.0.0.1:${port}/a#x`, { ...LIMITS, accept: "application/json" });
    expect(got).toMatchObject({ contentType: "application/json", finalUrl: `http://127.0.0.1:${port}/file` });
    expect(got.bytes.toString()).toBe("content");
    expect(requests[0]?.headers.accept).toBe("application/json");
  });

  test("follows five redirects and no sixth", async () => {
    const { port } = await serve((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) return text(response, "end");
      response.writeHead(307, { location: `/${left - 1}` });
      response.end("moved");
    });
    const download = downloader("127.0.0.1");
    expect((await download(`http://127.0.0.1:${port}/5`, LIMITS)).bytes.toString()).toBe("end");
    await expect(download(`http://127.0.0.1:${port}/6`, LIMITS)).rejects.toMatchObject({
      code: "download_failed",
      status: 502,
      message: expect.stringContaining("5 redirects"),
    });
  });

  test.each([
    ["to a refused address", "http://127.0.0.1:1/", "egress_refused"],
    ["to another scheme", "file:///etc/passwd", "egress_refused"],
    ["to data", "data:text/plain,hello", "egress_refused"],
    ["with credentials", "http://user:pw@127.0.0.2/", "egress_refused"],
    ["to no URL", "http://[broken", "download_failed"],
  ])("a redirect %s ends it", async (_, location, code) => {
    const { port } = await serve((_request, response) => {
      response.writeHead(302, { location });
      response.end();
    }, "127.0.0.2");
    const error = await downloader("127.0.0.2")(`http://127.0.0.2:${port}/`, LIMITS).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code });
    expect((error as Error).message).not.toContain("pw@");
  });

  test.each([
    ["by its length", (response: ServerResponse) => text(response, Buffer.alloc(20_000))],
    [
      "without a length",
      (response: ServerResponse) => {
        response.writeHead(200);
        const more = () => {
          while (response.write(Buffer.alloc(4096)));
          response.once("drain", more);
        };
        response.on("error", () => {});
        more();
      },
    ],
    [
      "gzip",
      (response: ServerResponse) =>
        text(response, gzipSync(Buffer.alloc(50_000_000)), { "content-encoding": "gzip" }),
    ],
    [
      "zstd",
      (response: ServerResponse) =>
        text(response, zstdCompressSync(Buffer.alloc(50_000_000)), { "content-encoding": "zstd" }),
    ],
    [
      "gzip in gzip",
      (response: ServerResponse) =>
        text(response, gzipSync(gzipSync(Buffer.alloc(50_000_000))), { "content-encoding": "gzip, gzip" }),
    ],
  ])("more than the limit is refused: %s", async (_, handler) => {
    const { port } = await serve((_request, response) => handler(response));
    await expect(downloader("127.0.0.1")(`http://127.0.0.1:${port}/`, LIMITS)).rejects.toMatchObject({
      code: "payload_too_large",
      status: 413,
    });
  });

  test("as many bytes as the limit are fine, compressed or not", async () => {
    const { port } = await serve((request, response) =>
      request.url === "/gzip"
        ? text(response, gzipSync(Buffer.alloc(10_000)), { "content-encoding": "gzip" })
        : text(response, Buffer.alloc(10_000)),
    );
    const download = downloader("127.0.0.1");
    for (const path of ["", "gzip"])
      expect((await download(`http://127.0.0.1:${port}/${path}`, LIMITS)).bytes).toHaveLength(10_000);
  });

  test("all of it together may take so long and no longer: headers, a body that drips, redirects without end", async () => {
    const { port } = await serve((request, response) => {
      if (request.url === "/silent") return;
      if (request.url === "/drip") {
        response.writeHead(200);
        const timer = setInterval(() => response.write("."), 20);
        response.once("close", () => clearInterval(timer));
        return;
      }
      setTimeout(() => {
        response.writeHead(302, { location: "/again" });
        response.end();
      }, 100);
    });
    const download = downloader("127.0.0.1");
    for (const path of ["silent", "drip", "again"]) {
      await expect(
        download(`http://127.0.0.1:${port}/${path}`, { ...LIMITS, maxMs: 300, maxRedirects: 1000 }),
      ).rejects.toMatchObject({
        code: "download_failed",
        message: expect.stringContaining("300 ms"),
      });
    }
  });

  test("a failing server, a name without address, a closed port: download_failed with what was wrong", async () => {
    const { port, server } = await serve((_, response) => {
      response.writeHead(404);
      response.end("no");
    });
    const { lookup } = resolver({});
    const download = downloader("127.0.0.1", { lookup });
    const message = async (url: string) => {
      const error = await download(url, LIMITS).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "download_failed", status: 502 });
      return (error as Error).message;
    };
    expect(await message(`http://127.0.0.1:${port}/`)).toContain("status 404");
    expect(await message("http://nowhere.example/")).toContain("ENOTFOUND");
    expect(await message("nonsense")).toContain("not a URL");
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(await message(`http://127.0.0.1:${port}/`)).toContain("ECONNREFUSED");
  });

  test("gives up when its caller does", async () => {
    const { port } = await serve(() => {});
    const controller = new AbortController();
    const call = downloader("127.0.0.1")(`http://127.0.0.1:${port}/`, {
      ...LIMITS,
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(new Error("shutting down")), 30);
    await expect(call).rejects.toThrow("shutting down");
  });

  test("broken compression is a failed download", async () => {
    const { port } = await serve((_, response) =>
      text(response, "this is no gzip", { "content-encoding": "gzip" }),
    );
    await expect(downloader("127.0.0.1")(`http://127.0.0.1:${port}/`, LIMITS)).rejects.toMatchObject({
      code: "download_failed",
    });
  });
});
