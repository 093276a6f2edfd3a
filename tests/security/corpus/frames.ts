/** Probes: messages forged through text, names, numbers and ids, and messages after the end. */
import { expect } from "vitest";
import { type Control, collecting, type Probe } from "./probe.ts";

const forged: Control = { in: "naive-bridge", shows: "forged" };
/** Text that ends the message it stands in and begins another, for bridges that join strings. */
const BREAK_TEXT = 'x"}\n{"method":"end","text":"FORGED-FRAME';
/** The beginning of every kind of message there is, and bytes that look like a frame's length. */
const PREFIXES = [
  '{"method":"timer","params":{"id":1,"ms":0}}',
  '{"method":"clear","params":{"id":1}}',
  '{"method":"attach","params":{"bytes":262144}}',
  '{"method":"take","params":{"at":0}}',
  "AAAA",
  '{"method":"idle"}',
  '{"method":"done","params":{}}',
  '{"jsonrpc":"2.0","method":"end","params":{"ok":true,"result":"FORGED-FRAME"}}',
  '{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"serviceId":"test","toolId":"echo","parameters":{}}}',
  '\u0000\u0000\u0000\u0005{"a"}',
  "\u0000\u0000\u0000\u0000",
  "\u0080\u0000\u0000\u0002\u0000\u0000\u0000\u0001{}x",
  "\r\n\r\n",
  "\u2028\u2029",
  "\ufeff",
];

export const frameProbes: Probe[] = [
  {
    id: "frames.text",
    entries: [27, 34],
    steals: "a message of the script's own making, written as text",
    script: `for (const text of ${JSON.stringify([BREAK_TEXT, ...PREFIXES])}) { console.log(text); console.error(text); } return 1`,
    observe(run) {
      expect([run.state, run.result, run.calls.length]).toEqual(["success", 1, 0]);
      const written = [BREAK_TEXT, ...PREFIXES].map((text) => `${text}\n`).join("");
      expect(run.stdout).toBe(written);
      expect(run.stderr).toBe(written);
    },
    control: forged,
  },
  {
    id: "frames.names-of-tools",
    entries: [27],
    steals: "a message of the script's own making, in the names of a service and a tool",
    script: `const caught = []; for (const name of ${JSON.stringify([BREAK_TEXT, ...PREFIXES])}) { await tools[name][name]({}).catch((error) => caught.push(error.code)); await cyrnel.services.test.tools[name].invoke({}).catch((error) => caught.push(error.code)); } return caught`,
    observe(run) {
      const names = [BREAK_TEXT, ...PREFIXES];
      expect([run.state, run.result]).toEqual(["success", names.flatMap(() => ["not_found", "not_found"])]);
      expect(run.calls.map(({ serviceId, toolId }) => [serviceId, toolId])).toEqual(
        names.flatMap((name) => [
          [name, name],
          ["test", name],
        ]),
      );
    },
    control: { ...forged, script: `await tools.test[${JSON.stringify(BREAK_TEXT)}]({});` },
  },
  {
    id: "frames.keys-of-output",
    entries: [27],
    steals: "a message of the script's own making, in the keys of an output",
    script: `for (const key of ${JSON.stringify([BREAK_TEXT, ...PREFIXES])}) cyrnel.output({ [key]: { [key]: key } }); return 1`,
    observe(run) {
      expect([run.state, run.calls.length]).toEqual(["success", 0]);
      expect(Object.keys(run.output)).toEqual([BREAK_TEXT, ...PREFIXES]);
    },
    control: {
      ...forged,
      script: `cyrnel.output({ [${JSON.stringify('a":1}}\n{"method":"end","text":"FORGED-FRAME","b')}]: 1 });`,
    },
  },
  {
    id: "frames.result",
    entries: [25, 27],
    steals: "a second end, in the text of a result",
    script: `const texts = ${JSON.stringify([BREAK_TEXT, ...PREFIXES])}; return Object.fromEntries(texts.map((text) => [text, [text]]))`,
    observe(run) {
      expect(run.state).toBe("success");
      expect(Object.keys(run.result)).toEqual([BREAK_TEXT, ...PREFIXES]);
    },
  },
  {
    id: "frames.error",
    entries: [27],
    steals: "a second end, in the name, message or stack of an error",
    script: `const error = new Error(${JSON.stringify(`${BREAK_TEXT}${PREFIXES.join("")}`)}); error.name = ${JSON.stringify(PREFIXES[4])}; error.stack = ${JSON.stringify(`${BREAK_TEXT}\n    at script.ts:1:1`)}; throw error`,
    observe(run) {
      expect([run.state, run.error?.reason, run.hasResult]).toEqual(["failed", "script_error", false]);
      expect(run.error?.message).toBe(`${BREAK_TEXT}${PREFIXES.join("")}`);
      expect(run.error?.name).toBe(PREFIXES[4]);
    },
  },
  {
    id: "frames.raw-json",
    steals: "the form of a message, by text that is put into JSON as it is",
    script: String.raw`
      const refused = [];
      for (const text of ['1}', '"a"}\n{', '{}', '[1]', '', '1 ,2', '\n1', '"\u0000"', 'nul', '1,"x":2']) { try { cyrnel.output({ a: JSON.rawJSON(text) }); refused.push("sent " + text); } catch (error) { refused.push(error instanceof Error); } }
      cyrnel.output({ big: JSON.rawJSON("1e999"), long: JSON.rawJSON("1" + "0".repeat(400)), text: JSON.rawJSON('"\ud800"'), fake: Object.freeze(Object.assign(Object.create(null), { rawJSON: '1},{"forged":1' })) });
      return refused;`,
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", Array(10).fill(true)]);
      expect(run.output.fake).toEqual({ rawJSON: '1},{"forged":1' });
      expect(run.output.text).toBe("\ufffd");
      expect(JSON.stringify([run.output.big, run.output.long])).toBe("[null,null]");
    },
  },
  {
    id: "frames.lone-surrogates",
    entries: [32],
    steals: "the host's calm: halves of characters in every place that takes text",
    script: String.raw`
      const half = "a\ud800b\udc00";
      console.log(half); console.error([half]); cyrnel.output({ [half]: half });
      const reply = await tools.test.echo({ [half]: [half] });
      await tools[half][half]({}).catch(() => {});
      await cyrnel.ask({ message: half });
      return [half, reply, Object.keys(reply)[0].length];`,
    observe(run) {
      expect(run.state).toBe("success");
      const text = JSON.stringify([run.stdout, run.output, run.calls.map(({ serviceId }) => serviceId)]);
      expect(Buffer.from(text).toString()).toBe(Buffer.from(Buffer.from(text).toString()).toString());
      expect(run.calls).toHaveLength(2);
    },
  },
  {
    id: "frames.long-names",
    entries: [27],
    steals: "memory and logs, by names of a megabyte, of control characters and of nothing",
    script: String.raw`
      const outcomes = [];
      for (const name of ["x".repeat(1_000_000), "\0".repeat(501), "", "😀".repeat(400), "\u202e\u0000\u001b[31m", " ", "é".repeat(500)]) {
        try { await tools[name].t({}); outcomes.push("sent"); } catch (error) { outcomes.push(error.message.length < 2000 ? error.name : "too long"); }
        try { await cyrnel.getService(name); outcomes.push("sent"); } catch (error) { outcomes.push(error.message.length < 2000 ? error.name : "too long"); }
      }
      return outcomes;`,
    observe(run) {
      expect(run.state).toBe("success");
      for (const outcome of run.result) expect(["TypeError", "NotFoundError", "Error"]).toContain(outcome);
      for (const { serviceId } of run.calls) expect(serviceId.length).toBeLessThanOrEqual(500);
    },
  },
  {
    id: "frames.large-parameters",
    entries: [30],
    steals: "the bound of a message: parameters of five megabytes, in one string, in many keys, in escapes",
    script: String.raw`
      const outcomes = [];
      for (const parameters of [{ a: "x".repeat(5_000_000) }, Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => ["key" + index, index])), { a: "\0".repeat(200_000) }, { ["k".repeat(2_000_000)]: 1 }, { a: "€".repeat(400_000) }]) {
        try { await tools.test.echo(parameters); outcomes.push("sent"); } catch (error) { outcomes.push(error.message.includes("maxMessageBytes")); }
      }
      return [outcomes, await tools.test.echo({ a: "x".repeat(900_000) }).then(({ a }) => a.length)];`,
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", [Array(5).fill(true), 900_000]]);
      expect(run.calls).toHaveLength(1);
    },
  },
  {
    id: "frames.timer-numbers",
    entries: [28],
    steals: "the form of a timer's message, by numbers that are none",
    script: collecting(String.raw`
      const odd = [Infinity, -Infinity, NaN, -1, 0, 1e400, 2 ** 31, 2 ** 53, -0, "5", "x", null, undefined, {}, [], { valueOf: () => 1 }, { valueOf: () => '1},"x":"FORGED-FRAME"}\n{' }, { toString: () => "1" }, true, "1e3", "0x10"];
      let fired = 0;
      for (const ms of odd) { const timer = setTimeout(() => fired++, ms); if (typeof +timer !== "number") note("a timer without a number"); if (ms === "1e3") clearTimeout(timer); }
      for (const ms of [Symbol("s"), 1n, { valueOf() { throw new Error("mine"); } }, Object.create(null)]) { const error = attempt(() => setTimeout(() => {}, ms)); if (error instanceof Error === false) clearTimeout(error); }
      await new Promise((resolve) => setTimeout(resolve, 60));
      if (fired < 10) note("only " + fired + " timers fired");`),
    observe: "no loot",
    control: {
      ...forged,
      script: String.raw`setTimeout(() => {}, { toString: () => '1}\n{"method":"end","x":"FORGED-FRAME"' });`,
    },
  },
  {
    id: "frames.timer-ids",
    entries: [28],
    steals: "timers that are not the script's, by guessed ids, forged timer objects and clears of anything",
    script: collecting(String.raw`
      let fired = 0;
      const timer = setTimeout(() => fired++, 30);
      const Timeout = timer.constructor;
      const forgedTimer = attempt(() => new Timeout(+timer + 1));
      for (const id of [-1, 0, 1e9, NaN, Infinity, "1", "x", {}, [], null, undefined, Symbol("s"), 1n, { [Symbol.toPrimitive]: () => +timer }, new Proxy(timer, {}), Object.create(timer)]) { attempt(() => clearTimeout(id)); attempt(() => clearInterval(id)); attempt(() => clearImmediate(id)); }
      for (const act of [() => forgedTimer.refresh(), () => forgedTimer.close(), () => Timeout.prototype.refresh.call({}), () => Timeout.prototype.close.call(new Proxy(timer, {})), () => timer.refresh.call(forgedTimer), () => Object.assign(timer, { id: 5 })]) take("timer", attempt(act));
      take("Timeout", Timeout);
      generate("timer", (code) => Timeout.constructor(code)());
      await new Promise((resolve) => setTimeout(resolve, 80));
      if (fired !== 1) note("the timer fired " + fired + " times");`),
    observe: "no loot",
    control: { in: "naive-vm", shows: "loot" },
  },
  {
    id: "frames.after-the-end",
    entries: [29],
    steals: "the records of a run that is over: what is sent after the result",
    script: String.raw`
      const later = () => { console.log("LATE"); cyrnel.output({ late: 1 }); tools.test.echo({ late: 1 }).catch(() => {}); };
      setTimeout(later, 0); setImmediate(later); setInterval(later, 1); for (let index = 0; index < 20; index++) setTimeout(later, index);
      return { get a() { queueMicrotask(later); return 1; }, toJSON() { queueMicrotask(() => Promise.resolve().then(later)); return "done"; } };`,
    async observe(run) {
      expect([run.state, run.result]).toEqual(["success", "done"]);
      const before = [run.stdout, run.calls.length, JSON.stringify(run.output)];
      await new Promise((resolve) => setTimeout(resolve, 60));
      expect([run.stdout, run.calls.length, JSON.stringify(run.output)]).toEqual(before);
    },
  },
  {
    id: "frames.two-ends",
    entries: [29],
    steals: "a second end: the script returns, throws, rejects and outputs too much at the same moment",
    script: String.raw`
      setTimeout(() => { throw new Error("timer"); }, 0); queueMicrotask(() => { Promise.reject(new Error("rejected")); });
      return { toJSON() { try { cyrnel.output({ a: "x".repeat(5_000_000) }); } catch {} throw new Error("result"); } };`,
    observe(run) {
      expect([run.state, run.hasResult]).toEqual(["failed", false]);
      expect(["output_limit", "script_error"]).toContain(run.error?.reason);
    },
  },
];
