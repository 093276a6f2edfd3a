/** What the settings of a service are called. */
import type { SettingsSubject } from "#api/components/settings/schema.ts";

export const SERVICE_CONFIG: SettingsSubject = { place: "config", noun: "configuration", owner: "service" };
export const SERVICE_SECRETS: SettingsSubject = {
  place: "secrets",
  noun: "set of secrets",
  owner: "service",
};
