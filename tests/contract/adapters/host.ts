/** An adapter as the host runs it, for the tests of what is particular to it. */
import type { AdapterModule, ServiceDefinition } from "#sdk";

export interface HostedAdapter extends AsyncDisposable {
  readonly adapter: AdapterModule;
  /** Warnings and errors so far. */
  readonly log: { fields: object; message?: string | undefined }[];
  /** Generates a definition and hydrates a service with it. Text is taken as it is. */
  install(
    id: string,
    definition: object | string,
    settings?: { config?: Record<string, unknown>; secrets?: Record<string, unknown> },
  ): Promise<ServiceDefinition>;
  call(serviceId: string, toolId: string, parameters?: object, signal?: AbortSignal): Promise<unknown>;
}

export interface HostOptions {
  config?: Record<string, unknown>;
  allowStdio?: boolean;
  fetch?: typeof globalThis.fetch;
}

export async function hostAdapter(adapter: AdapterModule, options: HostOptions = {}): Promise<HostedAdapter> {
  const log: HostedAdapter["log"] = [];
  const note = (fields: object, message?: string) => void log.push({ fields, message });
  await adapter.setup({
    config: options.config ?? {},
    secrets: {},
    logger: { debug() {}, info() {}, warn: note, error: note },
    fetch: options.fetch ?? globalThis.fetch,
    ...(options.allowStdio === undefined ? {} : { allowStdio: options.allowStdio }),
  });
  return {
    adapter,
    log,
    async install(id, definition, { config = {}, secrets = {} } = {}) {
      const input = typeof definition === "string" ? definition : JSON.stringify(definition);
      const made = await adapter.generateDefinition(input);
      await adapter.hydrateService({
        id,
        adapterDomain: made.adapterDomain,
        tools: Object.fromEntries(made.tools.map((tool) => [tool.id, { adapterDomain: tool.adapterDomain }])),
        config,
        secrets,
      });
      return made;
    },
    call: (serviceId, toolId, parameters = {}, signal) =>
      adapter.invoke({
        serviceId,
        toolId,
        parameters: parameters as Record<string, unknown>,
        ...(signal ? { signal } : {}),
      }),
    [Symbol.asyncDispose]: () => adapter.teardown(),
  };
}
