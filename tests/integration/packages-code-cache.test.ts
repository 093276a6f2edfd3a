/**
 * A code cache of a real package is made at its second use, and children take it. What shows it: V8 compares little more than the length
 * of a source with the cache, so a child that has taken one goes by what the cache was made of, whatever text comes with it.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readConfig as readIvmConfig } from "#modules/typescript-ivm/config.ts";
import { openSlots } from "#modules/typescript-ivm/environment.ts";
import { readConfig as readProcessConfig } from "#modules/typescript-process/config.ts";
import { openChildren } from "#modules/typescript-process/environment.ts";
import type { Children } from "#runner/host/environment.ts";
import { type ExecutionContext, runExecution } from "#runner/host/execution.ts";
import { createCodeCacheMaker } from "#runner/host/packages/code-cache.ts";
import { createPackages, type LoadedPackage, type Packages } from "#runner/host/packages/packages.ts";
import type { RunSettings } from "#runner/host/settings-schema.ts";
import type { BundledPackage } from "#runner/packages/bundle.ts";
import { starterFile } from "#runner/packages/starter.ts";
import { DIST } from "#runner/paths.ts";
import { encodePackage } from "#runner/wire/frames.ts";
import type { EnvironmentBindings } from "#sdk";

const PAPAPARSE: BundledPackage = JSON.parse(readFileSync(starterFile("papaparse"), "utf8"));
/** A constant of the package, and another one that is as long. */
const [TRUE_SIZE, FALSE_SIZE] = [10_485_760, 10_485_761];
const CODE = 'import papa from "papaparse"; return papa.LocalChunkSize';
/** The first children of a server may be booted ones, and others forks: each kind has caches of its own. */
const MAX_RUNS = 30;
const logger = { debug() {}, info() {}, warn() {}, error() {} };
const asked = { level: "strict", isExposed: false } as const;

const KINDS: [kind: string, open: () => Promise<[Children, RunSettings]>][] = [
  ["a fork", () => openProcesses(true)],
  ["a booted process", () => openProcesses(false)],
  ["an isolate", openIsolates],
];

async function openIsolates(): Promise<[Children, RunSettings]> {
  const config = readIvmConfig({ slots: 1, minSlots: 1 });
  return [await openSlots(config, asked, logger), config];
}

async function openProcesses(zygote: boolean): Promise<[Children, RunSettings]> {
  const config = readProcessConfig({ maxConcurrency: 1, warmPool: { min: 1, max: 1 } });
  return [await openChildren({ ...asked, zygote, folder: DIST, test: "apart" }, config, logger), config];
}

test.each(KINDS)("one is made for %s and taken by the next", async (_, open) => {
  const [opened, config] = await open();
  await using children = opened;
  const bindings = {
    findPackage: async () => PAPAPARSE,
    readPackage: async () => PAPAPARSE,
    setState() {},
  } as Partial<EnvironmentBindings> as EnvironmentBindings;
  const slots = { size: 1, acquire: async () => ({ release() {}, takeBack() {} }) };
  const parts = { ...children, config, bindings, logger, slots, unit: "slot" };
  const kept = createPackages(bindings, createCodeCacheMaker(parts, new AbortController().signal));
  /** Whether the last run came with a cache. */
  let isCached = false;
  const lying: Packages = {
    ...kept,
    encode: (loaded, isFork) =>
      loaded.map((one) => {
        const cache = one.caches.get(isFork ? "fork" : "booted");
        isCached = cache !== undefined;
        return encodePackage({ ...changeText(one), cache: cache ?? Buffer.alloc(0) });
      }),
  };
  async function sizeWith(packages: Packages): Promise<unknown> {
    const context: ExecutionContext = { ...parts, packages };
    const over = Promise.withResolvers<void>();
    const execution = { kill: new AbortController(), over, isPaused: false, current: null };
    const { exitState, result, error } = await runExecution(
      context,
      { eid: 1, code: CODE },
      execution,
      false,
    );
    expect({ exitState, error }).toEqual({ exitState: "success", error: undefined });
    return result;
  }

  const seen: unknown[] = [];
  for (let run = 0; run < MAX_RUNS && !isCached; run++) {
    expect(await sizeWith(kept)).toBe(TRUE_SIZE);
    await kept.settled();
    seen.push(await sizeWith(lying));
    await kept.settled();
  }
  expect(isCached).toBe(true);
  expect(seen.at(-1)).toBe(TRUE_SIZE);
  // Without one, the text that came is what runs.
  expect(new Set(seen.slice(0, -1))).toEqual(new Set([FALSE_SIZE]));
});

function changeText(loaded: LoadedPackage): LoadedPackage {
  const text = loaded.source.toString("latin1");
  const changed = text.replaceAll(String(TRUE_SIZE), String(FALSE_SIZE));
  expect(changed).not.toBe(text);
  return { ...loaded, source: Buffer.from(changed, "latin1") };
}
