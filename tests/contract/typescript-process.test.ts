import { instantiate } from "#modules/typescript-process/index.ts";
import { defineEnvironmentCases } from "./environments.cases.ts";

defineEnvironmentCases("typescript-process", {
  instantiate,
  config: { maxConcurrency: 8, warmPool: { min: 2, max: 4 } },
});
