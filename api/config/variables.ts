/**
 * Declares every environment variable of the server once. `Config` and docs/configuration.md are derived from here.
 */
import { ACCESS, FIRST_STEPS } from "./settings-basics.ts";
import { LIMITS, STORAGE } from "./settings-limits.ts";
import { EGRESS_AND_PACKAGES, REPLICAS, TELEMETRY } from "./settings-network.ts";
import { RARELY_CHANGED } from "./settings-rare.ts";

/** Sections of docs/configuration.md. */
export const CONFIG_GROUPS = {
  "First steps": FIRST_STEPS,
  "Access and approvals": ACCESS,
  Limits: LIMITS,
  Storage: STORAGE,
  "Egress and packages": EGRESS_AND_PACKAGES,
  "Several servers": REPLICAS,
  Telemetry: TELEMETRY,
  "Rarely changed": RARELY_CHANGED,
};

export const CONFIG_VARIABLES = {
  ...FIRST_STEPS,
  ...ACCESS,
  ...LIMITS,
  ...STORAGE,
  ...EGRESS_AND_PACKAGES,
  ...REPLICAS,
  ...TELEMETRY,
  ...RARELY_CHANGED,
};
