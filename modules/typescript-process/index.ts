import { z } from "zod";
import type { EnvironmentModule, ModuleManifest } from "#sdk";
import { processConfigSchema } from "./config.ts";
import { createProcessEnvironment } from "./environment.ts";

export const manifest: ModuleManifest = {
  id: "typescript-process",
  type: "environment",
  name: "TypeScript in a process",
  description:
    "Runs each script in a locked-down Node process of its own, taken from a pool of warm ones and ended after the run.",
  main: "index.ts",
  configSchema: z.toJSONSchema(processConfigSchema, { io: "input" }),
};

export function instantiate(): EnvironmentModule {
  return createProcessEnvironment();
}
