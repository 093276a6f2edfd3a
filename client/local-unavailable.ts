/** Replaces the local runtime outside Node: in browsers, Deno and Bun. */
import type { LocalOptions, LocalRuntime } from "./kernel/local-model.ts";

/** @throws Error always */
export function createLocalRuntime(_options: LocalOptions): LocalRuntime {
  throw new Error(
    "local: true needs Node: it starts locked-down Node processes. Give url and key of a server in its place.",
  );
}
