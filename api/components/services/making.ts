import { AppError } from "#api/errors.ts";
import type { AdapterModule, DefinitionContext, ServiceDefinition } from "#sdk";
import { requireAdapter, type ServiceContext } from "./context.ts";
import { generateDefinition } from "./definitions/generate.ts";
import type { ObtainedDefinition } from "./definitions/source.ts";
import { readDefinitionContext } from "./lifecycle/state.ts";
import type { ServiceRow, StoredDefinition } from "./store.ts";

export type Obtain = (adapter: AdapterModule) => Promise<ObtainedDefinition>;

export interface Made extends StoredDefinition {
  service: ServiceDefinition;
  adapter: AdapterModule;
}

export function make(
  context: ServiceContext,
  adapterId: string,
  obtain: Obtain,
  first: Pick<DefinitionContext, "config">,
): Promise<Made>;
export function make(
  context: ServiceContext,
  adapterId: string,
  obtain: Obtain,
  installed: ServiceRow,
): Promise<Made | null>;
/**
 * Generates a service and checks that its adapter was not replaced meanwhile. Returns null if this definition is
 * already installed.
 */
export async function make(
  context: ServiceContext,
  adapterId: string,
  obtain: Obtain,
  of: ServiceRow | Pick<DefinitionContext, "config">,
): Promise<Made | null> {
  const adapter = requireAdapter(context, adapterId);
  const { text, packed, hash } = await obtain(adapter);
  if ("hash" in of && hash === of.hash) return null;
  const service = await generate(context, adapterId, adapter, { text, hash }, of);
  requireSameAdapter(context, adapterId, adapter);
  return { service, packed, hash, adapter };
}

export async function generate(
  context: ServiceContext,
  adapterId: string,
  adapter: AdapterModule,
  definition: { text: string; hash: string },
  of: ServiceRow | Pick<DefinitionContext, "config">,
): Promise<ServiceDefinition> {
  const settings =
    "hash" in of
      ? await readDefinitionContext(context, adapter, definition, of.id)
      : Object.keys(of.config).length === 0
        ? undefined
        : { config: of.config, secrets: {} };
  return generateDefinition({
    adapterId,
    adapter,
    definition: definition.text,
    redactor: context.watch,
    ...(settings === undefined ? {} : { settings }),
  });
}

/** Throws AppError `adapter_inactive` if the adapter was replaced: another version may not understand these tools. */
export function requireSameAdapter(context: ServiceContext, adapterId: string, adapter: AdapterModule): void {
  if (requireAdapter(context, adapterId) === adapter) return;
  throw new AppError(
    "adapter_inactive",
    `The adapter ${adapterId} was replaced while it read the definition. Try again.`,
  );
}
