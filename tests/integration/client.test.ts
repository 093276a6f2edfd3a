/** The client library against a real server and the real environment: routes, runs, events, retries, runtimes. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BuiltinModule } from "#api/components/modules/builtins.ts";
import {
  type CyrnelClient,
  CyrnelError,
  createClient,
  createRuntime,
  type ProcessEvent,
  unwrap,
} from "#client/index.ts";
import { SECRETS_KEY } from "./services-server.ts";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

const KEY = "client-test-key-0123456789abcdef0123";
const ENVIRONMENTS: BuiltinModule[] = [
  {
    id: "typescript-process",
    type: "environment",
    load: () => import("#modules/typescript-process/index.ts"),
  },
  { id: "typescript-ivm", type: "environment", load: () => import("#modules/typescript-ivm/index.ts") },
];

function startServer(environments: readonly BuiltinModule[]): Promise<ToolsServer> {
  return startToolsServer({
    environment: {
      CYRNEL_API_KEY: KEY,
      CYRNEL_SECRETS_KEY: SECRETS_KEY,
      CYRNEL_ISOLATION: "development",
      CYRNEL_DEFAULT_POLICY: "ask-destructive",
      CYRNEL_ALLOW_SELF_APPROVAL: "true",
    },
    environments,
  });
}

let server: ToolsServer;
let client: CyrnelClient;
beforeAll(async () => {
  server = await startServer(ENVIRONMENTS.slice(0, 1));
  await server.addService("shop", {
    list: { description: "What is in stock.", invoke: () => ["tea"] },
    remove: { destructive: true, invoke: ({ parameters }) => ({ removed: parameters.name }) },
  });
  client = createClient({ url: `${server.url}/`, key: KEY });
});
afterAll(() => server?.close());

describe("routes", () => {
  test("are typed by their path and answer data", async () => {
    const { processes } = unwrap(await client.GET("/processes", { params: { query: { limit: "1" } } }));
    expect(Array.isArray(processes)).toBe(true);
    expect(unwrap(await client.GET("/health")).status).toBe("ok");
  });

  test("that refuse become an error with the server's code, sentence and issues", async () => {
    const missing = await client.GET("/processes/{id}", { params: { path: { id: "999999" } } });
    const error = catchError(() => unwrap(missing));
    expect([error.status, error.code]).toEqual([404, "not_found"]);
    expect(error.requestId).toMatch(/./);
    const bad = await client.POST("/processes", { body: { code: 5 } as never });
    expect(catchError(() => unwrap(bad)).issues[0]?.path).toContain("code");
    const stranger = createClient({ url: server.url, key: "wrong" });
    await expect(stranger.run("return 1")).rejects.toMatchObject({ status: 401, code: "unauthorized" });
  });

  test.each(["ftp://x", "nowhere", "http://user:pass@host", "http://host/?key=1"])("are not at %s", (url) => {
    expect(() => createClient({ url })).toThrow(TypeError);
  });
});

function catchError(action: () => unknown): CyrnelError {
  try {
    action();
  } catch (error) {
    if (error instanceof CyrnelError) return error;
  }
  throw new Error("no CyrnelError was thrown");
}

test("files are uploaded, given to a process and downloaded", async () => {
  const blob = new Blob(["a;b"], { type: "text/csv" });
  const file = await client.upload(blob, { name: "in/orders.csv" });
  expect(file).toMatchObject({ name: "in/orders.csv", size: 3, contentType: "text/csv" });
  expect(await new Response(await client.download(file.id)).text()).toBe("a;b");
  const body = { code: "return 1", autorun: false, files: { "x.csv": { id: file.id } } };
  const created = unwrap(await client.POST("/processes", { body }));
  const path = { id: String(created.id) };
  const record = unwrap(await client.GET("/processes/{id}", { params: { path } }));
  expect(record.files).toMatchObject([{ name: "x.csv", id: file.id }]);
  await expect(client.download("sha256-0")).rejects.toMatchObject({ code: "invalid_request" });
  expect(await new Response(await client.downloadGiven(created.id, "x.csv")).text()).toBe("a;b");
  await expect(client.downloadArtifact(created.id, "none")).rejects.toMatchObject({ status: 404 });
});

test("an upload that is refused for a moment is sent again, whole", async () => {
  let attempts = 0;
  const retrying = createClient({
    url: server.url,
    key: KEY,
    fetch: async (input, init) => {
      attempts += 1;
      if (attempts > 1) return fetch(input, init);
      await new Request(input, init).arrayBuffer();
      return new Response("{}", { status: 429, headers: { "retry-after": "0" } });
    },
  });
  const file = await retrying.upload(new Blob(["x".repeat(300_000)]));
  expect([attempts, file.size]).toEqual([2, 300_000]);
});

describe("run", () => {
  test("submits, tells the events as they come, and answers the process", async () => {
    const events: ProcessEvent[] = [];
    const record = await client.run(
      `console.log("one"); console.error("two"); cyrnel.output({ a: 1 }); return (await tools.shop.list())[0];`,
      { ref: "client-run", onEvent: (event) => events.push(event) },
    );
    expect(record).toMatchObject({
      ref: "client-run",
      state: "idle",
      exitState: "success",
      result: "tea",
      stdout: "one\n",
      output: { a: 1 },
    });
    expect(new Set(events.map(({ event }) => event))).toEqual(
      new Set(["state", "stdout", "stderr", "output", "call", "end"]),
    );
    expect(events.at(-1)?.event).toBe("end");
  });

  test("answers a script that fails, and passes limits on", async () => {
    const failed = await client.run("\nthrow new Error('no')", { memoryMb: 64 });
    expect(failed).toMatchObject({ exitState: "failed", error: "no", options: { memoryMb: 64 } });
    expect(failed.errorDetail?.line).toBe(2);
    const late = await client.run("for (;;);", { timeoutMs: 300 });
    expect([late.exitState, late.options.timeoutMs]).toEqual(["timeout", 300]);
  });

  test("gives the script its input, which has to fit the schema", async () => {
    const inputSchema = { type: "object", required: ["n"], properties: { n: { type: "integer" } } };
    const record = await client.run("return cyrnel.input.n + 1", { input: { n: 41 }, inputSchema });
    expect(record).toMatchObject({ result: 42, input: { n: 41 }, inputSchema });
    await expect(client.run("return 1", { input: {}, inputSchema })).rejects.toMatchObject({
      code: "invalid_request",
      issues: [{ path: "body.input.n", message: "is missing" }],
    });
    await using runtime = createRuntime({ url: server.url, key: KEY });
    expect(await runtime.execute("return cyrnel.input", { input: [1] })).toMatchObject({ value: [1] });
  });

  test.each(ENVIRONMENTS)("tells debug, info, warn and error apart in $id", async (environment) => {
    const other = environment === ENVIRONMENTS[0] ? null : await startServer([environment]);
    try {
      await using runtime = createRuntime({ url: (other ?? server).url, key: KEY });
      const params = { path: { id: environment.id } };
      unwrap(await runtime.client.POST("/modules/{id}/enabled", { params, body: { enabled: true } }));
      let printed = "";
      const { logs } = await runtime.execute(
        'console.debug("a"); console.info("b"); console.log("c\\nd"); console.debug("e"); console.warn("f\\ng"); console.error("h"); console.group(); console.debug("i");',
        { onStdout: (text) => (printed += text), onStderr: (text) => (printed += text) },
      );
      const onStdout = ["debug a", "info b", "info c", "info d", "debug e", "debug   i"];
      const onStderr = ["warn f", "warn g", "error h"];
      const lines = logs.map(({ level, message }) => `${level} ${message}`);
      const isError = (line: string) => /^(warn|error)/.test(line);
      expect(lines.filter((line) => !isError(line))).toEqual(onStdout);
      expect(lines.filter(isError)).toEqual(onStderr);
      expect(printed.split("\n").sort()).toEqual(["", "  i", ..."abcdefgh"]);
    } finally {
      await other?.close();
    }
  });

  test("that is aborted kills the process", async () => {
    const aborter = new AbortController();
    const running = client.run("console.log('up'); await new Promise(() => setInterval(() => {}, 1000));", {
      ref: "client-aborted",
      signal: aborter.signal,
      onEvent: ({ event }) => event === "stdout" && aborter.abort(new Error("enough")),
    });
    await expect(running).rejects.toThrow("enough");
    const { processes } = unwrap(
      await client.GET("/processes", { params: { query: { ref: "client-aborted" } } }),
    );
    const record = await client.waitForIdle(processes[0]?.id ?? 0);
    expect(record).toMatchObject({ exitState: "canceled", reason: "killed" });
  });

  test("whose submission is answered into the void is repeated and yet runs once", async () => {
    let lost = 0;
    const flaky = createClient({
      url: server.url,
      key: KEY,
      fetch: async (input) => {
        const isSubmission = input instanceof Request && input.method === "POST";
        const response = await fetch(input);
        if (!isSubmission || lost++ > 0) return response;
        await response.text();
        throw new TypeError("the connection was lost");
      },
    });
    const record = await flaky.run("return 'once'", {});
    expect([record.result, lost]).toEqual(["once", 2]);
    const { processes } = unwrap(await client.GET("/processes"));
    expect(processes.filter(({ result }) => result === "once")).toHaveLength(1);
  });
});

describe("events", () => {
  test("survive a connection that breaks again and again: nothing is lost and nothing comes twice", async () => {
    let connections = 0;
    const cutting = createClient({
      url: server.url,
      key: KEY,
      fetch: async (input) => {
        const response = await fetch(input);
        if (!(input instanceof Request) || !input.url.endsWith("/events") || response.body === null)
          return response;
        connections++;
        return new Response(cutAfterChunks(response.body, 3), response);
      },
    });
    const { id } = unwrap(
      await client.POST("/processes", {
        body: {
          code: "for (let i = 0; i < 60; i++) { console.log('line', i); await new Promise((r) => setTimeout(r, 10)); }",
        },
      }),
    ) as { id: number };
    let stdout = "";
    const ids: string[] = [];
    for await (const event of cutting.events(id)) {
      ids.push(event.id);
      if (event.event === "stdout") stdout += event.data.text;
    }
    expect(stdout).toBe(Array.from({ length: 60 }, (_, i) => `line ${i}\n`).join(""));
    expect(new Set(ids).size).toBe(ids.length);
    expect(connections).toBeGreaterThan(1);
    const again: ProcessEvent[] = [];
    for await (const event of client.events(id, { lastEventId: ids.at(-1) as string })) again.push(event);
    expect(again).toEqual([]);
    const tail: ProcessEvent[] = [];
    for await (const event of client.events(id, { lastEventId: ids.at(-2) as string })) tail.push(event);
    expect(tail.map((event) => event.id)).toEqual(ids.slice(-1));
  });

  test("tell of each file that the run left, before the end", async () => {
    const code = 'await cyrnel.files.write("out/a.txt", "left"); await cyrnel.files.write("b", "")';
    const { id } = unwrap(await client.POST("/processes", { body: { code } })) as { id: number };
    const events: ProcessEvent[] = [];
    for await (const event of client.events(id)) events.push(event);
    const left = events.flatMap(({ event, data }) => (event === "artifact" ? [data] : []));
    expect(left).toMatchObject([
      { name: "out/a.txt", size: 4, contentType: "text/plain" },
      { name: "b", size: 0 },
    ]);
    expect(events.at(-1)?.event).toBe("end");
  });

  test("end with the abort of whoever follows, and with a refusal of the server", async () => {
    const { id } = unwrap(
      await client.POST("/processes", {
        body: { code: "await new Promise(() => setInterval(() => {}, 1000))" },
      }),
    ) as { id: number };
    const aborter = new AbortController();
    const following = (async () => {
      for await (const { event } of client.events(id, { signal: aborter.signal })) {
        if (event === "state") aborter.abort(new Error("seen"));
      }
    })();
    await expect(following).rejects.toThrow("seen");
    await client.POST("/processes/{id}/signals/kill", { params: { path: { id: String(id) } } });
    expect((await client.waitForIdle(id)).exitState).toBe("canceled");
    await expect(client.events(999_999).next()).rejects.toMatchObject({ code: "not_found" });
    await expect(client.events(id, { lastEventId: "rubbish" }).next()).rejects.toMatchObject({ status: 400 });
  });
});

function cutAfterChunks(body: ReadableStream<Uint8Array>, chunks: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = chunks;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      controller.enqueue(value);
      if (--left > 0) return;
      await reader.cancel();
      controller.error(new TypeError("cut"));
    },
    cancel: () => reader.cancel(),
  });
}

describe("retries", () => {
  let fake: Server;
  let url: string;
  let answers: ((request: IncomingMessage, response: ServerResponse) => void)[] = [];
  const asked: string[] = [];
  beforeAll(async () => {
    fake = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      const answer = answers.shift();
      if (answer === undefined)
        response.writeHead(200, { "content-type": "application/json" }).end('{"status":"ok"}');
      else answer(request, response);
    });
    await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => fake.close(resolve)));

  const refuse = (status: number, retryAfter?: string) => (_: IncomingMessage, response: ServerResponse) =>
    response
      .writeHead(status, {
        "content-type": "application/json",
        ...(retryAfter !== undefined && { "retry-after": retryAfter }),
      })
      .end('{"error":"Later.","code":"too_many_processes"}');

  async function ask(next: typeof answers, options = {}) {
    answers = next;
    asked.length = 0;
    const answer = await createClient({ url, ...options }).POST("/processes", { body: { code: "return 1" } });
    return [answer.response.status, asked.length];
  }

  test("come when the server says so, for any method, and a bounded number of times", async () => {
    expect(await ask([refuse(429, "0"), refuse(503, "0")])).toEqual([200, 3]);
    expect(await ask([refuse(429, new Date().toUTCString())])).toEqual([200, 2]);
    expect(await ask(Array(9).fill(refuse(429, "0")), { maxRetries: 2 })).toEqual([429, 3]);
    expect(await ask([refuse(429, "0")], { maxRetries: 0 })).toEqual([429, 1]);
  });

  test("do not come where the server names no time, a time too far away, or another failure", async () => {
    expect(await ask([refuse(503)])).toEqual([503, 1]);
    expect(await ask([refuse(429, "31")])).toEqual([429, 1]);
    expect(await ask([refuse(429, "soon")])).toEqual([429, 1]);
    expect(await ask([refuse(500, "0")])).toEqual([500, 1]);
  });

  test("a lost connection is tried again only where that changes nothing", async () => {
    const cut = (request: IncomingMessage) => request.socket.destroy();
    answers = [cut];
    asked.length = 0;
    expect((await createClient({ url }).GET("/health")).response.status).toBe(200);
    expect(asked).toHaveLength(2);
    await expect(ask([cut])).rejects.toThrow();
    expect(asked).toHaveLength(1);
  });

  test("an abort ends the wait", async () => {
    answers = [refuse(429, "20")];
    const signal = AbortSignal.timeout(50);
    await expect(createClient({ url }).GET("/health", { signal })).rejects.toThrow(/timeout/i);
  });

  test("a redirect is not followed, and what is no event stream is an error", async () => {
    answers = [(_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()];
    await expect(createClient({ url, maxRetries: 0 }).GET("/health")).rejects.toThrow();
    const stream = (text: string) => (_: IncomingMessage, response: ServerResponse) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(text);
    answers = [stream("id: 1\nevent: stdout\ndata: {nonsense\n\n")];
    await expect(createClient({ url }).events(1).next()).rejects.toThrow(/not JSON/);
    answers = Array(20).fill(stream("id: 1\nevent: unheard-of\ndata: {}\n\n"));
    await expect(createClient({ url }).events(1, { maxReconnects: 2 }).next()).rejects.toThrow(/broke off/);
  });
});

describe("a runtime on the server", () => {
  test("knows the tools, runs, and tells calls and log lines", async () => {
    await using runtime = createRuntime({ url: server.url, key: KEY });
    expect(runtime.availableTools()).toEqual([]);
    const result = await runtime.execute(`console.log("a"); return await tools.shop.list({ page: 1 });`);
    expect(runtime.availableTools().sort()).toEqual(["shop.list", "shop.remove"]);
    expect(result).toMatchObject({
      success: true,
      value: ["tea"],
      calls: [{ path: "shop.list", args: { page: 1 } }],
      logs: [{ level: "info", message: "a" }],
      exitState: "success",
      reason: "ok",
    });
    expect(result.usage?.toolCalls).toBe(1);
    const failed = await runtime.execute("\n\nthrow new TypeError('no');");
    expect(failed).toMatchObject({
      success: false,
      error: "no",
      errorDetail: { name: "TypeError", line: 3 },
    });
  });

  test("pauses at a call that a person decides about, and goes on as they decide", async () => {
    await using runtime = createRuntime({ url: server.url, key: KEY });
    let stdout = "";
    const onStdout = (text: string) => {
      stdout += text;
    };
    const first = await runtime.execute(
      `
      console.log("before");
      const one = await tools.shop.remove({ name: "rope" });
      const two = await tools.shop.remove({ name: "tea" }).catch((e) => e.code);
      const three = await cyrnel.ask({ message: "How many?", schema: { type: "integer" } });
      console.log("after");
      return [one, two, three];`,
      { onStdout },
    );
    expect(first).toMatchObject({
      success: false,
      exitState: null,
      paused: { toolPath: "shop.remove", args: { name: "rope" } },
      logs: [{ message: "before" }],
    });
    const second = await runtime.resolve(first.paused?.executionId ?? "", true);
    expect(second.paused).toMatchObject({ toolPath: "shop.remove", args: { name: "tea" } });
    const third = await runtime.resolve(second.paused?.executionId ?? "", false, "keep the tea");
    expect(third.paused).toMatchObject({ toolPath: "cyrnel.ask", message: "How many?" });
    const asking = third.paused?.executionId ?? "";
    await expect(runtime.resolve(asking, true, "many")).rejects.toMatchObject({ status: 400 });
    const last = await runtime.resolve(asking, true, 3);
    expect(last.value).toEqual([{ removed: "rope" }, "approval_denied", 3]);
    expect(last.logs.map(({ message }) => message)).toEqual(["before", "after"]);
    expect(stdout).toBe("before\nafter\n");
    await expect(runtime.resolve(asking, false)).rejects.toMatchObject({ status: 409 });
  });

  test("with a key that may not decide says that a call waits, and may not decide it", async () => {
    const { key: secret, id } = unwrap(
      await client.POST("/keys", {
        body: { name: "agent", scopes: ["processes:write", "processes:read"] },
      }),
    );
    await using runtime = createRuntime({ url: server.url, key: secret });
    const first = await runtime.execute(`return await tools.shop.remove({ name: "rope" })`);
    expect(first.paused?.message).toContain("approvals:decide");
    const executionId = first.paused?.executionId ?? "";
    await expect(runtime.resolve(executionId, true)).rejects.toMatchObject({ code: "forbidden" });
    unwrap(await client.POST("/approvals/{id}/approve", { params: { path: { id: executionId } }, body: {} }));
    expect((await client.waitForIdle(first.processId)).result).toEqual({ removed: "rope" });
    await client.DELETE("/keys/{id}", { params: { path: { id } } });
  });

  test("that is disposed of kills what it runs", async () => {
    const runtime = createRuntime({ url: server.url, key: KEY });
    let id = 0;
    const running = runtime.execute(
      "console.log(cyrnel.process.id); await new Promise(() => setInterval(() => {}, 1000))",
      {
        onStdout: (text) => {
          id = Number(text);
          void runtime.dispose();
        },
      },
    );
    await expect(running).rejects.toThrow(/disposed/);
    expect((await client.waitForIdle(id)).reason).toBe("killed");
    await expect(runtime.execute("return 1")).rejects.toThrow(/disposed/);
  });
});
