/** What stands round a run, said plainly: next to nothing. The numbers are those of docs/security.md. */
import { release } from "node:os";
import type { IsolationLayer, IsolationReport } from "@cyrnel/sdk";

const MISSING: [number, string, string][] = [
  [0, "realm", "a script has all of Python: files, network, processes, native code"],
  [1, "permission model", "Python has none"],
  [2, "birth jail", "not put up by this environment"],
  [3, "self-lock", "not put up by this environment"],
  [
    4,
    "limits from outside",
    "a run limits itself before the script starts (address space, CPU time); it cannot raise them again, but it may start processes with limits of their own",
  ],
  [5, "control group", "not put up by this environment"],
];

export function reportIsolation(): IsolationReport {
  const layers: IsolationLayer[] = MISSING.map(([layer, name, verified]) => ({
    layer,
    name,
    required: false,
    obtained: false,
    verified,
    fix: "use typescript-process for scripts you do not trust",
  }));
  layers.push({
    layer: 6,
    name: "monitor",
    required: false,
    obtained: true,
    verified: "wall clock of the server; at the end the process group of the run is killed",
  });
  layers.push({
    layer: 7,
    name: "descriptors and environment",
    required: false,
    obtained: false,
    verified:
      "the process is started with an empty environment and four pipes; that nothing else is there was not checked",
    fix: "use typescript-process for scripts you do not trust",
  });
  return {
    // The lowest there is. It asks for layers 0 and 1, and not even those are here.
    level: "development",
    layers,
    nodeVersion: process.version,
    platform: `${process.platform}-${process.arch}`,
    kernel: release(),
  };
}
