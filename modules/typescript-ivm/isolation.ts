/** What is reported of the wall round a run in an isolate: layers 0, 1, 6 and 7, none of the kernel's. */
import { release } from "node:os";
import type { NodeBinary } from "#runner/node-binary.ts";
import type { Child } from "#runner/spawn.ts";
import { describeDescriptorLayer } from "#runner/verify-child.ts";
import type { IsolationReport } from "#sdk";

/** The report of this environment, from what was seen of its first slot process. */
export function reportIsolation(node: NodeBinary, first: Child, isMonitored: boolean): IsolationReport {
  const hasPermissions = first.ready.layers.includes(1);
  return {
    level: "development",
    layers: [
      {
        layer: 0,
        name: "realm",
        required: true,
        obtained: first.ready.layers.includes(0),
        verified:
          "a slot process made an isolate, ran a script in it and said so; an isolate shares no object with its process, and only strings cross",
      },
      {
        layer: 1,
        name: "permission model",
        required: true,
        obtained: hasPermissions,
        verified: hasPermissions
          ? "a slot process was started with the right to load addons and no other, loaded one, gave up every permission, tried to load it again and was refused"
          : "a slot process could still load an addon after it had given up its permissions",
        ...(!hasPermissions && {
          fix: `use a Node that has process.permission.drop, such as ${process.version}`,
        }),
      },
      {
        layer: 6,
        name: "monitor",
        required: true,
        obtained: true,
        verified: isMonitored
          ? "wall clock of the server; CPU time and memory of the slot read from /proc while a run lasts"
          : "wall clock of the server only: this system has no /proc, so CPU time and memory outside the isolate are not limited",
      },
      {
        layer: 7,
        name: "descriptors and environment",
        required: false,
        ...describeDescriptorLayer(first.check),
      },
    ],
    nodeVersion: node.version,
    platform: `${process.platform}-${process.arch}`,
    kernel: release(),
  };
}
