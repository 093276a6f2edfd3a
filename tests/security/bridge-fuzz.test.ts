/**
 * A hostile child against the host's side of the bridge, from fixed seeds. Every failure prints its seed and the
 * messages it takes. FUZZ_FRAMES sets how many frames are played.
 */
import { describe, expect, test } from "vitest";
import { checkMessage } from "#runner/host/outcome.ts";
import { createMonitor } from "#runner/process/monitor.ts";
import { encodeFrameText, parseFrame } from "#runner/wire/frames.ts";
import { DEFAULT_SESSION_LIMITS } from "#runner/wire/protocol.ts";
import { runCampaign } from "./bridge-fuzz/campaign.ts";
import { createConversation, cutIntoChunks } from "./bridge-fuzz/conversation.ts";
import { playAsProcess } from "./bridge-fuzz/hostile-runs.ts";
import { findFaultInCall, findFaultInEnd, findFaultInOutput } from "./bridge-fuzz/legitimate.ts";
import { createPrng } from "./bridge-fuzz/prng.ts";

const FRAMES = Number(process.env.FUZZ_FRAMES ?? 20_000);
/** 20,000 frames take a few seconds. */
const TIMEOUT_MS = 120_000 + FRAMES;
const FIRST_SEED = 1;
const FIRST_PROCESS_SEED = 260;
const PROCESSES = 40;
const PROCESSES_AT_ONCE = 4;
const MAX_KEPT_BYTES = 48 * 1024 * 1024;

describe("the host's side of the bridge", () => {
  test(
    `judges ${FRAMES} frames of a hostile child: it never throws, stays within its bounds and ends every run once`,
    async () => {
      const campaign = await runCampaign({ firstSeed: FIRST_SEED, frames: FRAMES });
      expect(campaign.failure ?? "none").toBe("none");
      expect(campaign.frames).toBeGreaterThanOrEqual(FRAMES);
      expect(campaign.heapGrowthBytes).toBeLessThan(MAX_KEPT_BYTES);
      // A campaign that never got past the first check would prove nothing: every way to end was met.
      expect(Object.keys(campaign.ends).sort()).toEqual([
        "aborted",
        "closed broken",
        "closed closed",
        "closed ended",
        "end ok",
        "end output_limit",
        "end script_error",
        "end unhandled_rejection",
        "violation output_limit",
        "violation sandbox_violation",
      ]);
    },
    TIMEOUT_MS,
  );

  test(`ends the runs of ${PROCESSES} hostile processes, and the processes`, async () => {
    using monitor = createMonitor();
    const seeds = Array.from({ length: PROCESSES }, (_, index) => FIRST_PROCESS_SEED + index);
    const failures: string[] = [];
    const reasons = new Set<string>();
    async function work(): Promise<void> {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const { faults, leaving, reason } = await playAsProcess(seed, monitor);
        reasons.add(reason);
        if (faults.length > 0) failures.push(`seed ${seed}, leaving by ${leaving}: ${faults.join("; ")}`);
      }
    }
    await Promise.all(Array.from({ length: PROCESSES_AT_ONCE }, work));
    expect(failures).toEqual([]);
    expect([...reasons]).toEqual(expect.arrayContaining(["ok", "sandbox_violation", "crashed", "timeout"]));
  }, 120_000);

  test("keeps every spelling of __proto__ as a key like any other", () => {
    const letters = ["_", "_", "p", "r", "o", "t", "o", "_", "_"];
    const spell = (letter: string) => `\\u00${letter.charCodeAt(0).toString(16).padStart(2, "0")}`;
    for (let mask = 0; mask < 2 ** letters.length; mask++) {
      const key = letters.map((letter, index) => (mask & (1 << index) ? spell(letter) : letter)).join("");
      for (const spelled of [key, key.toUpperCase().replaceAll("\\U", "\\u")]) {
        const text = `{"a":{"${spelled}":{"polluted":1},"b":"${spelled}"}}`;
        const { value } = parseFrame(encodeFrameText(text).subarray(4), 10);
        const { a } = value as { a: Record<string, unknown> };
        expect(Object.hasOwn(a, "__proto__")).toBe(JSON.parse(`"${spelled}"`) === "__proto__");
        expect([Object.getPrototypeOf(a), a.polluted]).toEqual([Object.prototype, undefined]);
        expect(a.b).toBe(JSON.parse(`"${spelled}"`));
      }
    }
  });
});

test("a large integer is no object of parameters, as its digits are to the host", () => {
  const check = (parameters: string) => {
    const params = `{"serviceId":"s","toolId":"t","parameters":${parameters}}`;
    const frame = encodeFrameText(`{"jsonrpc":"2.0","id":1,"method":"invoke","params":${params}}`);
    return checkMessage(parseFrame(frame.subarray(4), 20), frame.length, DEFAULT_SESSION_LIMITS);
  };
  expect(check('{"id":12345678901234567890}')).toMatchObject({ message: { method: "invoke" } });
  expect(check("12345678901234567890")).toMatchObject({ kind: "violation", reason: "sandbox_violation" });
});

describe("the fuzzer", () => {
  test("makes the same conversation from the same seed", () => {
    for (let seed = 1; seed < 50; seed++) {
      const [first, second] = [createConversation(seed), createConversation(seed)];
      expect(second).toEqual(first);
      expect(Buffer.concat(cutIntoChunks(second)).equals(Buffer.concat(cutIntoChunks(first)))).toBe(true);
    }
    const draw = (seed: number) => Array.from({ length: 5 }, createDraws(seed));
    expect(draw(1)).not.toEqual(draw(2));
  });

  test("sees what must not reach a handler", () => {
    expect(findFaultInCall("invoke", { serviceId: "s", toolId: "t", parameters: {} })).toBeNull();
    expect(findFaultInOutput({ a: [1, { b: null }] })).toBeNull();
    expect(findFaultInEnd({ ok: true, result: [[[]]] })).toBeNull();
    for (const fault of [
      findFaultInCall("boot", {}),
      findFaultInCall("invoke", { serviceId: "s", toolId: "t", parameters: [] }),
      findFaultInCall("invoke", { serviceId: "", toolId: "t", parameters: {} }),
      findFaultInCall("invoke", { serviceId: "s", toolId: "t", parameters: {}, eid: 1 }),
      findFaultInCall("discoverTools", { limit: 0 }),
      findFaultInOutput(Object.create({ a: 1 })),
      findFaultInEnd({ ok: true, error: 1 }),
      findFaultInEnd({ ok: false, reason: "timeout", error: { name: "", message: "", stack: "" } }),
      findFaultInEnd({ ok: true, result: JSON.parse("[".repeat(513) + "]".repeat(513)) }),
    ]) {
      expect(fault).toBeTypeOf("string");
    }
  });
});

function createDraws(seed: number): () => number {
  const prng = createPrng(seed);
  return () => prng.int(1_000_000);
}
