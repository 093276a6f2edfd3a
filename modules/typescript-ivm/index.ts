import type { EnvironmentModule, ModuleManifest } from "#sdk";
import { configJsonSchema } from "./config.ts";
import { createIvmEnvironment } from "./environment.ts";

export const manifest: ModuleManifest = {
  id: "typescript-ivm",
  type: "environment",
  name: "TypeScript in an isolate",
  description:
    "Runs each script in a fresh V8 isolate of its own, inside a slot process that serves one script at a time.",
  main: "index.ts",
  configSchema: configJsonSchema,
};

export function instantiate(): EnvironmentModule {
  return createIvmEnvironment();
}
