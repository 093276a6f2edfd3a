import { toSettingsSchema } from "#modules/shared/settings.ts";
import type { AdapterModule, ModuleManifest } from "#sdk";
import { createGraphqlAdapter } from "./adapter.ts";
import { moduleConfigSchema } from "./config.ts";

export const manifest: ModuleManifest = {
  id: "graphql",
  type: "adapter",
  name: "GraphQL",
  description: "The queries and mutations of a GraphQL endpoint, from its introspection or its schema.",
  main: "index.ts",
  configSchema: toSettingsSchema(moduleConfigSchema),
};

export function instantiate(): AdapterModule {
  return createGraphqlAdapter();
}
