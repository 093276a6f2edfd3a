/** Random bytes of the system, for seeds. */
import { closeSync, openSync, readSync } from "node:fs";

const DEVICE = "/dev/urandom";

/** From the device of the system where there is one: loading node:crypto takes a fifth as long as starting a child. */
export function randomBytes(count: number): Buffer {
  if (process.platform !== "linux") return process.getBuiltinModule("node:crypto").randomBytes(count);
  const bytes = Buffer.alloc(count);
  const file = openSync(DEVICE, "r");
  try {
    const read = readSync(file, bytes, 0, count, null);
    if (read !== count) throw new Error(`${DEVICE} gave ${read} bytes; ${count} were asked for.`);
    return bytes;
  } finally {
    closeSync(file);
  }
}
