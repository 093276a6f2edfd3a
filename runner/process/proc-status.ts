/**
 * Fields of /proc/<pid>/status (proc_pid_status(5)). Looked up without patterns, which cost more to be compiled than a file of
 * this size to be searched; a name in it cannot hold a line break of its own, the kernel writes `\\n` for it.
 */

/** The text of a field; null: the kernel does not have it, or the process has no memory any more. */
export function readStatusField(status: string, name: string): string | null {
  const label = `${name}:`;
  const before = status.startsWith(label) ? 0 : status.indexOf(`\n${label}`) + 1;
  if (before === 0 && !status.startsWith(label)) return null;
  const end = status.indexOf("\n", before);
  return status.slice(before + label.length, end < 0 ? undefined : end).trim();
}

/**
 * Bytes that are the process's own, in memory or swapped out: what it has written, what it shares with no file, and the tables that
 * lead to it. Where the kernel does not tell them apart (gVisor), all that is resident.
 */
export function readStatusOwnBytes(status: string): number {
  const own = readStatusBytes(status, "RssAnon");
  if (own === null) return readStatusBytes(status, "VmRSS") ?? 0;
  return OTHER_OWN.reduce((sum, name) => sum + (readStatusBytes(status, name) ?? 0), own);
}
const OTHER_OWN = ["RssShmem", "VmPTE", "VmSwap"];

/** A field that the kernel gives in kB, in bytes; null as above. */
export function readStatusBytes(status: string, name: string): number | null {
  const field = readStatusField(status, name);
  return field === null ? null : Number.parseInt(field, 10) * 1024;
}
