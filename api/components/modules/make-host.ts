/** What changes of modules share, made of what the server gives to the feature. */
import { createActivator } from "./activation/activator.ts";
import { DEFAULT_LIMITS, type ModuleHost } from "./host.ts";
import { createAttempts } from "./loader/attempts.ts";
import { createModulePlace } from "./packages/place.ts";
import type { ModulesOptions } from "./service.ts";

export function createHost(options: ModulesOptions): ModuleHost {
  const {
    pool,
    logger,
    bindings,
    isolation,
    isExposed = false,
    fetch,
    allowStdio = false,
    custom,
    secrets,
    watch,
  } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  return {
    pool,
    logger,
    limits,
    activator: createActivator({ logger, bindings, isolation, isExposed, fetch, allowStdio, watch, limits }),
    registry: new Map(),
    secrets,
    watch,
    custom:
      custom === undefined
        ? null
        : {
            place: createModulePlace(custom.directory),
            attempts: createAttempts(custom.directory),
            download: custom.download,
          },
  };
}
