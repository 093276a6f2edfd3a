import {
  type Config,
  compileSettings,
  NO_SETTINGS,
  type Settings,
  type SettingsKind,
  subjectOf,
} from "../../settings/schema.ts";
import type { ModuleRegistration } from "../registration.ts";
import { ModuleFailure } from "./instance.ts";

export function compileManifest({ manifest }: ModuleRegistration, kind: SettingsKind): Settings {
  const name = `${kind}Schema` as const;
  try {
    return compileSettings(manifest[name] ?? NO_SETTINGS, subjectOf("module", kind));
  } catch (error) {
    throw new ModuleFailure(`Its ${name} is not a valid JSON Schema: ${(error as Error).message}`);
  }
}

/** Fills in defaults. Throws ModuleFailure, which names the invalid settings and explains how to change them. */
export function fitSettings(registration: ModuleRegistration, kind: SettingsKind, stored: Config): Config {
  const settings = compileManifest(registration, kind);
  const filled = settings.applyDefaults(stored);
  const [issue] = settings.findIssues(filled);
  if (issue === undefined) return filled;
  const what =
    kind === "config" ? "configuration does not match its schema" : "secrets do not match their schema";
  throw new ModuleFailure(
    `Its ${what}: ${issue.path} ${issue.message}. Change it with PATCH /modules/${registration.manifest.id}/${kind}.`,
  );
}
