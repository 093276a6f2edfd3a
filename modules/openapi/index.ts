import type { AdapterModule, ModuleManifest } from "#sdk";
import { createOpenApiAdapter } from "./adapter.ts";

export const manifest: ModuleManifest = {
  id: "openapi",
  type: "adapter",
  name: "OpenAPI",
  description:
    "Services from OpenAPI 3.0, 3.1 and Swagger 2.0 documents: one tool per operation, called over HTTP with the service's secrets.",
  main: "index.ts",
};

export function instantiate(): AdapterModule {
  return createOpenApiAdapter();
}
