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

/** A field that the kernel gives in kB, in bytes; null as above. */
export function readStatusBytes(status: string, name: string): number | null {
  const field = readStatusField(status, name);
  return field === null ? null : Number.parseInt(field, 10) * 1024;
}
