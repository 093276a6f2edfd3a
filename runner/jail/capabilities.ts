/**
 * Capabilities (capabilities(7)): a child holds none, whichever user the server runs as. They belong to a thread and
 * are inherited, so a thread that drops them starts children without any.
 */
import { readFileSync } from "node:fs";
import { readStatusField } from "../process/monitor.ts";
import {
  CAP_SETPCAP,
  LINUX_CAPABILITY_VERSION_3,
  NR_CAPSET,
  PR_CAPBSET_DROP,
} from "./kernel/kernel-headers.ts";
import { allocate, type Kernel } from "./kernel/syscalls.ts";

const HELD = ["CapInh", "CapPrm", "CapEff", "CapAmb"] as const;
const BOUNDING = "CapBnd";
/** struct __user_cap_header_struct, and two of __user_cap_data_struct. */
const HEADER_BYTES = 8;
const DATA_BYTES = 24;

/**
 * Reads `/proc` first and returns a function that permanently drops every capability of the calling thread. Without
 * CAP_SETPCAP the bounding set remains, but no_new_privs makes it useless. The returned function throws an Error with
 * the errno.
 */
export function planDroppingCapabilities(kernel: Kernel): () => void {
  const status = readFileSync("/proc/thread-self/status", "latin1");
  const bounding = mayEmptyBounding(status) ? readSet(status, BOUNDING) : 0n;
  return () => {
    for (let capability = 0, left = bounding; left > 0n; capability += 1, left >>= 1n) {
      if (left & 1n) must(`PR_CAPBSET_DROP of ${capability}`, kernel.prctl(PR_CAPBSET_DROP, capability));
    }
    const header = allocate(HEADER_BYTES);
    new DataView(header.buffer).setUint32(0, LINUX_CAPABILITY_VERSION_3, true);
    // This also clears the ambient set, which never exceeds the permitted one.
    must("capset", kernel.syscall(NR_CAPSET, header, allocate(DATA_BYTES)));
  };
}

function must(step: string, result: number): void {
  if (result < 0) throw new Error(`${step} failed with errno ${-result}`);
}

export function listEmptySets(): string[] {
  const status = readFileSync("/proc/thread-self/status", "latin1");
  return mayEmptyBounding(status) || readSet(status, BOUNDING) === 0n ? [...HELD, BOUNDING] : [...HELD];
}

/** Returns the first capability set that is not empty, or null. A kernel without a set does not list it. */
export function findHeldSet(status: string, sets: readonly string[]): string | null {
  return sets.find((name) => readSet(status, name) !== 0n) ?? null;
}

function mayEmptyBounding(status: string): boolean {
  return (readSet(status, "CapEff") & (1n << BigInt(CAP_SETPCAP))) !== 0n;
}

function readSet(status: string, name: string): bigint {
  return BigInt(`0x${readStatusField(status, name) ?? "0"}`);
}
