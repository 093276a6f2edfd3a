/**
 * Behaviour common to all adapters. Every case gets its own bench; an adapter's test file declares its differences.
 */
import { inspect } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, vi } from "vitest";
import { causesOf } from "#modules/shared/failures.ts";
import { serviceDefinitionSchema } from "#sdk";
import { type AdapterBench, SECRET } from "./bench.ts";

export interface AdapterCase {
  id: string;
  sentence: string;
  /** It needs a server that is called. */
  callsOut?: true;
  check(bench: AdapterBench): Promise<void>;
}

const MAX_MESSAGE_CHARACTERS = 10_000;
const LIMITS = { timeoutMs: 60_000, maxResponseBytes: 64 * 1024 };

async function failureOf(call: Promise<unknown>): Promise<Error> {
  const error = await call.then(
    (value) => expect.fail(`it answered ${inspect(value).slice(0, 200)}`),
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  expect(error.message).not.toBe("");
  expect(error.message.length).toBeLessThan(MAX_MESSAGE_CHARACTERS);
  return error;
}

/** In the text, its causes and everything they carry. */
function expectNoSecret(value: unknown): void {
  expect(inspect(value, { depth: 12, maxStringLength: null, maxArrayLength: null })).not.toContain(SECRET);
}

const within = <T>(promise: Promise<T>, maxMs: number): Promise<T> =>
  Promise.race([
    promise,
    new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error(`nothing came within ${maxMs} ms`)), maxMs).unref();
    }),
  ]);

export const ADAPTER_CASES: readonly AdapterCase[] = [
  {
    id: "definition.shape",
    sentence: "a definition has named tools with ids of their own, and can be stored as JSON",
    async check(bench) {
      const definition = await bench.define();
      expect(serviceDefinitionSchema.parse(JSON.parse(JSON.stringify(definition)))).toEqual(definition);
      expect(definition.name).not.toBe("");
      const ids = definition.tools.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toContain(bench.subject.call.toolId);
      for (const tool of definition.tools) expect(tool.name).not.toBe("");
    },
  },
  {
    id: "definition.schemas",
    sentence:
      "its schemas compile; those of parameters, settings and secrets are of objects, which what is used here fits",
    async check(bench) {
      const ajv = new Ajv2020({ strict: false });
      (addFormats as unknown as (instance: unknown) => void)(ajv);
      const { configSchema, secretsSchema, tools } = await bench.define();
      const { subject, url } = bench;
      for (const [schema, value] of [
        [configSchema, subject.config?.(url) ?? {}],
        [secretsSchema, subject.secrets],
        [tools.find(({ id }) => id === subject.call.toolId)?.inputSchema, subject.call.parameters],
      ] as const) {
        const check = ajv.compile(schema ?? false);
        expect(check(value), JSON.stringify(check.errors)).toBe(true);
        expect(schema).toMatchObject({ type: "object" });
      }
      for (const tool of tools) ajv.compile(tool.outputSchema);
    },
  },
  {
    id: "definition.stable",
    sentence: "the same text makes the same definition, in another instance too",
    async check(bench) {
      const first = await bench.define();
      expect(await bench.define()).toEqual(first);
      const other = await bench.subject.instantiate();
      await other.setup({
        config: bench.subject.moduleConfig ?? {},
        secrets: {},
        logger: { debug() {}, info() {}, warn() {}, error() {} },
        fetch,
      });
      const config = bench.subject.config?.(bench.url) ?? {};
      const given = { config, secrets: bench.subject.secrets };
      expect(await other.generateDefinition(bench.subject.define(bench.url), given)).toEqual(first);
      await other.teardown();
    },
  },
  {
    id: "definition.destructive",
    sentence: "a tool that changes something is destructive",
    async check(bench) {
      const { tools } = await bench.define();
      expect(tools.find(({ id }) => id === bench.subject.call.toolId)?.destructive).toBe(true);
    },
  },
  {
    id: "definition.secrets",
    sentence: "no secret that was given to make it is in a definition",
    async check(bench) {
      expectNoSecret(await bench.define());
      expectNoSecret(bench.logged);
    },
  },
  {
    id: "definition.hostile",
    sentence: "what is no definition is refused in a sentence, and the next one is read",
    async check(bench) {
      const nested = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
      const common = { empty: "", "no JSON": "{", null: "null", list: "[]", number: "7", nested };
      for (const [what, definition] of Object.entries({ ...common, ...bench.subject.hostile })) {
        const error = await failureOf(within(bench.adapter.generateDefinition(definition), 20_000));
        expect(error.message, what).not.toMatch(/nothing came within|\n\s+at /);
      }
      await bench.define();
    },
  },
  {
    id: "invoke.success",
    sentence: "a call answers with JSON; many at once each get their answer",
    async check(bench) {
      await bench.hydrate("one");
      const results = await Promise.all(Array.from({ length: 20 }, () => bench.call("one")));
      for (const result of results) {
        expect(result).toMatchObject(bench.subject.call.result as object);
        expect(JSON.parse(JSON.stringify(result))).toEqual(result);
      }
    },
  },
  {
    id: "invoke.unknown",
    sentence: "what is not there cannot be called, nor what every object has",
    async check(bench) {
      await bench.hydrate("one");
      for (const serviceId of ["other", "constructor", "__proto__"]) await failureOf(bench.call(serviceId));
      for (const toolId of ["none", "constructor", "__proto__", "then", ""]) {
        await failureOf(bench.adapter.invoke({ serviceId: "one", toolId, parameters: {} }));
      }
    },
  },
  {
    id: "invoke.failure",
    sentence: "a connection that breaks fails the call, without the secret; the next call works",
    callsOut: true,
    async check(bench) {
      await bench.hydrate("one");
      await bench.call("one");
      bench.behaviour = "drop";
      expectNoSecret(await failureOf(within(bench.call("one"), 20_000)));
      bench.behaviour = "honest";
      await vi.waitFor(() => bench.call("one"), { timeout: 5000 });
      expectNoSecret(bench.logged);
    },
  },
  {
    id: "secrets.sent",
    sentence: "secrets go with the call, to the server and nowhere else; none is in the result",
    callsOut: true,
    async check(bench) {
      await bench.hydrate("one");
      const before = bench.received.length;
      expectNoSecret(await bench.call("one"));
      const isCall = bench.subject.isCall ?? (() => true);
      const calls = bench.received.slice(before).filter(isCall);
      expect(calls).toHaveLength(1);
      const anonymous = bench.received.length;
      await bench.hydrate("two", { secrets: { ...bench.subject.secrets, ...otherSecrets(bench) } });
      await bench.call("two");
      const [other] = bench.received.slice(anonymous).filter(isCall);
      // The request depends on the secret.
      expect(other?.headers).not.toEqual(calls[0]?.headers);
    },
  },
  {
    id: "secrets.origins",
    sentence: "the places that secrets go to are named, before anything is sent there",
    callsOut: true,
    async check(bench) {
      const { subject, adapter, url } = bench;
      const { adapterDomain, tools } = JSON.parse(JSON.stringify(await bench.define()));
      const config = subject.config?.(url) ?? {};
      const before = bench.fetches;
      const known = Object.fromEntries(tools.map((tool: { id: string }) => [tool.id, tool]));
      const found = await adapter.secretOrigins?.({ adapterDomain, tools: known, config });
      // One of a single secret says whose it is.
      const origins = found?.map((to) => (typeof to === "string" ? to : to.place.split(" ", 1)[0]));
      expect(origins).toEqual([url]);
      const ahead = await adapter.secretOrigins?.({ definition: subject.define(url), config });
      expect([[], [url]]).toContainEqual(ahead);
      expect(bench.fetches).toBe(before);
    },
  },
  {
    id: "egress.fetch",
    sentence: "every request goes through the host's fetch",
    callsOut: true,
    async check(bench) {
      await bench.hydrate("one");
      await bench.call("one");
      expect(bench.received.length).toBeGreaterThan(0);
      expect(bench.fetches).toBeGreaterThanOrEqual(bench.received.length);
    },
  },
  {
    id: "egress.refused",
    sentence: "what the host refuses is told in the host's words, and nothing is sent",
    callsOut: true,
    async check(bench) {
      await bench.hydrate("one");
      const before = bench.received.length;
      bench.refusesEgress = true;
      const error = await failureOf(bench.call("one"));
      const refusal = causesOf(error).find(({ code }) => code === "egress_refused");
      expect(refusal?.message).toContain("CYRNEL_EGRESS_DENY refuses it");
      expect(bench.received).toHaveLength(before);
    },
  },
  {
    id: "egress.redirect",
    sentence: "a redirect to another origin is not followed",
    callsOut: true,
    async check(bench) {
      await bench.hydrate("one");
      bench.behaviour = "redirect";
      expectNoSecret(await within(bench.call("one"), 20_000).catch((error) => error));
      expect(bench.elsewhere).toEqual([]);
    },
  },
  {
    id: "limits.abort",
    sentence: "an abort ends the call and its connection at once; an aborted one is not begun",
    callsOut: true,
    async check(bench) {
      await bench.hydrate("one", { config: { timeoutMs: LIMITS.timeoutMs } });
      await bench.call("one");
      const before = bench.received.length;
      await failureOf(bench.call("one", AbortSignal.abort()));
      expect(bench.received).toHaveLength(before);
      bench.behaviour = "hang";
      const controller = new AbortController();
      const call = failureOf(bench.call("one", controller.signal));
      await vi.waitUntil(() => bench.received.length > before, 10_000);
      controller.abort();
      expectNoSecret(await within(call, 2000));
      await vi.waitUntil(() => bench.abandoned > 0, 20_000);
    },
  },
  {
    id: "limits.time",
    sentence: "a server that never answers costs timeoutMs and no more",
    callsOut: true,
    async check(bench) {
      await bench.hydrate("one", { config: { timeoutMs: 400 } });
      await bench.call("one");
      bench.behaviour = "hang";
      const before = performance.now();
      expectNoSecret(await failureOf(within(bench.call("one"), 5000)));
      expect(performance.now() - before).toBeGreaterThan(350);
    },
  },
  {
    id: "limits.size",
    sentence: "an answer beyond the bound fails the call and is not read to its end",
    callsOut: true,
    async check(bench) {
      await bench.hydrate("one", { config: { maxResponseBytes: LIMITS.maxResponseBytes } });
      bench.behaviour = "large";
      const error = await failureOf(within(bench.call("one"), 20_000));
      expect(error.message).toMatch(/\d+ bytes/);
    },
  },
  {
    id: "settings.refused",
    sentence: "settings that cannot be used are refused by place, without their value; what was held goes on",
    async check(bench) {
      await bench.hydrate("one");
      for (const settings of bench.subject.badSettings)
        expectNoSecret(await failureOf(bench.hydrate("one", settings)));
      await bench.call("one");
    },
  },
  {
    id: "lifecycle.replace",
    sentence: "hydrating again replaces what was held: tools that are gone cannot be called",
    async check(bench) {
      await bench.hydrate("one");
      await bench.hydrate("one", { tools: [] });
      await failureOf(bench.call("one"));
      await bench.hydrate("one");
      await bench.call("one");
    },
  },
  {
    id: "lifecycle.dehydrate",
    sentence: "a service that was taken down cannot be called; another stays; twice does no harm",
    async check(bench) {
      await bench.hydrate("one");
      await bench.hydrate("two");
      await bench.adapter.dehydrateService("one");
      await bench.adapter.dehydrateService("one");
      await bench.adapter.dehydrateService("never");
      await failureOf(bench.call("one"));
      await bench.call("two");
    },
  },
  {
    id: "lifecycle.again",
    sentence: "after teardown nothing is held; set up again, it works as before",
    async check(bench) {
      await bench.hydrate("one");
      await bench.adapter.teardown();
      await failureOf(bench.call("one"));
      await bench.setup();
      await failureOf(bench.call("one"));
      await bench.define();
      await bench.hydrate("one");
      await bench.call("one");
    },
  },
];

function otherSecrets({ subject }: AdapterBench): Record<string, unknown> {
  return JSON.parse(JSON.stringify(subject.secrets).replaceAll(SECRET, "another-secret-0815"));
}
