import type { AdapterModule, ModuleManifest } from "#sdk";
import { createHttpAdapter } from "./adapter.ts";

export const manifest: ModuleManifest = {
  id: "http",
  type: "adapter",
  name: "HTTP",
  description:
    "Services from lists of rules: which requests scripts may make with fetch, to which origins and paths, with which credentials.",
  main: "index.ts",
};

export function instantiate(): AdapterModule {
  return createHttpAdapter();
}
