/** Definitions and endpoints that lie, flood, stall and lure. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { hostGraphql, serve } from "./host.ts";
import { createRichServer, RICH_SDL } from "./schema.ts";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

/** A service whose endpoint does what the test says. */
async function prepare(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  settings: { config?: Record<string, unknown>; secrets?: Record<string, unknown> } = {},
) {
  const server = await serve(listener);
  const host = await hostGraphql();
  open.push(server, host);
  await host.install("s", { endpoint: server.url, sdl: RICH_SDL }, settings);
  return { server, host };
}

const answerWith =
  (body: string | Buffer, status = 200, headers: Record<string, string> = {}) =>
  (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body);
  };

describe("definitions", () => {
  test.each([
    ["nothing", "", "it is empty"],
    ["broken JSON", "{", "starts like JSON"],
    ["JSON without an endpoint or a schema", "{}", "neither an endpoint nor a schema"],
    [
      "both schemas",
      { endpoint: "http://h/", sdl: "a", introspection: { __schema: {} } },
      "both introspection and sdl",
    ],
    ["a misspelt key", { endpoint: "http://h/", url: 1 }, "url"],
    ["credentials in the URL", { endpoint: "http://u:hunter2@h/" }, "must not contain credentials"],
    ["another scheme", { endpoint: "file:///etc/passwd" }, "expected an http or https URL"],
    ["SDL that is none", "type Query {", "Syntax Error"],
    ["a page", "<html></html>", "Syntax Error"],
    ["an unknown type", "type Query { a: Nowhere }", "Nowhere"],
    ["no query type", "type Thing { a: Int }", "Query root type must be provided"],
    ["an input used as output", "input I { a: Int } type Query { a: I }", "must be Output Type"],
    [
      "an endless input",
      "input I { a: I! } type Query { a(i: I): Int }",
      "cannot be provided a finite value",
    ],
    [
      "an interface not kept",
      "interface N { id: ID! } type T implements N { x: Int } type Query { t: T }",
      "id",
    ],
    ["a reserved name", "type Query { __proto__: Int }", "__proto__"],
    ["an introspection of nothing", { __schema: {} }, "cannot be used"],
    [
      "an introspection that lies",
      {
        __schema: {
          queryType: { name: "Q" },
          types: [
            {
              kind: "OBJECT",
              name: "Q",
              interfaces: [],
              fields: [{ name: "a b", args: [], type: { kind: "SCALAR", name: "String" } }],
            },
          ],
        },
      },
      "cannot be used",
    ],
    ["depth without end", `type Query { a: ${"[".repeat(200_000)}Int }`, "nested too deeply"],
  ])("%s: refused, with what is wrong", async (_name, definition, message) => {
    await using host = await hostGraphql();
    const input = typeof definition === "string" ? definition : JSON.stringify(definition);
    const made = host.adapter.generateDefinition(input);
    await expect(made).rejects.toThrow(message);
    await expect(made).rejects.not.toThrow("hunter2");
  });

  test("directives of other tools, and definitions that are repeated, do no harm", async () => {
    await using host = await hostGraphql();
    const made = await host.adapter.generateDefinition(
      `extend schema @link(url: "https://specs.example/federation") type Query @shareable { a: Int @cost(weight: 5) a: Int }`,
    );
    expect(made.tools.map((tool) => tool.id)).toEqual(["a"]);
  });

  test("more fields than there may be tools are refused", async () => {
    await using host = await hostGraphql({ config: { maxTools: 10 } });
    const fields = Array.from({ length: 11 }, (_, n) => `f${n}: Int`).join(" ");
    await expect(host.adapter.generateDefinition(`type Query { ${fields} }`)).rejects.toThrow(
      "the limit is 10 (maxTools",
    );
  });

  test("a filter language of thousands of types is not copied into every tool", async () => {
    await using host = await hostGraphql();
    const count = 2000;
    const inputs = Array.from(
      { length: count },
      (_, n) => `input F${n} { next: F${(n + 1) % count} other: F${(n * 7) % count} a: Int }`,
    );
    const fields = Array.from({ length: 200 }, (_, n) => `q${n}(filter: F${n}): Int`);
    const made = await host.adapter.generateDefinition(
      `${inputs.join("\n")} type Query { ${fields.join("\n")} }`,
    );
    expect(made.tools).toHaveLength(200);
    expect(JSON.stringify(made.tools).length).toBeLessThan(10_000_000);
  });

  test("a large hostile schema does not stop the server while it is read", async () => {
    await using host = await hostGraphql();
    const types = Array.from(
      { length: 20_000 },
      (_, n) => `type T${n} { a: T${(n + 1) % 20_000} b: T${(n * 3) % 20_000} c: Int }`,
    );
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 5);
    const made = await host.adapter.generateDefinition(`${types.join("\n")} type Query { t: T0 }`);
    clearInterval(timer);
    expect(made.tools).toHaveLength(1);
    expect(ticks).toBeGreaterThan(20);
  });
});

describe("introspection", () => {
  test("an endpoint that does not tell its schema: said so, with what to do", async () => {
    const server = await serve(answerWith('{"errors":[{"message":"introspection is disabled"}]}', 400));
    open.push(server);
    await using host = await hostGraphql();
    await expect(host.install("s", { endpoint: server.url })).rejects.toThrow(
      /does not show its schema: introspection is disabled.*put "sdl" or "introspection" into the definition/,
    );
  });

  test("an old server that does not know the newer questions is asked the older ones", async () => {
    const yoga = createRichServer();
    let refused = 0;
    const server = await serve(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      if (body.includes("isOneOf")) {
        refused += 1;
        return answerWith('{"errors":[{"message":"Cannot query field isOneOf"}]}', 400)(request, response);
      }
      const answer = await yoga.fetch("http://yoga/graphql", {
        method: "POST",
        body,
        headers: { "content-type": "application/json" },
      });
      answerWith(await answer.text())(request, response);
    });
    open.push(server);
    await using host = await hostGraphql();
    const made = await host.install("s", { endpoint: server.url });
    expect([refused, made.tools.length]).toEqual([1, 19]);
  });

  test("one that wants credentials first: installed without tools, which are generated once it has them", async () => {
    const yoga = createRichServer();
    const server = await serve((request, response) => {
      if (request.headers.authorization === "Bearer right-token") return yoga(request, response);
      answerWith("who are you?", 401)(request, response);
    });
    open.push(server);
    await using host = await hostGraphql();
    const input = JSON.stringify({ endpoint: server.url });
    const locked = await host.adapter.generateDefinition(input);
    expect(locked.tools).toEqual([]);
    expect(locked.description).toContain("Set the secrets of this service, then POST /services/:id/sync");
    const made = await host.adapter.generateDefinition(input, {
      config: {},
      secrets: { bearerToken: "right-token" },
    });
    expect(made.tools).toHaveLength(19);
    await expect(
      host.adapter.generateDefinition(input, { config: {}, secrets: { bearerToken: "wrong-token" } }),
    ).rejects.toMatchObject({ status: 401 });
  });

  test("an answer without end, and one that never comes, are given up", async () => {
    const flood = await serve((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 32)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });
    const silent = await serve(() => {});
    open.push(flood, silent);
    await using host = await hostGraphql({
      config: { maxSchemaBytes: 1_000_000, introspectionTimeoutMs: 2000 },
    });
    await expect(host.install("s", { endpoint: flood.url })).rejects.toMatchObject({
      code: "graphql_too_large",
    });
    await expect(host.install("s", { endpoint: silent.url })).rejects.toMatchObject({
      code: "graphql_timeout",
    });
  });
});

describe("answers", () => {
  test.each([
    ["a page", "<html>hi</html>", 200, "graphql_bad_answer"],
    ["broken JSON", "{", 200, "graphql_bad_answer"],
    ["JSON of another kind", '{"hello":1}', 200, "graphql_bad_answer"],
    ["an array", "[]", 200, "graphql_bad_answer"],
    ["data that is no object", '{"data":5}', 200, "graphql_bad_answer"],
    ["data without the field", '{"data":{}}', 200, "graphql_bad_answer"],
    ["errors that are none", '{"errors":[]}', 200, "graphql_bad_answer"],
    ["null", "null", 200, "graphql_bad_answer"],
    ["nothing", "", 200, "graphql_bad_answer"],
    ["a server error", "stack trace", 500, "http_error"],
    ["a refusal", '{"message":"forbidden"}', 403, "http_error"],
    ["data with a status", '{"data":{"count":1}}', 500, "http_error"],
    ["errors with a status", '{"errors":[{"message":"no"}]}', 400, "graphql_error"],
  ])("%s: thrown, with what was found", async (_name, body, status, code) => {
    const { host } = await prepare(answerWith(body, status));
    const error = (await host.call("s", "count").catch((thrown) => thrown)) as Error & { status?: number };
    expect(error).toMatchObject({ code });
    if (status !== 200) expect(error.status).toBe(status);
  });

  test("larger than allowed, plain or packed: given up", async () => {
    const big = Buffer.alloc(64 * 1024 * 1024, 32);
    const plain = await prepare(answerWith(big), { config: { maxResponseBytes: 100_000 } });
    await expect(plain.host.call("s", "count")).rejects.toMatchObject({ code: "graphql_too_large" });
    const packed = gzipSync(big);
    expect(packed.length).toBeLessThan(100_000);
    const bomb = await prepare(answerWith(packed, 200, { "content-encoding": "gzip" }), {
      config: { maxResponseBytes: 100_000 },
    });
    await expect(bomb.host.call("s", "count")).rejects.toMatchObject({ code: "graphql_too_large" });
  });

  test("of thousands of errors 50 are given, each whole: the host cuts, after it has taken secrets out", async () => {
    const errors = Array.from({ length: 5000 }, () => ({ message: `\u001b${"x".repeat(100)}` }));
    const { host } = await prepare(answerWith(JSON.stringify({ data: { count: 1 }, errors })));
    const partly = (await host.call("s", "count").catch((thrown) => thrown)) as {
      answer: { errors: unknown[] };
    };
    expect(partly.answer.errors).toHaveLength(50);
    const { host: failing } = await prepare(answerWith(JSON.stringify({ data: null, errors })));
    const error = (await failing.call("s", "count").catch((thrown) => thrown)) as Error;
    expect(error.message.match(/x{100}/g)).toHaveLength(50);
    expect(error.message).not.toContain("\u001b");
  });

  test.each([301, 302, 307, 308])(
    "a redirect (%i) is not followed, and no secret goes there",
    async (status) => {
      const other = await serve(answerWith('{"data":{"count":666}}'));
      open.push(other);
      const { host } = await prepare(answerWith("", status, { location: `${other.url}?token=x` }), {
        secrets: { bearerToken: "planted-secret" },
      });
      const call = host.call("s", "count");
      await expect(call).rejects.toThrow(`a redirect to ${new URL(other.url).origin}/graphql.`);
      expect(other.headers).toEqual([]);
    },
  );

  test("an abort, a time limit and the end of the service each close the connection", async () => {
    let closed = 0;
    const { host, server } = await prepare(
      (_request, response) => {
        response.on("close", () => {
          closed += 1;
        });
      },
      { config: { timeoutMs: 1500 } },
    );
    const started = async (count: number) => {
      while (server.headers.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    const controller = new AbortController();
    const aborted = host.call("s", "count", {}, controller.signal);
    await started(1);
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: "graphql_canceled" });
    await expect(host.call("s", "count")).rejects.toMatchObject({ code: "graphql_timeout" });
    const taken = host.call("s", "count").catch((error) => error);
    await started(3);
    await host.adapter.dehydrateService("s");
    expect(await taken).toMatchObject({ code: "graphql_canceled" });
    while (closed < 3) await new Promise((resolve) => setTimeout(resolve, 10));
    await expect(host.call("s", "count")).rejects.toThrow("There is no tool s.count");
  });

  test("an endpoint that is not there, and an address the host refuses", async () => {
    const gone = await serve(() => {});
    await gone[Symbol.asyncDispose]();
    await using host = await hostGraphql();
    await host.install("s", { endpoint: gone.url, sdl: RICH_SDL });
    await expect(host.call("s", "count")).rejects.toMatchObject({
      code: "graphql_unreachable",
      message: "The endpoint cannot be reached: ECONNREFUSED.",
    });
    const refused = Object.assign(new Error("CYRNEL_EGRESS_DENY refuses it"), { code: "egress_refused" });
    await using guarded = await hostGraphql({
      fetch: async () => {
        throw new TypeError("fetch failed", { cause: refused });
      },
    });
    await guarded.install("s", { endpoint: gone.url, sdl: RICH_SDL });
    await expect(guarded.call("s", "count")).rejects.toBe(refused);
  });

  test("a secret no header can carry is refused without being told", async () => {
    const prepared = prepare(() => {}, { secrets: { bearerToken: "topsecret\nX-Evil: 1" } });
    await expect(prepared).rejects.toThrow("secrets.bearerToken: the value of authorization");
    await expect(prepared).rejects.not.toThrow("topsecret");
  });
});
