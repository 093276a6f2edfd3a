/**
 * A file as memory of this process: a page is read when it is first touched, and shared with every process that maps
 * the same file. Bundled into the child: Node only.
 */
import type { Buffer } from "node:buffer";
import { MAP_PRIVATE, NR_MMAP, PROT_READ } from "./kernel-headers.ts";
import { type Kernel, loadFfi } from "./syscalls.ts";

/**
 * Maps the first `sizeBytes` of an open file, read-only, for as long as the process lives; the descriptor may be closed.
 * The file must never shrink: touching what is gone would kill the process. Throws when the kernel refuses.
 */
export function mapFile(kernel: Kernel, file: number, sizeBytes: number): Buffer {
  const address = kernel.syscall(NR_MMAP, 0, sizeBytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (address < 0) throw new Error(`mmap failed with errno ${-address}`);
  return loadFfi().toBuffer(BigInt(address), sizeBytes, false);
}
