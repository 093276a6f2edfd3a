import { instantiate } from "#modules/typescript-ivm/index.ts";
import { defineEnvironmentCases } from "./environments.cases.ts";

defineEnvironmentCases("typescript-ivm", { instantiate, config: { slots: 2 }, seesOneRejection: true });
