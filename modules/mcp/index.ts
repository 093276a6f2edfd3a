import { toSettingsSchema } from "#modules/shared/settings.ts";
import type { AdapterModule, ModuleManifest } from "#sdk";
import { createMcpAdapter } from "./adapter.ts";
import { moduleConfigSchema } from "./config.ts";

export const manifest: ModuleManifest = {
  id: "mcp",
  type: "adapter",
  name: "MCP",
  description: "The tools of an MCP server, over Streamable HTTP or, if enabled, as a program of the host.",
  main: "index.ts",
  configSchema: toSettingsSchema(moduleConfigSchema),
};

export function instantiate(): AdapterModule {
  return createMcpAdapter();
}
