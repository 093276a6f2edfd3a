/** Cases: calls of a script to its host. */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

export const callCases: EnvironmentCase[] = [
  {
    id: "call.forms",
    sentence: "a tool is called through tools and through cyrnel.services, with the execution's id",
    async check({ start }) {
      const { eid, done } = start(`
        return [await tools.test.echo({ a: [1, { b: null }], "ü": "😀\\u0000" }), await cyrnel.services.test.tools.echo.invoke({ x: 1 }),
          await tools.test.echo(), await tools["test"]["echo"]({ skip: undefined }), await tools.test.nothing()];`);
      const { result, calls, usage } = await done;
      expect(result).toEqual([{ a: [1, { b: null }], ü: "😀\u0000" }, { x: 1 }, {}, {}, null]);
      expect(calls.map(({ serviceId, toolId, eid: id }) => [serviceId, toolId, id])).toEqual([
        ["test", "echo", eid],
        ["test", "echo", eid],
        ["test", "echo", eid],
        ["test", "echo", eid],
        ["test", "nothing", eid],
      ]);
      expect(usage.toolCalls).toBe(5);
    },
  },
  {
    id: "call.groups",
    sentence: "a tool in a group is called by its whole path, in both forms",
    async check({ run }) {
      const { calls } = await run(`
        const made = [tools.test.issues.list({}), tools.test["issues.list"]({}), tools.test.issues({}), tools.test.a.b.c.d.e.f.g.h({}),
          cyrnel.services.test.tools.issues.list.invoke({}), cyrnel.services.test.tools["issues.list"].invoke({}),
          cyrnel.services.test.tools.issues.invoke.invoke({}), tools.describe.tools.x({})];
        await Promise.allSettled(made);`);
      expect(calls.map(({ serviceId, toolId }) => `${serviceId} ${toolId}`)).toEqual([
        "test issues.list",
        "test issues.list",
        "test issues",
        "test a.b.c.d.e.f.g.h",
        "test issues.list",
        "test issues.list",
        "test issues.invoke",
        "describe tools.x",
      ]);
    },
  },
  {
    id: "call.errors",
    sentence: "a failed call rejects with a real Error: name, message, code, status, and the script's line",
    async check({ run }) {
      const { result } = await run(`
        try {
          await tools.test.fail({ name: "RateLimitError", message: "slow down", code: "rate_limited", status: 429, secret: "s" });
        } catch (e) {
          return [e instanceof Error, e.name, e.message, e.code, e.status, "secret" in e, e.stack];
        }`);
      expect(result.slice(0, 6)).toEqual([true, "RateLimitError", "slow down", "rate_limited", 429, false]);
      expect(result[6]).toMatch(/^RateLimitError: slow down\n {4}at script\.ts:3:\d+$/);
    },
  },
  {
    id: "call.uncaught",
    sentence: "an uncaught failed call fails the run where it was made",
    async check({ run }) {
      const { state, error } = await run(
        'const x = 1;\nawait tools.test.fail({ name: "TeaError", message: "no" });',
      );
      expect([state, error?.reason, error?.name, error?.message, error?.line]).toEqual([
        "failed",
        "script_error",
        "TeaError",
        "no",
        2,
      ]);
    },
  },
  {
    id: "call.mistyped",
    sentence: "a mistyped tool fails with the host's suggestions",
    async check({ run }) {
      const { error } = await run("await tools.test.ehco({})");
      expect(error?.message).toMatch(/Unknown tool test\.ehco\. Did you mean test\.echo/);
    },
  },
  {
    id: "call.misused",
    sentence: "paths that are no tool and parameters that are no object reject in the script, without a call",
    async check({ run }) {
      const { result, calls } = await run(`
        const cyclic = {}; cyclic.self = cyclic;
        let deep = {}; for (let i = 0; i < 70; i++) deep = { deep };
        const attempts = [
          () => tools(), () => tools.test(), () => tools.test.a.b.c.d.e.f.g.h.i({}), () => cyrnel.services.test.tools.echo(),
          () => tools.test.echo("text"), () => tools.test.echo([1]), () => tools.test.echo(null),
          () => tools.test.echo({ list: [Promise.resolve(1)] }), () => tools.test.echo({ a: { f() {} } }), () => tools.test.echo(cyclic),
          () => tools.test.echo(deep), () => tools[""].x({}), () => tools["x".repeat(600)].y({}),
          () => tools.test.echo({ toJSON: () => 1 }),
        ];
        return await Promise.all(attempts.map((attempt) => attempt().then(() => "called", (e) => e.message)));`);
      expect(calls).toEqual([]);
      const expected = [
        /tools\.<service>\.<tool>/,
        /tools\.test is not a tool/,
        /is not a tool/,
        /cyrnel\.services\.<service>/,
        /one object.*a string/,
        /one object.*an array/,
        /one object.*null/,
        /parameters\.list\[0\] is a promise that was not awaited/,
        /parameters\.a\.f is a function/,
        /contains itself/,
        /deeper than 64 levels/,
        /1 to 500 characters/,
        /1 to 500 characters/,
        /JSON writes as something else/,
      ];
      expect(result).toHaveLength(expected.length);
      for (const [index, pattern] of expected.entries()) expect(result[index]).toMatch(pattern);
    },
  },
  {
    id: "call.depth",
    sentence: "parameters may be 64 levels deep",
    async check({ run }) {
      const { result, error } = await run(
        "let deep = {}; for (let i = 1; i < 64; i++) deep = { deep }; return JSON.stringify(await tools.test.echo(deep)).length",
      );
      expect([error, result]).toEqual([undefined, 2 + 63 * 9]);
    },
  },
  {
    id: "call.too-large",
    sentence: "parameters larger than a message reject and name the limit; smaller ones pass",
    async check({ run }) {
      const { result } = await run(`
        const fits = (await tools.test.echo({ text: "x".repeat(1_000_000) })).text.length;
        const message = await tools.test.echo({ text: "x".repeat(1_100_000) }).catch((e) => e.message);
        const wide = await tools.test.echo({ text: "€".repeat(400_000) }).catch((e) => e.message);
        return [fits, message, wide];`);
      expect(result[0]).toBe(1_000_000);
      expect(result[1]).toMatch(/at most 1048576 are allowed \(maxMessageBytes\)/);
      expect(result[2]).toMatch(/12000\d\d bytes.*1048576/);
    },
  },
  {
    id: "call.concurrent",
    sentence: "ten calls of 200 ms at once take far less than two seconds",
    async check({ run }) {
      const { result, maxInFlight } = await run(`
        const start = Date.now();
        const values = await Promise.all(Array.from({ length: 10 }, (_, value) => tools.test.delay({ ms: 200, value })));
        return { values, ms: Date.now() - start };`);
      expect(result.values).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(result.ms).toBeLessThan(1500);
      expect(maxInFlight).toBe(10);
    },
  },
  {
    id: "call.in-flight-cap",
    sentence: "no more calls than maxConcurrentCalls are in flight; the others wait in order",
    async check({ run, withConfig }) {
      const code = `
        const order = [];
        await Promise.all(Array.from({ length: 40 }, async (_, value) => { await tools.test.delay({ ms: 5, value }); order.push(value); }));
        return order.length;`;
      const wide = await run(code);
      expect(wide.result).toBe(40);
      expect(wide.maxInFlight).toBeLessThanOrEqual(32);
      expect(wide.calls.map(({ parameters }) => parameters.value)).toEqual(
        Array.from({ length: 40 }, (_, index) => index),
      );
      const narrow = await withConfig({ maxConcurrentCalls: 3 }, (bench) => bench.run(code));
      expect([narrow.result, narrow.maxInFlight]).toEqual([40, 3]);
    },
  },
  {
    id: "call.max-calls",
    sentence: "a run may make maxCalls calls; the next one rejects with a sentence",
    async check({ withConfig }) {
      const { result, calls } = await withConfig({ maxCalls: 5 }, ({ run }) =>
        run(`
          const results = [];
          for (let i = 0; i < 8; i++) results.push(await tools.test.echo({ i }).catch((e) => [e.code, e.message]));
          return results;`),
      );
      expect(calls).toHaveLength(5);
      expect(result.slice(0, 5)).toEqual([0, 1, 2, 3, 4].map((i) => ({ i })));
      expect(result[5]).toEqual(["max_calls", expect.stringMatching(/5 calls/)]);
    },
  },
  {
    id: "call.many",
    sentence: "a thousand calls in a row and at once all come back",
    async check({ run }) {
      const { result } = await run(`
        let sum = 0;
        for (let i = 0; i < 300; i++) sum += (await tools.test.echo({ i })).i;
        const rest = await Promise.all(Array.from({ length: 700 }, (_, i) => tools.test.echo({ i })));
        return [sum, rest.length, rest.every((value, i) => value.i === i)];`);
      expect(result).toEqual([44_850, 700, true]);
    },
  },
  {
    id: "call.aborted",
    sentence: "calls still open when a run fails are aborted: it is over at once",
    async check({ start }) {
      const { done } = start(
        'void tools.test.hang({}).catch(() => {}); await tools.test.echo({}); throw new Error("over")',
      );
      const run = await done;
      expect([run.state, run.error?.message]).toEqual(["failed", "over"]);
      await expect.poll(() => run.aborted, { timeout: 5000 }).toBe(1);
    },
  },
  {
    id: "call.discovery",
    sentence: "discovery, documentation and questions go to the host",
    async check({ run }) {
      const { result } = await run(`
        return {
          services: await cyrnel.discoverServices({ query: "mail", limit: 3 }), allServices: await cyrnel.discoverServices(),
          found: await cyrnel.discoverTools({ query: "send", serviceId: "test" }), searched: await tools.search({ query: "send", limit: 5 }),
          service: await cyrnel.getService("test"), missing: await cyrnel.getService("nope").catch((e) => [e.message, e.code, e.status]),
          tool: await cyrnel.getTool({ serviceId: "test", toolId: "echo" }), described: await tools.describe.tool({ path: "test.echo" }),
          docs: await cyrnel.getToolDocs({ serviceId: "test", toolId: "echo" }),
          answer: await cyrnel.ask({ message: "Go on?", schema: { type: "boolean" } }),
        };`);
      expect(result.services[0].name).toBe('{"query":"mail","limit":3}');
      expect(result.allServices[0].name).toBe("{}");
      expect(JSON.parse(result.found[0].name)).toEqual({ query: "send", serviceId: "test" });
      expect(JSON.parse(result.searched[0].name)).toEqual({ query: "send", limit: 5 });
      expect(result.service.id).toBe("test");
      expect(result.missing).toEqual(["Unknown service nope.", "not_found", 404]);
      expect(result.tool).toEqual(result.described);
      expect(result.docs).toBe("# test.echo");
      expect(result.answer.request).toEqual({ message: "Go on?", schema: { type: "boolean" } });
    },
  },
  {
    id: "call.discovery-wrong",
    sentence: "wrong arguments of discovery reject with a sentence, without a call",
    async check({ run }) {
      const { result } = await run(`
        const attempts = [
          () => cyrnel.discoverServices(5), () => cyrnel.discoverTools({ query: 1 }), () => cyrnel.discoverTools({ limit: 0 }),
          () => cyrnel.discoverTools({ limit: 1e9 }), () => cyrnel.getService(), () => cyrnel.getTool("x"), () => cyrnel.getTool({ serviceId: "a" }),
          () => cyrnel.ask({}), () => cyrnel.ask({ message: "x".repeat(20_000) }), () => tools.describe.tool({ path: "nodot" }),
          () => cyrnel.ask({ message: "x", schema: 5 }),
        ];
        return await Promise.all(attempts.map((attempt) => attempt().then(() => "passed", (e) => e instanceof TypeError)));`);
      expect(result).toEqual(Array(11).fill(true));
    },
  },
  {
    id: "call.proxies",
    sentence: "tools cannot be enumerated or changed, and awaiting a node makes no call",
    async check({ run }) {
      const { result, calls } = await run(`
        const attempt = (f) => { try { return f(); } catch (e) { return e.name; } };
        const awaited = await tools.test;
        return [Object.keys(tools), "test" in tools, Object.getOwnPropertyNames(tools.test), tools.test.then, tools[Symbol.iterator],
          typeof awaited, JSON.stringify({ tools }), attempt(() => { tools.x = 1; }), attempt(() => { delete tools.test; }),
          attempt(() => Object.setPrototypeOf(tools, null)), attempt(() => Object.freeze(tools)), String(tools.test), "" + tools, typeof tools.then];`);
      expect(calls).toEqual([]);
      expect(result).toEqual([
        [],
        false,
        [],
        null,
        null,
        "function",
        "{}",
        "TypeError",
        "TypeError",
        "TypeError",
        "TypeError",
        "tools.test",
        "tools",
        "undefined",
      ]);
    },
  },
  {
    id: "call.any-service",
    sentence: "a service may have the name of a member that every object has",
    async check({ run }) {
      const { result, calls } = await run(`
        const names = ["constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "search", "$", "_", "class", "await"];
        return Promise.all(names.map((name) => tools[name].list({}).catch((error) => error.message)));`);
      const names = [
        "constructor",
        "prototype",
        "toString",
        "valueOf",
        "hasOwnProperty",
        "search",
        "$",
        "_",
        "class",
        "await",
      ];
      expect(result).toEqual(names.map((name) => `Unknown service ${name}.`));
      expect(calls).toHaveLength(names.length);
    },
  },
];
