/** Checks a child's descriptors and environment from outside, on Linux. Trusts nothing that the child reports. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export const CHILD_ENVIRONMENT = { TZ: "UTC" } as const;

export type OutsideCheck =
  | { kind: "verified" }
  | { kind: "unknown"; why: string }
  | { kind: "refused"; why: string };

export function verifyFromOutside(pid: number): OutsideCheck {
  if (process.platform !== "linux") return { kind: "unknown", why: `${process.platform} has no /proc` };
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, "latin1");
    if (environment !== "TZ=UTC\0") return { kind: "refused", why: "its environment holds more than TZ=UTC" };
    const stray = findStrayDescriptor(pid);
    if (stray !== null) return { kind: "refused", why: `it holds descriptor ${stray}` };
    return { kind: "verified" };
  } catch (error) {
    return { kind: "unknown", why: `/proc/${pid} is not readable: ${(error as Error).message}` };
  }
}

/** Returns a descriptor that is neither one of the three given nor opened by the runtime, or null. */
function findStrayDescriptor(pid: number): string | null {
  const pipes = new Map<string, string[]>();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    if (Number(fd) <= 2) continue;
    const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
    if (target.startsWith("anon_inode:") || target === "/dev/null") continue;
    if (!target.startsWith("pipe:")) return `${fd} (${target})`;
    pipes.set(target, [...(pipes.get(target) ?? []), fd]);
  }
  // Both ends of the runtime's own pipes are in the child; only one end of any other pipe is.
  for (const [target, fds] of pipes) if (fds.length !== 2) return `${fds[0]} (${target})`;
  return null;
}
