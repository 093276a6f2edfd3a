/** Reports the isolation of runs: for each layer whether it is required, whether it is present, and the evidence. */
import { readFileSync } from "node:fs";
import { release } from "node:os";
import { ISOLATION_LEVELS, type IsolationLayer, type IsolationLevel, type IsolationReport } from "#sdk";
import type { CgroupsAbsent } from "../jail/cgroups/model.ts";
import type { RunGroups } from "../jail/cgroups/run-groups.ts";
import { JailUnavailableError } from "../jail/jail.ts";
import type { JailProbe } from "../jail/probe.ts";
import type { Child } from "../pool/spawn.ts";
import type { NodeBinary } from "../process/node-binary.ts";
import type { OutsideCheck } from "../process/verify-child.ts";
import { DOCTOR, type Finding } from "./self-test.ts";
import type { Wall } from "./wall.ts";

export const REQUIRED_LAYERS: Record<IsolationLevel, readonly number[]> = {
  strict: [0, 1, 2, 3, 4, 6, 7],
  standard: [0, 1, 4, 6, 7],
  development: [0, 1, 6],
};

export interface IsolationEvidence {
  wall: Wall;
  node: NodeBinary;
  first: Child;
  /** True if CPU time and memory of children can be read. */
  isMonitored: boolean;
  /** Evidence for layers 0 and 1: what children did before they reported it. */
  observed: { realm: string; permissions: string };
}

/** Throws an Error if a layer that the level requires is missing. */
export function reportIsolation(evidence: IsolationEvidence): IsolationReport {
  const { node, wall } = evidence;
  const required = REQUIRED_LAYERS[wall.level];
  const layers = listLayers(evidence).map((layer) => ({
    ...layer,
    required: required.includes(layer.layer),
  }));
  const missing = layers
    .filter((layer) => layer.required && !layer.obtained)
    .map(
      ({ layer, name, verified, fix }) =>
        `Isolation level ${wall.level} needs layer ${layer} (${name}), which is not there: ${verified}.` +
        (fix === undefined ? "" : ` To have it: ${fix}.`),
    );
  if (missing.length > 0) throw new JailUnavailableError(missing.join(" "));
  const found = findLevel(layers);
  // The monitor can replace the kernel's memory limit at level standard only.
  const isByMonitor = wall.jail?.test.limited.memoryBy === "monitor";
  return {
    level: found === "strict" && isByMonitor ? "standard" : found,
    layers,
    nodeVersion: node.version,
    platform: `${process.platform}-${process.arch}`,
    kernel: release(),
  };
}

/** Returns the strongest level whose layers are all present. */
function findLevel(layers: readonly IsolationLayer[]): IsolationLevel {
  const obtained = new Set(layers.filter((layer) => layer.obtained).map(({ layer }) => layer));
  return (
    ISOLATION_LEVELS.find((level) => REQUIRED_LAYERS[level].every((layer) => obtained.has(layer))) ??
    "development"
  );
}

type Seen = Omit<IsolationLayer, "required">;

export function listLayers({ wall, first, isMonitored, observed }: IsolationEvidence): Seen[] {
  const said = (layer: number) => first.ready.layers.includes(layer);
  return [
    {
      layer: 0,
      name: "realm",
      obtained: said(0),
      verified: said(0) ? observed.realm : "a child did not say that it had made the script's realm",
    },
    said(1)
      ? { layer: 1, name: "permission model", obtained: true, verified: observed.permissions }
      : {
          layer: 1,
          name: "permission model",
          obtained: false,
          verified: "a child still had a permission after it had given up every one",
          fix: `use a Node that has process.permission.drop, such as ${process.version}`,
        },
    ...listKernelLayers(wall, first),
    {
      layer: 6,
      name: "monitor",
      obtained: isMonitored || wall.level === "development",
      verified: isMonitored
        ? "wall clock of the server; CPU time and memory of a run read from /proc"
        : "wall clock of the server only: this system has no /proc, so CPU time and memory outside the heap are not limited",
      ...(!isMonitored && { fix: "run the server on Linux with /proc mounted" }),
    },
    { layer: 7, name: "descriptors and environment", ...describeDescriptorLayer(first.check) },
    ...describeOwnKernel(wall.jail?.probe.ownKernel ?? null),
  ];
}

function listKernelLayers({ jail, level }: Wall, first: Child): Seen[] {
  const names = { 2: "birth jail", 3: "self-lock", 4: "limits from outside", 5: "control group" };
  if (jail === null) {
    const verified = `not asked for: the server was started with CYRNEL_ISOLATION=${level}`;
    const fix = "set CYRNEL_ISOLATION=strict on Linux";
    return Object.entries(names).map(([layer, name]) => ({
      layer: Number(layer),
      name,
      obtained: false,
      verified,
      fix,
    }));
  }
  const { probe, test } = jail;
  const mechanisms = describeMechanisms(probe);
  const seen = (layer: 2 | 3 | 4, { holds, observed }: Finding, how: string): Seen => ({
    layer,
    name: names[layer],
    obtained: holds,
    verified: `${observed}; ${how}`,
    ...(!holds && { fix: mechanisms.fix ?? `run \`${DOCTOR}\`, which shows what the kernel answers` }),
  });
  const readOutside =
    "before a child gets a script, no_new_privs and its filters are read from /proc: of every thread of the first child, of the main thread of each later one";
  return [
    seen(2, test.birth, `${mechanisms.text}; before its own lock; ${readOutside}`),
    seen(3, test.locked, `${mechanisms.text}; after its own lock; ${readOutside}`),
    seen(4, test.limited, "set by prlimit(2) on each child before it gets a script"),
    { layer: 5, name: names[5], ...describeGroups(jail.groups, first) },
  ];
}

/** Reports a recognizable virtualized kernel; a virtual machine looks like a physical one. */
function describeOwnKernel(name: string | null): Seen[] {
  if (name === null) return [];
  const verified = `the kernel's log says that it is ${name}: the system calls of runs reach a kernel in user space, not the machine's`;
  return [{ layer: 8, name: "kernel of its own", obtained: true, verified }];
}

function describeGroups(
  groups: RunGroups | CgroupsAbsent,
  { pid, groupName }: Child,
): Omit<Seen, "layer" | "name"> {
  const otherwise = "memory and CPU time of runs are limited by layers 4 and 6 alone";
  if (groups.version === 0) {
    return { obtained: false, verified: `${groups.reason}; ${otherwise}`, fix: groups.fix };
  }
  const obtained = groupName !== null && readGroups(pid).includes(groupName);
  return {
    obtained,
    verified: obtained
      ? `cgroup v${groups.version} at ${groups.path}; the first child was found in a group of its own in /proc/<pid>/cgroup; every child is put into one before it gets a script, with limits of memory (swap included), processes and CPU`
      : `the first child was not found in a group below ${groups.path}; ${otherwise}`,
  };
}

function readGroups(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "latin1");
  } catch {
    return "";
  }
}

/** Layer 7. Unreadable descriptors do not count. */
function describeDescriptorLayer(check: OutsideCheck): Omit<Seen, "layer" | "name"> {
  if (check.kind === "verified") {
    return {
      obtained: true,
      verified: "read from /proc of a child: descriptors 0-2 and its own, environment TZ=UTC",
    };
  }
  const fix = "run the server on Linux, with /proc mounted and open to the user of the server (no hidepid)";
  return { obtained: false, verified: check.why, fix };
}

function describeMechanisms({ kernelRelease, landlockAbi, seccomp }: JailProbe): {
  text: string;
  fix?: string;
} {
  const hasLandlock = typeof landlockAbi === "number";
  const text = [
    `kernel ${kernelRelease}`,
    hasLandlock ? `Landlock ABI ${landlockAbi}` : `no Landlock (${landlockAbi.reason})`,
    seccomp === true ? "seccomp filter" : `no seccomp (${seccomp.reason})`,
  ].join(", ");
  const fixes = [hasLandlock ? null : landlockAbi.fix, seccomp === true ? null : seccomp.fix];
  const fix = fixes.filter((entry) => entry !== null).join("; ");
  return fix === "" ? { text } : { text, fix };
}
