/** An adapter: turns a list of webhooks into a service, one tool per hook, and calls them. */
import type { AdapterModule, InvokeInput, ModuleSetupContext, ServiceState } from "@cyrnel/sdk";
import { type Hook, readDefinition, toService } from "./definition.mts";
import { sendSigned } from "./request.mts";

/** A service as this adapter holds it between hydrate and dehydrate. */
interface HeldService {
  baseUrl: URL;
  timeoutMs: number;
  signingKey: string;
  hooks: Map<string, Hook>;
}

export function instantiate(): AdapterModule {
  const services = new Map<string, HeldService>();
  let context: ModuleSetupContext | null = null;

  return {
    async setup(given) {
      context = given;
    },

    async teardown() {
      services.clear();
      context = null;
    },

    async generateDefinition(input) {
      return toService(readDefinition(input));
    },

    // Config and secrets fit the schemas of the definition: the host has checked them.
    async hydrateService({ id, config, secrets, tools }: ServiceState) {
      const hooks = Object.entries(tools).map(
        ([toolId, tool]) => [toolId, tool.adapterDomain as Hook] as const,
      );
      services.set(id, {
        baseUrl: new URL(String(config.baseUrl)),
        timeoutMs: Number(config.timeoutMs ?? 10_000),
        signingKey: String(secrets.signingKey),
        hooks: new Map(hooks),
      });
    },

    async dehydrateService(id) {
      services.delete(id);
    },

    // After another baseUrl the host asks for the signing key again: it was set for this one.
    secretOrigins(use) {
      return "definition" in use ? [] : [new URL(String(use.config.baseUrl)).origin];
    },

    // Parameters fit the inputSchema of the tool: the host has checked that too.
    async invoke({ serviceId, toolId, parameters, signal }: InvokeInput) {
      const service = services.get(serviceId);
      const hook = service?.hooks.get(toolId);
      if (context === null || service === undefined || hook === undefined) {
        throw new Error(`${serviceId}.${toolId} is not known to this adapter.`);
      }
      const url = new URL(hook.path, service.baseUrl);
      const tooLong = AbortSignal.timeout(service.timeoutMs);
      return sendSigned({
        fetch: context.fetch,
        url,
        payload: parameters,
        signingKey: service.signingKey,
        userAgent: String(context.config.userAgent),
        signal: signal === undefined ? tooLong : AbortSignal.any([signal, tooLong]),
      });
    },
  };
}
