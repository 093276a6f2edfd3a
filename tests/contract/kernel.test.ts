/**
 * The local runtime: functions of this program as tools of a script that runs in a jailed process. First the whole
 * conformance suite of environments through `execute`, then what is its own.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  buildProxy,
  createRuntime,
  ElicitationEngine,
  type LocalOptions,
  type LocalRuntime,
} from "#client/index.ts";
import { packageCases } from "./cases/packages.ts";
import { defineEnvironmentCases } from "./environments.cases.ts";
import { instantiateKernel } from "./kernel-environment.ts";

const ENVIRONMENT = { maxConcurrency: 4, warmPool: { min: 1, max: 2 } };

defineEnvironmentCases(
  "local runtime",
  { instantiate: instantiateKernel, config: { maxConcurrency: 8, warmPool: { min: 2, max: 4 } } },
  {
    "unfinished.aborted-in-line": "no function is called for them, see below",
    "call.discovery":
      "the runtime answers from its own tools, see below; the suite wants to see its queries passed on",
    "limit.stdout": "what was cut off is followed by a line that says so, see below",
    "files.limits": "the workspace of a local run has always 64 MiB, and the suite asks for less",
    "limit.states": "execute answers with a result, not with states",
    ...Object.fromEntries(
      packageCases.map(({ id }) => [
        id,
        "its packages are installed ones: tests/integration/packages-local.test.ts",
      ]),
    ),
  },
);

test("calls that are aborted before they are sent are listed, and no function is called for them", async () => {
  const called: number[] = [];
  await using runtime = createRuntime({
    local: true,
    environment: ENVIRONMENT,
    tools: {
      test: {
        add: ({ n }: { n: number }) => {
          called.push(n);
          return n;
        },
      },
    },
  });
  const result = await runtime.execute(`
    const given = new AbortController();
    for (let n = 0; n < 40; n++) tools.test.add({ n }, { signal: given.signal }).catch(() => {});
    given.abort();
    return tools.test.add({ n: 40 });`);
  expect([result.error, result.value]).toEqual([undefined, 40]);
  expect(result.calls).toHaveLength(41);
  expect(called).toEqual([...Array.from({ length: 32 }, (_, n) => n), 40]);
});

test("functions read files of the script's workspace, and what they return can become one", async () => {
  const read: string[] = [];
  await using runtime = createRuntime({
    local: true,
    environment: ENVIRONMENT,
    tools: {
      store: {
        async send({ file }, { files }) {
          await new Promise((done) => setTimeout(done, 50));
          for await (const piece of (await files.open(file)).stream())
            read.push(Buffer.from(piece).toString());
        },
        photo: () => Uint8Array.of(0, 255),
        page: () => "<p>",
      },
    },
  });
  const result = await runtime.execute(
    `await cyrnel.files.write("in.txt", "at the call");
    const sending = tools.store.send({ file: "in.txt" });
    await cyrnel.files.write("in.txt", "changed");
    await sending;
    const saved = [await tools.store.photo({}, { saveAs: "a.png" }), await tools.store.page({}, { saveAs: "b" })];
    return [saved, [...await cyrnel.files.read("a.png")], await tools.store.send({ file: "x" }).catch(({ code }) => code)];`,
  );
  expect(result.error).toBeUndefined();
  expect(read).toEqual(["at the call"]);
  expect(result.value).toEqual([
    [
      { file: "a.png", size: 2, contentType: "image/png" },
      { file: "b", size: 3, contentType: "text/plain" },
    ],
    [0, 255],
    "file_not_found",
  ]);
});

test("files of a run are given whole, or read by a function; what it writes is handed out before the answer", async () => {
  await using runtime = createRuntime({ local: true, environment: ENVIRONMENT });
  const written: [string, number, string, string][] = [];
  const result = await runtime.execute(
    `await cyrnel.files.write("out.json", [await cyrnel.files.text("a.txt"), await cyrnel.files.text("b.bin"), await cyrnel.files.text("c")])`,
    {
      files: {
        "a.txt": "text",
        "b.bin": Buffer.from("bytes"),
        c: {
          size: 6,
          read: async (offset, length) => Buffer.from("pieces").subarray(offset, offset + length),
        },
      },
      onArtifact: async (name, { size, contentType, read }) => {
        written.push([name, size, contentType, Buffer.from(await read(0, size)).toString()]);
      },
    },
  );
  expect(result.error).toBeUndefined();
  expect(written).toEqual([["out.json", 25, "application/json", '["text","bytes","pieces"]']]);
  await expect(runtime.execute("return 1", { files: { "../a": "" } })).rejects.toThrow('".."');
  const named = { name: "src/main.ts", files: { "lib/x.ts": "export const x = 1;" } };
  expect(await runtime.execute('import { x } from "../lib/x.ts"; return x', named)).toMatchObject({
    value: 1,
  });
  const wrong = await runtime.execute('import { x } from "../lib/x.ts"; return x', {
    ...named,
    files: { "lib/x.ts": "export const x = 1;\nx.y.z;" },
  });
  expect(wrong.errorDetail).toMatchObject({ file: "lib/x.ts", line: 2 });
  await expect(runtime.execute("return 1", { name: "../x.ts" })).rejects.toThrow('".."');
  const large = { size: 64 * 1024 * 1024 + 1, read: async () => Buffer.alloc(0) };
  await expect(runtime.execute("return 1", { files: { large } })).rejects.toThrow("at most 1000 files");
  const failing = runtime.execute('await cyrnel.files.write("a", "x")', {
    onArtifact() {
      throw new Error("the disk is full");
    },
  });
  await expect(failing).rejects.toThrow("the disk is full");
});

test("a function fetch carries out the requests of scripts; without one the error says so", async () => {
  const asked: unknown[] = [];
  const code = `const response = await fetch("http://api.test/a?b#c", { method: "post", headers: { "x-a": "1" }, body: "text" });
    const large = await fetch("http://api.test/large");
    return [response.status, response.headers.get("x-b"), await response.json(), (await large.bytes()).length];`;
  await using runtime = createRuntime({
    local: true,
    environment: ENVIRONMENT,
    tools: {
      async fetch(request, { files }) {
        asked.push(request);
        if (request.url.endsWith("large")) return new Response(Buffer.alloc(2_000_000));
        await expect(files.open("none")).rejects.toThrow("none");
        return Response.json({ a: "ü" }, { status: 201, headers: { "x-b": "2" } });
      },
    },
  });
  const result = await runtime.execute(code, { onArtifact: (name) => void asked.push(name) });
  expect(result.error).toBeUndefined();
  expect(result.value).toEqual([201, "2", { a: "ü" }, 2_000_000]);
  expect(result.calls.map(({ path }) => path)).toEqual(["fetch", "fetch"]);
  expect(runtime.availableTools()).toEqual([]);
  const type = "text/plain;charset=UTF-8";
  expect(asked).toEqual([
    {
      url: "http://api.test/a?b",
      method: "POST",
      headers: [
        ["x-a", "1"],
        ["content-type", type],
      ],
      body: "text",
    },
    { url: "http://api.test/large", method: "GET", headers: [] },
  ]);
  await using bare = createRuntime({ local: true, environment: ENVIRONMENT, tools: {} });
  const refused = await bare.execute('await fetch("http://api.test/")');
  expect(refused.error).toContain("fetch is not available");
  expect(refused.errorDetail).toMatchObject({ name: "TypeError", line: 1 });
});

test("the body of an endless response streams until the script breaks off", async () => {
  const canceled: number[] = [];
  await using runtime = createRuntime({
    local: true,
    environment: ENVIRONMENT,
    tools: {
      async fetch({ url }) {
        const start = (controller: ReadableStreamDefaultController) =>
          void controller.enqueue(Buffer.from("data: 1\n\n"));
        const body = new ReadableStream({ start, cancel: () => void canceled.push(1) });
        return new Response(body, {
          headers: { "content-type": url.endsWith("sse") ? "text/event-stream" : "text/plain" },
        });
      },
    },
  });
  const result = await runtime.execute(
    `const texts = [];
    for (const path of ["sse", "slow"]) {
      const response = await fetch("http://api.test/" + path);
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) { texts.push(chunk); break; }
    }
    const unread = await fetch("http://api.test/sse");
    return [...texts, unread.status];`,
  );
  expect(result.error).toBeUndefined();
  expect(result.value).toEqual(["data: 1\n\n", "data: 1\n\n", 200]);
  await expect.poll(() => canceled.length).toBe(3);
});

describe("tools", () => {
  let runtime: LocalRuntime;
  const sent: unknown[] = [];
  beforeAll(() => {
    runtime = createRuntime({
      local: true,
      environment: ENVIRONMENT,
      role: { allow: ["mail.*", "files.read"], deny: ["mail.purge"] },
      tools: [
        {
          path: "mail.send",
          description: "Sends a mail.",
          inputSchema: {
            type: "object",
            required: ["to"],
            properties: { to: { type: "string", pattern: "@" }, urgent: { type: "boolean", default: false } },
          },
          invoke: (args) => {
            sent.push(args);
            return { id: sent.length };
          },
        },
        { path: "mail.purge", description: "Deletes every mail.", invoke: () => "purged" },
        { path: "files.read", description: "Reads a file.", invoke: () => undefined },
        {
          path: "files.fail",
          invoke: () => {
            throw new Error("no");
          },
        },
        {
          path: "mail.fail",
          invoke: () => {
            throw Object.assign(new Error("slow down"), {
              code: "rate_limited",
              status: 429,
              stack: "secret",
            });
          },
        },
      ],
    });
  });
  afterAll(() => runtime.dispose());

  test("are called with what the script gave, and the result says which calls were made", async () => {
    const result = await runtime.execute(`
      console.log("one"); console.error("two");
      cyrnel.output({ done: true });
      return [await tools.mail.send({ to: "a@b" }), await tools.files.read()];`);
    expect(result).toMatchObject({
      success: true,
      value: [{ id: 1 }, null],
      calls: [
        { path: "mail.send", args: { to: "a@b" } },
        { path: "files.read", args: {} },
      ],
      exitState: "success",
      reason: "ok",
    });
    expect(result.logs).toContainEqual({ level: "info", message: "one" });
    expect(result.logs).toContainEqual({ level: "error", message: "two" });
    expect(result.usage?.toolCalls).toBe(2);
    // As on a server, a tool gets the defaults of its schema.
    expect(sent).toEqual([{ to: "a@b", urgent: false }]);
  });

  test("that the role hides are neither found nor described nor called, and look like tools that are not there", async () => {
    expect(runtime.availableTools()).toEqual(["mail.send", "files.read", "mail.fail"]);
    const { value } = await runtime.execute(`
      const caught = (call) => call().then(() => "called", (e) => [e.code, e.message.replace(/purge|nothing/g, "X")]);
      return {
        hidden: await caught(() => tools.mail.purge()),
        missing: await caught(() => tools.mail.nothing()),
        details: await caught(() => cyrnel.getTool({ serviceId: "mail", toolId: "purge" })),
        docs: await caught(() => cyrnel.getToolDocs({ serviceId: "mail", toolId: "purge" })),
        found: (await tools.search({ query: "mail" })).map((t) => t.path),
        every: (await cyrnel.getService("mail")).tools.map((t) => t.id),
        dotted: await caught(() => tools["mail.send"]["x"]()),
      };`);
    const { hidden, missing, details, docs, found, every, dotted } = value as Record<string, unknown>;
    expect(hidden).toEqual(missing);
    expect([hidden, details, docs].map((refusal) => (refusal as string[])[0])).toEqual(
      Array(3).fill("not_found"),
    );
    expect(found).toEqual(["mail.send", "mail.fail"]);
    expect(every).toEqual(["send", "fail"]);
    expect((dotted as string[])[0]).toBe("not_found");
  });

  test("refuse parameters that do not fit before they are called; what they throw comes without a stack", async () => {
    const before = sent.length;
    const { value } = await runtime.execute(`
      const caught = (call) => call().then(() => "called", (e) => [e.code, e.status, e.message, e.stack.includes("secret")]);
      return [await caught(() => tools.mail.send({ to: "nobody" })), await caught(() => tools.mail.fail())];`);
    expect(value).toEqual([
      [
        "invalid_parameters",
        400,
        expect.stringContaining("The parameters of mail.send are invalid: parameters.to "),
        false,
      ],
      ["rate_limited", 429, "slow down", false],
    ]);
    expect(sent).toHaveLength(before);
  });

  test("are described with a signature", async () => {
    const { value } = await runtime.execute(
      `return await cyrnel.getToolDocs({ serviceId: "mail", toolId: "send" });`,
    );
    expect(value).toContain("tools.mail.send(");
    expect(value).toContain("to: string");
  });
});

test.each<[string, Omit<LocalOptions, "local">, RegExp]>([
  ["a path of one segment", { tools: { send: () => 1 } }, /service\.tool.*"send"/],
  [
    "a path of ten",
    { tools: { "a.b.c.d.e.f.g.h.i.j": () => 1 } },
    /at most 8 after the service; found "a\.b/,
  ],
  ["an empty segment", { tools: { a: { "b..c": () => 1 } } }, /"a\.b\.\.c"/],
  ["a tool without a function", { tools: [{ path: "a.b" }] }, /a\.b has no function/],
  ["a tool twice", { tools: [{ path: "a.b" }, { path: "a.b" }], invoke: () => 1 }, /twice/],
  ["a pattern that is none", { role: { allow: ["a..b"] } }, /"a\.\.b"/],
  ["a pattern that is no text", { role: { allow: [7] } } as never, /"7": expected text/],
  ["a role by name", { role: "reader" } as never, /role: Expected \{ allow:.*found string/],
  ["a role as a list", { role: ["mail.*"] } as never, /role: Expected \{ allow:.*found an array/],
  ["a role of tools", { role: { tools: ["mail.send"] } } as never, /role: Expected.*found the member tools/],
  ["a role with another list", { role: { allow: [], allowedTools: [] } } as never, /the member allowedTools/],
  [
    "a role that only denies",
    { role: { deny: ["mail.*"] } } as never,
    /role: Expected.*without an allow list/,
  ],
  [
    "a role with its list under both names",
    { role: { allow: ["a.b"], patterns: ["a.c"] } } as never,
    /found patterns beside allow/,
  ],
  ["a list that is none", { role: { allow: "mail.*" } } as never, /role: Expected.*without an allow list/],
])("refuses %s at once", (_what, options, message) => {
  expect(() => createRuntime({ local: true, ...options })).toThrow(message);
});

test.each<[string, object, string]>([
  ["a runtime that there is not", { runtime: "remote" }, 'found runtime: "remote"'],
  [
    "a program and a server at once",
    { runtime: "local", url: "http://127.0.0.1:1" },
    "found both local and url",
  ],
  ["neither", { local: false }, "found no url"],
])("createRuntime refuses %s and says its form", (_what, options, found) => {
  const form = "createRuntime takes { url, key } for a server, or { local: true, tools, … } for this program";
  expect(() => createRuntime(options as LocalOptions)).toThrow(`${form}; ${found}`);
});

describe("tools in groups", () => {
  const calls: unknown[] = [];
  const note = (what: string) => (args: unknown) => void calls.push([what, args]);
  const tools = {
    github: {
      issues: { list: () => ["one", "two"], labels: { add: note("add") }, delete: note("delete") },
      whoami: () => "me",
    },
    other: { thing: note("thing") },
  };
  test("are called, found, described and hidden by their paths", async () => {
    await using runtime = createRuntime({
      runtime: "local",
      environment: ENVIRONMENT,
      tools,
      role: { id: "role_1", name: "reader", patterns: ["github.**"], deny: ["github.issues.delete"] },
      elicitation: new ElicitationEngine({
        needsApproval: ({ path }) => path === "github.issues.labels.add",
      }),
    });
    expect(runtime.availableTools()).toEqual([
      "github.issues.list",
      "github.issues.labels.add",
      "github.whoami",
    ]);
    let result = await runtime.execute(`
      const refused = [];
      for (const call of [() => tools.github.issues.delete({}), () => tools.github.issues({}), () => tools.github.issues.lst({})])
        await call().catch((error) => refused.push([error.code, error.message]));
      const found = await tools.search({ query: "issues list" });
      const list = await tools.github.issues.list({});
      const same = await cyrnel.services.github.tools.issues.list.invoke();
      const described = await tools.describe.tool({ path: found[0].path });
      await tools.github.issues.labels.add({ name: "bug" });
      return { refused, list, same, described, found: found.map(({ path }) => path), whoami: await tools.github.whoami() };`);
    expect(result.paused).toMatchObject({ toolPath: "github.issues.labels.add", args: { name: "bug" } });
    result = await runtime.resolve(result.paused?.executionId ?? "", true);
    expect(result).toMatchObject({
      success: true,
      value: {
        list: ["one", "two"],
        same: ["one", "two"],
        described: { serviceId: "github", id: "issues.list", path: "github.issues.list" },
        found: ["github.issues.list", "github.issues.labels.add"],
        whoami: "me",
        refused: [
          [
            "not_found",
            expect.stringContaining("no tool github.issues.delete. There are github.issues.list,"),
          ],
          ["not_found", expect.stringContaining("no tool github.issues. There are")],
          ["not_found", expect.stringContaining("no tool github.issues.lst. There are")],
        ],
      },
    });
    expect(calls).toEqual([["add", { name: "bug" }]]);
    expect(result.calls.map(({ path }) => path)).toContain("github.issues.labels.add");
  });
});

describe("a run", () => {
  let runtime: LocalRuntime;
  beforeAll(() => {
    runtime = createRuntime({
      local: true,
      environment: ENVIRONMENT,
      tools: {
        slow: {
          wait: (_args, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)),
        },
      },
    });
  });
  afterAll(() => runtime.dispose());

  test("finds the input it is given as plain frozen data; what is no JSON data is refused", async () => {
    const input = { rows: [{ id: 1 }], at: new Date(0), none: undefined };
    const code = "return [cyrnel.input, Object.isFrozen(cyrnel.input.rows[0]), Object.keys(cyrnel.input)]";
    expect(await runtime.execute(code, { input })).toMatchObject({
      value: [{ rows: [{ id: 1 }], at: "1970-01-01T00:00:00.000Z" }, true, ["rows", "at"]],
    });
    const data = JSON.parse('{"__proto__": {"a": 1}}');
    expect(
      (await runtime.execute("return [Object.keys(cyrnel.input), 'a' in cyrnel.input]", { input: data }))
        .value,
    ).toEqual([["__proto__"], false]);
    expect((await runtime.execute("return typeof cyrnel.input")).value).toBe("undefined");
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    for (const [wrong, message] of [
      [circular, "The input must be JSON data: Converting circular structure"],
      [() => 1, "The input must be JSON data; found function"],
      ["x".repeat(1024 * 1024), "The input must be at most 1048576 bytes of JSON text; found 1048578"],
      [JSON.parse("[".repeat(65) + "]".repeat(65)), "The input must be nested at most 64 levels deep"],
    ] as const) {
      await expect(runtime.execute("return 1", { input: wrong })).rejects.toThrow(message);
    }
  });

  test("that fails says where, and is a result", async () => {
    const result = await runtime.execute("const a = 1;\nthrow new RangeError('too far');");
    expect(result).toMatchObject({
      success: false,
      error: "too far",
      errorDetail: { name: "RangeError", line: 2 },
      exitState: "failed",
      reason: "script_error",
    });
    expect("value" in result).toBe(false);
  });

  test("is not in this process: it sees nothing of it", async () => {
    (globalThis as Record<string, unknown>).leaked = "secret";
    const { value } = await runtime.execute(
      "return [typeof process, typeof leaked, typeof require, (() => { try { return Function('return 1')(); } catch { return 'no'; } })()];",
    );
    expect(value).toEqual(["undefined", "undefined", "undefined", "no"]);
  });

  test("ends at its time limit, and when it is aborted; calls it waits for are aborted too", async () => {
    expect(await runtime.execute("for (;;);", { timeoutMs: 300 })).toMatchObject({ exitState: "timeout" });
    const aborter = new AbortController();
    const running = runtime.execute("console.log('here'); await tools.slow.wait();", {
      signal: aborter.signal,
      onStdout: () => aborter.abort(new Error("enough")),
    });
    await expect(running).rejects.toThrow("enough");
    await expect(runtime.execute("return 1", { signal: aborter.signal })).rejects.toThrow("enough");
  });

  test("keeps its output within bounds and says that there was more", async () => {
    const levels = await runtime.execute(
      'console.debug("a"); console.info("b"); console.warn("c\\nd"); console.error("e"); console.group(); console.debug("f");',
    );
    expect(levels.logs.map(({ level, message }) => `${level} ${message}`)).toEqual([
      "debug a",
      "info b",
      "warn c",
      "warn d",
      "error e",
      "debug   f",
    ]);
    const { logs } = await runtime.execute("for (let i = 0; i < 1000; i++) console.log('x'.repeat(50));", {
      maxStdoutBytes: 1000,
    });
    expect(logs.at(-1)?.message).toBe("[stdout was cut off after 1000 bytes]");
    expect(logs.map(({ message }) => message).join("\n").length).toBeLessThan(1100);
  });

  test("isolation and documentation can be read; a disposed runtime runs nothing more", async () => {
    const own = createRuntime({ local: true, environment: ENVIRONMENT });
    expect((await own.isolation()).layers.length).toBeGreaterThan(3);
    expect(await own.docs()).toContain("tools.");
    await own.dispose();
    await own.dispose();
    await expect(own.execute("return 1")).rejects.toThrow(/disposed/);
  });
});

describe("calls that wait for a person", () => {
  let runtime: LocalRuntime;
  let engine: ElicitationEngine;
  const made: unknown[] = [];
  beforeAll(() => {
    engine = new ElicitationEngine({
      needsApproval: ({ path, destructive }) => (path === "shop.ask" ? "Really?" : destructive === true),
    });
    runtime = createRuntime({
      local: true,
      environment: ENVIRONMENT,
      elicitation: engine,
      tools: [
        {
          path: "shop.buy",
          destructive: true,
          invoke: (args) => {
            made.push(args);
            return { bought: args.what };
          },
        },
        { path: "shop.ask", invoke: () => "asked" },
        { path: "shop.list", invoke: () => ["tea"] },
      ],
    });
  });
  afterAll(() => runtime.dispose());

  test("pause the run, whose time stands still; approved, it goes on and the call is made once", async () => {
    const first = await runtime.execute(
      `console.log("before"); const got = await tools.shop.buy({ what: (await tools.shop.list())[0] }); console.log("after"); return got;`,
      { timeoutMs: 1500 },
    );
    expect(first).toMatchObject({
      success: false,
      exitState: null,
      reason: null,
      paused: { toolPath: "shop.buy", message: "Call shop.buy?", args: { what: "tea" } },
      logs: [{ message: "before" }],
    });
    const executionId = first.paused?.executionId ?? "";
    expect(engine.getPending(executionId)?.toolPath).toBe("shop.buy");
    expect(engine.hasPending()).toBe(true);
    expect((await runtime.status()).busy).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 1800));
    expect(made).toEqual([]);
    const last = await runtime.resolve(executionId, true);
    expect(last).toMatchObject({
      success: true,
      value: { bought: "tea" },
      processId: first.processId,
      calls: [{ path: "shop.list" }, { path: "shop.buy" }],
      logs: [{ message: "before" }, { message: "after" }],
    });
    expect(made).toEqual([{ what: "tea" }]);
    await expect(runtime.resolve(executionId, true)).rejects.toThrow(/does not wait any more/);
    expect(made).toHaveLength(1);
  });

  test("denied, the script may catch it, and is not asked again about the same call", async () => {
    const before = made.length;
    const first = await runtime.execute(`
      let last;
      for (let i = 0; i < 50; i++) last = await tools.shop.buy({ what: "car" }).catch((e) => [e.code, e.message]);
      return last;`);
    const last = await runtime.resolve(first.paused?.executionId ?? "", false, "too dear");
    expect(last.value).toEqual(["approval_denied", expect.stringMatching(/shop\.buy was denied: too dear$/)]);
    expect(last.calls).toHaveLength(50);
    expect(made).toHaveLength(before);
    expect(engine.hasPending()).toBe(false);
  });

  test("denied and not caught, the run ends by it", async () => {
    const first = await runtime.execute(`await tools.shop.buy({ what: "boat" });`);
    const last = await runtime.resolve(first.paused?.executionId ?? "", false);
    expect([last.exitState, last.reason]).toEqual(["failed", "approval_denied"]);
  });

  test("several at once are decided one by one", async () => {
    const first = await runtime.execute(
      `return await Promise.all([1, 2, 3].map((what) => tools.shop.buy({ what }).then((v) => v.bought, (e) => e.code)));`,
    );
    expect(engine.getAllPending()).toHaveLength(3);
    let result = first;
    for (const approved of [true, false, true]) {
      const { paused } = result;
      expect(paused).toBeDefined();
      result = await runtime.resolve(paused?.executionId ?? "", approved);
    }
    expect(result.value).toEqual([1, "approval_denied", 3]);
  });

  test("a question resolves with an answer that fits its schema; one that does not leaves it waiting", async () => {
    const first = await runtime.execute(
      `return await cyrnel.ask({ message: "How many?", schema: { type: "integer", minimum: 1 } });`,
    );
    const { executionId = "", ...paused } = first.paused ?? {};
    expect(paused).toEqual({
      toolPath: "cyrnel.ask",
      message: "How many?",
      args: { schema: { type: "integer", minimum: 1 } },
    });
    await expect(runtime.resolve(executionId, true, "many")).rejects.toThrow(/does not fit.*integer/);
    expect((await runtime.resolve(executionId, true, 3)).value).toBe(3);
  });

  test("a schema that could cost the host time is refused before anybody is asked", async () => {
    const { value } = await runtime.execute(`
      const caught = (schema) => cyrnel.ask({ message: "?", schema }).then(() => "asked", (e) => e.message);
      return [await caught({ $ref: "#" }), await caught({ enum: Array(9000).fill("long") }), await caught({ type: 5 }), await caught({ $async: true })];`);
    expect(value).toEqual([
      expect.stringContaining("$ref"),
      expect.stringContaining("characters"),
      expect.stringContaining("type"),
      expect.stringContaining("$async"),
    ]);
  });

  test("decided through the engine, the outcome is asked for by its id; session approvals let calls pass", async () => {
    engine.addSessionApproval("shop.ask");
    expect(engine.isSessionApproved("shop.ask")).toBe(true);
    expect((await runtime.execute("return await tools.shop.ask()")).value).toBe("asked");
    engine.clearSessionApprovals();
    const first = await runtime.execute("return await tools.shop.ask()");
    expect(first.paused?.message).toBe("Really?");
    const id = first.paused?.executionId ?? "";
    expect(engine.resolve(id, true)).toBe(true);
    expect(engine.resolve(id, false)).toBe(false);
    expect((await runtime.outcome(id)).value).toBe("asked");
    await expect(runtime.outcome("exec_unknown")).rejects.toThrow(/No call/);
  });

  test("a run that asks for ever is refused, one that nobody answers goes on without", async () => {
    const hasty = new ElicitationEngine({ expiresAfterMs: 50 });
    await using own = createRuntime({
      local: true,
      environment: ENVIRONMENT,
      elicitation: hasty,
      tools: [{ path: "shop.buy", destructive: true, invoke: () => "bought" }],
    });
    const first = await own.execute(
      `const call = (n) => tools.shop.buy({ n }).catch((e) => e.code); const one = await call(0);
       return [one, ...new Set(await Promise.all(Array.from({ length: 30 }, (_, n) => call(n + 1))))];`,
    );
    let result = first;
    for (let turns = 0; result.paused !== undefined && turns < 100; turns++) {
      result = await own.outcome(result.paused.executionId);
    }
    expect(result.value).toEqual(["approval_expired", "approval_expired"]);
    const flood = new ElicitationEngine({
      onPending: ({ executionId }) => queueMicrotask(() => flood.resolve(executionId, true)),
    });
    await using flooded = createRuntime({
      local: true,
      environment: ENVIRONMENT,
      elicitation: flood,
      tools: [{ path: "shop.buy", destructive: true, invoke: () => "bought" }],
    });
    let last = await flooded.execute(
      `const codes = {}; for (let n = 0; n < 103; n++) { const code = await tools.shop.buy({ n }).catch((e) => e.code); codes[code] = (codes[code] ?? 0) + 1; } return codes;`,
    );
    while (last.paused !== undefined) last = await flooded.outcome(last.paused.executionId);
    expect(last.value).toEqual({ bought: 100, too_many_approvals: 3 });
  });

  test("an aborted and a disposed run leave nothing waiting", async () => {
    const own = createRuntime({
      local: true,
      environment: ENVIRONMENT,
      elicitation: engine,
      tools: [{ path: "a.b", destructive: true, invoke: () => 1 }],
    });
    const aborter = new AbortController();
    const aborted = await own.execute("return await tools.a.b()", { signal: aborter.signal });
    aborter.abort(new Error("enough"));
    expect(await own.outcome(aborted.paused?.executionId ?? "")).toMatchObject({
      exitState: "canceled",
      reason: "killed",
    });
    const left = await own.execute("return await tools.a.b()");
    expect(left.paused).toBeDefined();
    await own.dispose();
    expect(engine.hasPending()).toBe(false);
    expect(await own.outcome(left.paused?.executionId ?? "")).toMatchObject({ exitState: "canceled" });
  });

  test("without an engine a script cannot ask", async () => {
    await using own = createRuntime({ local: true, environment: ENVIRONMENT });
    const { value } = await own.execute(`return await cyrnel.ask({ message: "?" }).catch((e) => e.code);`);
    expect(value).toBe("ask_unavailable");
  });
});

describe("buildProxy", () => {
  const called: unknown[] = [];
  const tools = buildProxy(
    ["mail.send", "a.b.c"],
    (path, args) => {
      called.push([path, args]);
      return path;
    },
    ({ query }) => [`found ${query}`],
    (path) => `about ${path}`,
  );

  test("turns a path of members into a call, to any depth", async () => {
    expect(await tools.mail?.send?.({ to: "x" })).toBe("mail.send");
    expect(await tools.a?.b?.c?.()).toBe("a.b.c");
    expect(called).toEqual([
      ["mail.send", { to: "x" }],
      ["a.b.c", {}],
    ]);
  });

  test("has search and describe beside the tools", async () => {
    expect(await tools.search?.({ query: "x" })).toEqual(["found x"]);
    expect(await tools.describe?.tool?.({ path: "mail.send" })).toBe("about mail.send");
  });

  test("rejects what is no tool with what there is; awaiting and changing a node does nothing", async () => {
    await expect(tools.mail?.sned?.({})).rejects.toMatchObject({
      code: "not_found",
      message: /There are mail\.send/,
    });
    await expect(tools.mail?.send?.(5 as never)).rejects.toThrow(TypeError);
    expect(typeof (await tools.mail)).toBe("function");
    expect(() => Object.assign(tools, { x: 1 })).toThrow(TypeError);
  });
});

test("what functions take and return arrives by the rules for values", async () => {
  class Money {
    readonly #sum = 1;
    get sum() {
      return this.#sum;
    }
  }
  const given: unknown[] = [];
  await using runtime = createRuntime({
    local: true,
    environment: ENVIRONMENT,
    tools: [
      { path: "shop.take", invoke: (args: object) => void given.push(args) },
      {
        path: "shop.order",
        inputSchema: { type: "object", properties: { id: { type: "integer" } } },
        invoke: ({ id }: { id: unknown }) => ({
          id,
          lines: new Map([["a", new Set([2n ** 64n])]]),
          at: new Date(0),
        }),
      },
      { path: "shop.odd", invoke: () => ({ rate: Number.NaN, error: new Error("why") }) },
      { path: "shop.late", invoke: () => [Promise.resolve(1)] },
      { path: "shop.money", invoke: () => ({ price: new Money() }) },
    ],
  });
  const result = await runtime.execute(`
    await tools.shop.take({ id: 9007199254740993n });
    const order = await tools.shop.order({ id: "9007199254740993" });
    const failed = [];
    for (const name of ["late", "money"]) await tools.shop[name]({}).catch((error) => failed.push(error.message));
    return [order.id === 9007199254740993n, order.lines.a[0] === 2n ** 64n, order.at, await tools.shop.odd({}), failed];`);
  expect(given).toEqual([{ id: 9007199254740993n }]);
  expect(result.value).toEqual([
    true,
    true,
    "1970-01-01T00:00:00.000Z",
    { rate: null, error: { name: "Error", message: "why" } },
    [
      expect.stringContaining("the result of shop.late[0] is a promise that was not awaited"),
      expect.stringContaining("the result of shop.money.price is a Money, of which JSON keeps nothing"),
    ],
  ]);
  expect(result.warnings.map(({ code, path }) => [code, path])).toEqual([
    ["value_not_json", "the result of shop.odd.rate"],
  ]);
  expect(JSON.stringify(result.calls[0])).toContain('"id":"9007199254740993"}');
});
