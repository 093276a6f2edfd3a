/** Descriptors of this process that a child would inherit by accident. */
import { readdirSync, readFileSync } from "node:fs";

const O_CLOEXEC = 0o2000000;
const MAX_FDS = 64;

/**
 * Numbers above 2 that are open and not close-on-exec: the server itself was started with them. Node opens nothing of
 * that kind, so the list holds for the server's life. Empty where there is no /proc. At most 64.
 */
export function listInheritedFds(): number[] {
  if (process.platform !== "linux") return [];
  const fds: number[] = [];
  for (const name of readdirSync("/proc/self/fd")) {
    const fd = Number(name);
    if (fd > 2 && fds.length < MAX_FDS && isInherited(fd)) fds.push(fd);
  }
  return fds;
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    return false;
  }
}
