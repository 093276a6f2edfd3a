import { readFileSync } from "node:fs";
import { join } from "node:path";

export const CONTROLLERS = ["memory", "pids", "cpu"] as const;
export type Controller = (typeof CONTROLLERS)[number];

/** Contents of /proc/self files that describe cgroups; tests substitute them. */
export interface CgroupSources {
  mountinfo: string;
  cgroup: string;
}

export function readSources(): CgroupSources {
  return {
    mountinfo: readFileSync("/proc/self/mountinfo", "latin1"),
    cgroup: readFileSync("/proc/self/cgroup", "latin1"),
  };
}

/** Returns the server's own group in a version 1 controller, or in version 2 if the controller is null. */
export function findOwnGroup(
  sources: CgroupSources,
  controller: Controller | null,
): { path: string; isTop: boolean } {
  const what = controller === null ? "cgroup v2" : `cgroup v1 controller ${controller}`;
  const lines = sources.cgroup.split("\n").map((line) => line.split(":"));
  const path = lines.find(([, controllers]) =>
    controller === null ? controllers === "" : controllers?.split(",").includes(controller),
  )?.[2];
  for (const line of sources.mountinfo.split("\n")) {
    if (!line.includes(" - cgroup")) continue;
    // id parent major:minor root mountpoint options … - type source superoptions (proc(5))
    const [left = "", right = ""] = line.split(" - ");
    const [, , , root = "/", mountpoint = ""] = left.split(" ");
    const [type, , options = ""] = right.split(" ");
    const matches =
      controller === null ? type === "cgroup2" : type === "cgroup" && options.split(",").includes(controller);
    if (!matches || path === undefined) continue;
    // A container's mount shows part of the tree, while the kernel counts paths from the top.
    const below = root !== "/" && path.startsWith(root) ? path.slice(root.length) : path;
    return { path: join(mountpoint, below), isTop: below === "" || below === "/" };
  }
  throw new Error(`${what} is not mounted`);
}
