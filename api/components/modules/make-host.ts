/** What changes of modules share, made of what the server gives to the feature. */
import { createActivator } from "./activation/activator.ts";
import { DEFAULT_LIMITS, type ModuleHost, type ModuleSecrets, type SecretWatch } from "./host.ts";
import { createAttempts } from "./loader/attempts.ts";
import { createModulePlace } from "./packages/place.ts";
import type { ModulesOptions } from "./service.ts";

const NO_SECRETS: ModuleSecrets = {
  read: async () => ({ values: {}, version: 0 }),
  write: () => Promise.reject(new Error("Modules have no secrets here.")),
  remove: async () => {},
};
const NO_WATCH: SecretWatch = { setOwner() {}, dropOwner() {} };

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
    redaction,
  } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const watch = redaction ?? NO_WATCH;
  return {
    pool,
    logger,
    limits,
    activator: createActivator({ logger, bindings, isolation, isExposed, fetch, allowStdio, watch, limits }),
    registry: new Map(),
    secrets: options.secrets ?? NO_SECRETS,
    watch,
    custom:
      custom === undefined
        ? null
        : {
            place: createModulePlace(custom.directory),
            attempts: createAttempts(custom.directory),
            download: custom.download,
          },
    redact: (text) => redaction?.text(text) ?? text,
  };
}
