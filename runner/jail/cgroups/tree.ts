/** Where in the tree of control groups this process is, as the kernel says it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Those a run is limited by. */
export const CONTROLLERS = ["memory", "pids", "cpu"] as const;
export type Controller = (typeof CONTROLLERS)[number];

/** Where the kernel says cgroups are; files of /proc/self by default, others in tests. */
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

/** The server's own group of a version 1 controller, or of version 2 (null); at the top, it sees none above it. */
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
    // In a container the mount shows a part of the tree whose path the kernel still counts from the top.
    const below = root !== "/" && path.startsWith(root) ? path.slice(root.length) : path;
    return { path: join(mountpoint, below), isTop: below === "" || below === "/" };
  }
  throw new Error(`${what} is not mounted`);
}
