/** What is reported of the wall round a run as long as no jail of the operating system stands: layers 0, 1, 6 and 7. */
import { release } from "node:os";
import type { IsolationLayer, IsolationReport } from "#sdk";
import type { NodeBinary } from "./node-binary.ts";
import type { Child } from "./spawn.ts";
import { describeDescriptorLayer } from "./verify-child.ts";

/** The report of an environment, from what was seen of its first child. */
export function reportIsolation(node: NodeBinary, first: Child, isMonitored: boolean): IsolationReport {
  const layers: IsolationLayer[] = [
    {
      layer: 0,
      name: "realm",
      required: true,
      obtained: first.ready.layers.includes(0),
      verified: "a child made the script's context and said so",
    },
    {
      layer: 1,
      name: "permission model",
      required: true,
      obtained: first.ready.layers.includes(1),
      verified: "a child gave up every permission, asked for each again and was refused",
      ...(!first.ready.layers.includes(1) && {
        fix: `use a Node that has process.permission.drop, such as ${process.version}`,
      }),
    },
    {
      layer: 6,
      name: "monitor",
      required: true,
      obtained: true,
      verified: isMonitored
        ? "wall clock of the server; CPU time and memory read from /proc"
        : "wall clock of the server only: this system has no /proc, so CPU time and memory outside the heap are not limited",
    },
    {
      layer: 7,
      name: "descriptors and environment",
      required: false,
      ...describeDescriptorLayer(first.check),
    },
  ];
  return {
    level: "development",
    layers,
    nodeVersion: node.version,
    platform: `${process.platform}-${process.arch}`,
    kernel: release(),
  };
}
