/** The bundled environment, set up for a runtime in this program. Loaded at the first need: it is most of what there is. */
import { createProcessEnvironment } from "#modules/typescript-process/environment.ts";
import type { BundledEnvironment } from "#runner/host/environment.ts";
import { EXECUTION_REASONS, type ExecutionExitState } from "#sdk";
import type { LocalOptions } from "../kernel/local-model.ts";
import { type BindingsOptions, createBindings } from "./bindings.ts";

export interface LocalEnvironment extends BundledEnvironment {
  /** The reason of an ending for which the environment gave none. */
  usualReason(state: ExecutionExitState): string;
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
/** One child is made ready ahead, and more when they are needed. */
const WARM_POOL = { min: 0, max: 2 };

/** @throws where the isolation that was asked for cannot be had. */
export async function openEnvironment(
  options: LocalOptions,
  bindings: Omit<BindingsOptions, "compileSchema">,
): Promise<LocalEnvironment> {
  const compileSchema = bindings.catalog.hasSchemas
    ? (await import("./schema-check.ts")).compileSchema
    : null;
  // A program that runs one script must not start three children to be attacked before it.
  const environment = createProcessEnvironment(undefined, { test: "in each child" });
  await environment.setup({
    config: { warmPool: WARM_POOL, ...options.environment },
    secrets: {},
    logger: SILENT,
    fetch: refuseFetch,
    bindings: createBindings({ ...bindings, compileSchema }),
    ...(options.isolation !== undefined && { isolation: options.isolation }),
  });
  return Object.assign(environment, {
    usualReason: (state: ExecutionExitState) => EXECUTION_REASONS[state][0],
  });
}

const refuseFetch: typeof globalThis.fetch = async () => {
  throw new Error("The environment of a local runtime makes no requests.");
};
