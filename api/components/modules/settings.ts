import { NO_SETTINGS, type SettingsKind } from "../settings/schema.ts";
import type { SettingsHost } from "../settings/service.ts";
import { compileManifest } from "./activation/settings.ts";
import {
  commitStarted,
  type ModuleHost,
  readStoredSettings,
  requireRegistration,
  requireRow,
  startRequested,
  toModuleFailed,
} from "./host.ts";
import type { ModuleRegistration } from "./registration.ts";
import { setModuleError } from "./store.ts";

export function hostModuleSettings(
  host: ModuleHost,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
): SettingsHost {
  const compiled = (registration: ModuleRegistration, kind: SettingsKind) => {
    try {
      return compileManifest(registration, kind);
    } catch (error) {
      throw toModuleFailed(host, registration.manifest.id, error);
    }
  };
  return {
    async find(id) {
      await requireRow(host, id);
      const registration = host.registry.get(id);
      return {
        schema: (kind) => requireRegistration(host, id).manifest[`${kind}Schema`] ?? NO_SETTINGS,
        settings: (kind) =>
          registration === undefined || !registration.isDescribed ? null : compiled(registration, kind),
      };
    },
    async readSecrets(id) {
      const { values, version } = await host.secrets.read(host.pool, { kind: "module", id });
      return { values, version, misplaced: [], isKnown: true };
    },
    change: (id, work) =>
      inTurn(async () => {
        const row = await requireRow(host, id);
        const registration = requireRegistration(host, id);
        return work({
          settings: (kind) => compiled(registration, kind),
          // A disabled module's secrets may be set one by one.
          mayLack: (kind) => kind === "secrets" && !row.enabled,
          async apply(changed, store) {
            if (!row.enabled) return store(host.pool);
            const settings = { ...(await readStoredSettings(host, id)), ...changed };
            const version = await commitStarted(
              host,
              await startRequested(host, registration, settings),
              () => store(host.pool),
            );
            await setModuleError(host.pool, id, null);
            return version;
          },
        });
      }),
  };
}
