import type { AdapterModule, ModuleManifest } from "#sdk";
import { createDemoAdapter } from "./adapter.ts";

export const manifest: ModuleManifest = {
  id: "demo",
  type: "adapter",
  name: "Demo",
  description:
    "A board of tasks in the server's memory, to try services, settings, secrets and approvals with. Calls nothing outside; its definition is {}.",
  main: "index.ts",
};

export function instantiate(): AdapterModule {
  return createDemoAdapter();
}
