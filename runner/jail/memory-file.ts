/** Files in memory, which a child can be given as its input and its output: they need no stream, and are read once it has ended. */
import { writeSync } from "node:fs";
import { MFD_CLOEXEC, NR_MEMFD_CREATE } from "./kernel-headers.ts";
import { allocateText, type Kernel } from "./syscalls.ts";

/** A descriptor, at the start of `content`. Close-on-exec. Throws when the system has none left. */
export function makeMemoryFile(kernel: Kernel, content: string): number {
  const file = kernel.syscall(NR_MEMFD_CREATE, allocateText("cyrnel"), MFD_CLOEXEC);
  if (file < 0) throw new Error(`memfd_create failed with errno ${-file}`);
  // At a position, which leaves that of the descriptor where it was.
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
  return file;
}
