/**
 * The escape corpus as scripts: every probe on both environments, through the module contract, and the control of each
 * in the weaker sandbox where the same attack works. While a probe runs, a neighbour must not notice.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instantiate as instantiateIvm } from "#modules/typescript-ivm/index.ts";
import { instantiate as instantiateProcess } from "#modules/typescript-process/index.ts";
import { type Bench, type EnvironmentUnderTest, openBench, type Run } from "../contract/bench.ts";
import { servePackages } from "../contract/packages.ts";
import { runControl } from "./corpus/control/run-control.ts";
import { PROBES } from "./corpus/index.ts";
import { HOSTILE_PACKAGES } from "./corpus/packages.ts";
import type { Probe } from "./corpus/probe.ts";
import { HOST_PROBES } from "./host-realm/probes.ts";
import { ATTACKS } from "./jail/attacks.ts";

/** Of all three kinds: as scripts, in the host's realm, as native code. */
const MIN_ALL_PROBES = 380;
const MIN_PROBES = 290;
const MIN_CONTROLS = 130;
const DEFAULT_TIMEOUT_MS = 60_000;

const ENVIRONMENTS: Record<string, EnvironmentUnderTest> = {
  "typescript-process": {
    instantiate: instantiateProcess,
    config: { maxConcurrency: 4, warmPool: { min: 2, max: 3 } },
  },
  "typescript-ivm": { instantiate: instantiateIvm, config: { slots: 3, minSlots: 2 } },
};

describe.concurrent.each(Object.entries(ENVIRONMENTS))("on %s", (_name, subject) => {
  let bench: Bench & AsyncDisposable;
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const prototypes = describePrototypes();

  beforeAll(async () => {
    process.on("unhandledRejection", onError);
    process.on("uncaughtException", onError);
    bench = await openBench({ ...subject, packages: servePackages(HOSTILE_PACKAGES) });
  });
  afterAll(async () => {
    process.off("unhandledRejection", onError);
    process.off("uncaughtException", onError);
    await bench?.[Symbol.asyncDispose]();
  });

  test.each(PROBES.map((probe) => [probe.id, probe.steals, probe] as const))(
    "%s: %s",
    async (_id, _steals, probe) => {
      const neighbour = bench.start(NEIGHBOUR, { timeoutMs: DEFAULT_TIMEOUT_MS });
      const run = await bench.run(probe.script, { timeoutMs: DEFAULT_TIMEOUT_MS, ...probe.options });
      await observe(probe, run, bench);
      const beside = await neighbour.done;
      expect([beside.state, beside.result, beside.stdout]).toEqual([
        "success",
        [neighbour.eid, 5050],
        "beside\n",
      ]);
      expect(errors).toEqual([]);
      expect(describePrototypes()).toBe(prototypes);
    },
    180_000,
  );
});

const NEIGHBOUR = `
  let sum = 0;
  for (let index = 1; index <= 100; index++) sum += index;
  console.log("beside");
  const { back } = await tools.test.echo({ back: sum });
  return [cyrnel.process.id, back];`;

async function observe({ observe }: Probe, run: Run, bench: Bench): Promise<void> {
  if (typeof observe === "function") return observe(run, bench);
  if (observe === "no loot") {
    expect([run.state, run.error?.message, run.result]).toEqual(["success", undefined, []]);
    return;
  }
  const reason = run.state === "success" ? "ok" : run.error?.reason;
  expect(observe.includes(reason as never), `${run.state}, ${reason}: ${run.error?.message}`).toBe(true);
  if (reason !== "ok") expect(run.error?.message).toMatch(/\w/);
}

describe("the corpus", () => {
  const controlled = PROBES.filter(({ control }) => control !== undefined);

  test(`has at least ${MIN_PROBES} probes, each with a name of its own`, () => {
    expect(new Set(PROBES.map(({ id }) => id)).size).toBe(PROBES.length);
    expect(PROBES.length).toBeGreaterThanOrEqual(MIN_PROBES);
    expect(controlled.length).toBeGreaterThanOrEqual(MIN_CONTROLS);
  });

  test(`has at least ${MIN_ALL_PROBES} probes of all kinds`, () => {
    const counts = {
      "as scripts, on both environments": PROBES.length,
      "in the host's realm of a child": Object.keys(HOST_PROBES).length,
      "as native code": Object.keys(ATTACKS).length,
    };
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const each = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
    console.log(`escape corpus: ${all} probes: ${each.join(", ")}`);
    expect(all).toBeGreaterThanOrEqual(MIN_ALL_PROBES);
  });

  describe.concurrent("each attack works in the weaker sandbox of its control", () => {
    test.each(controlled.map((probe) => [probe.id, probe.control?.in, probe.control?.shows, probe] as const))(
      "%s in %s shows %s",
      async (_id, _sandbox, _sign, probe) => {
        expect(await runControl(probe)).toBeNull();
      },
      120_000,
    );
  });
});

const HOST_PROTOTYPES = [Object, Array, Function, String, Number, Promise, Error, Map, Buffer];

function describePrototypes(): string {
  return HOST_PROTOTYPES.map(({ prototype }) => Reflect.ownKeys(prototype).length).join();
}
