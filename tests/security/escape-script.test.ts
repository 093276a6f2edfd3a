/**
 * The escape corpus as scripts: every probe on both environments, through the module contract, and the control of each
 * in the weaker sandbox where the same attack works. While a probe runs, a neighbour must not notice.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instantiate as instantiateIvm } from "#modules/typescript-ivm/index.ts";
import { instantiate as instantiateProcess } from "#modules/typescript-process/index.ts";
import { type Bench, type EnvironmentUnderTest, openBench, probesOver, type Run } from "../contract/bench.ts";
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
  let neighbours: Neighbours;
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const prototypes = describePrototypes();

  beforeAll(async () => {
    process.on("unhandledRejection", onError);
    process.on("uncaughtException", onError);
    bench = await openBench({ ...subject, packages: servePackages(HOSTILE_PACKAGES) });
    neighbours = createNeighbours(bench);
  });
  afterAll(async () => {
    await neighbours?.close();
    process.off("unhandledRejection", onError);
    process.off("uncaughtException", onError);
    await bench?.[Symbol.asyncDispose]();
  });

  test.each(PROBES.map((probe) => [probe.id, probe.steals, probe] as const))(
    "%s: %s",
    async (_id, _steals, probe) => {
      const neighbour = neighbours.join();
      const run = await bench.run(probe.script, { timeoutMs: DEFAULT_TIMEOUT_MS, ...probe.options });
      await observe(probe, run, bench);
      await neighbour.leave();
      expect(errors).toEqual([]);
      expect(describePrototypes()).toBe(prototypes);
    },
    180_000,
  );
});

const PROBES_PER_NEIGHBOUR = 10;
const NEIGHBOUR_TIMEOUT_MS = 600_000;

/** Works until its probes are over: what one of them breaks, the next round shows. */
const neighbourScript = (name: string) => `
  let rounds = 0;
  for (let isOver = false; !isOver; rounds++) {
    let sum = 0;
    for (let index = 1; index <= 100; index++) sum += index;
    const { back } = await tools.test.echo({ back: sum });
    if (back !== 5050) throw new Error("echo returned " + back);
    ({ isOver } = await tools.test.areProbesOver({ name: ${JSON.stringify(name)} }));
  }
  console.log("beside");
  return [cyrnel.process.id, rounds > 0];`;

interface Neighbours {
  /** `leave` of its last probe rejects if the neighbour has noticed any of them. */
  join(): { leave(): Promise<void> };
  /** Ends those that are left. */
  close(): Promise<void>;
}

/** One neighbour for ten probes: a run that works beside all of them and ends after the last. */
function createNeighbours(bench: Bench): Neighbours {
  let current: ReturnType<typeof start> | null = null;

  function start() {
    const name = randomUUID();
    const over = Promise.withResolvers<void>();
    probesOver.set(name, over.promise);
    const run = bench.start(neighbourScript(name), { timeoutMs: NEIGHBOUR_TIMEOUT_MS });
    return { run, over, joined: 0, present: 0 };
  }

  async function end({ run, over }: ReturnType<typeof start>): Promise<void> {
    over.resolve();
    const beside = await run.done;
    expect([beside.state, beside.error, beside.result, beside.stdout]).toEqual([
      "success",
      undefined,
      [run.eid, true],
      "beside\n",
    ]);
  }

  return {
    join() {
      if (current === null || current.joined === PROBES_PER_NEIGHBOUR) current = start();
      const neighbour = current;
      neighbour.joined++;
      neighbour.present++;
      return {
        async leave() {
          neighbour.present--;
          if (neighbour.joined === PROBES_PER_NEIGHBOUR && neighbour.present === 0) await end(neighbour);
        },
      };
    },
    async close() {
      if (current !== null && current.joined < PROBES_PER_NEIGHBOUR) await end(current);
    },
  };
}

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
