/** The settings of a module against the schemas of its manifest. */
import {
  type Config,
  compileSettings,
  MODULE_CONFIG,
  NO_SETTINGS,
  type Settings,
  type SettingsSubject,
} from "#api/components/settings/schema.ts";
import type { ModuleRegistration } from "../registration.ts";
import { ModuleFailure } from "./failure.ts";

export type SettingsKind = "config" | "secrets";

const SUBJECTS: Record<SettingsKind, SettingsSubject> = {
  config: MODULE_CONFIG,
  secrets: { place: "secrets", noun: "secrets", owner: "module" },
};

export function subjectOf(kind: SettingsKind): SettingsSubject {
  return SUBJECTS[kind];
}

/** The schema of a registered module, compiled. Throws ModuleFailure when it is none. */
export function readSettingsSchema({ manifest }: ModuleRegistration, kind: SettingsKind): Settings {
  const name = `${kind}Schema` as const;
  try {
    return compileSettings(manifest[name] ?? NO_SETTINGS, SUBJECTS[kind]);
  } catch (error) {
    throw new ModuleFailure(`Its ${name} is not a valid JSON Schema: ${(error as Error).message}`);
  }
}

/** With defaults. Throws ModuleFailure naming what does not fit and how to change it. */
export function fitSettings(registration: ModuleRegistration, kind: SettingsKind, stored: Config): Config {
  const settings = readSettingsSchema(registration, kind);
  const filled = settings.applyDefaults(stored);
  const [issue] = settings.findIssues(filled);
  if (issue === undefined) return filled;
  const what =
    kind === "config" ? "configuration does not fit its schema" : "secrets do not fit their schema";
  throw new ModuleFailure(
    `Its ${what}: ${issue.path} ${issue.message}. Change it with PATCH /modules/${registration.manifest.id}/${kind}.`,
  );
}
