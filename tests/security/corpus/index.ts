/** All probes of the escape corpus that are scripts, by family. */
import { codeProbes } from "./code-generation.ts";
import { endlessProbes } from "./endless.ts";
import { fileProbes } from "./files.ts";
import { frameProbes } from "./frames.ts";
import { globalProbes } from "./globals.ts";
import { packageProbes } from "./packages.ts";
import type { Probe } from "./probe.ts";
import { prototypeProbes } from "./prototypes.ts";
import { reachProbes } from "./reach.ts";
import { resourceProbes } from "./resources.ts";
import { sourceProbes } from "./sources.ts";
import { stackProbes } from "./stacks.ts";
import { valueProbes } from "./values.ts";
import { webProbes } from "./web.ts";

export const PROBES: readonly Probe[] = [
  ...globalProbes,
  ...codeProbes,
  ...stackProbes,
  ...reachProbes,
  ...valueProbes,
  ...prototypeProbes,
  ...frameProbes,
  ...sourceProbes,
  ...packageProbes,
  ...endlessProbes,
  ...resourceProbes,
  ...webProbes,
  ...fileProbes,
];
