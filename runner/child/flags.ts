/** Node flags of every process that evaluates the realm. V8 accepts a code cache only under the same flags. */

/** Shared by children and the slots of isolates. */
export const V8_FLAGS = [
  "--disallow-code-generation-from-strings",
  // A new hash seed for V8's start-up snapshot would take a quarter of Node's boot. With a fixed one, crafted keys can slow down
  // a script's own maps, which its limits bound; no other script runs in its process at that time.
  "--no-rehash-snapshot",
] as const;

/** For process children. Their code cache is built under exactly these flags. */
export const CHILD_V8_FLAGS = [
  ...V8_FLAGS,
  // The baseline compiler would slow a start down by a twentieth, and computing scripts are as fast without it.
  "--no-sparkplug",
  // Collects between messages once a sixth of the young generation is used (V8: four fifths). That frees dropped byte arrays,
  // whose memory V8 ignores below 64 MiB.
  "--minor-gc-task-trigger=16",
] as const;

/** Added for a zygote, whose code cache is built under both lists. */
export const ZYGOTE_V8_FLAGS = [
  // A fork has one thread and must not wait for another to compile or to collect garbage.
  "--single-threaded",
  // Without a helper thread, incremental marking slows down all writes meanwhile.
  "--no-incremental-marking",
  // Without a helper thread, a long loop reaches optimized code sooner without the middle tier.
  "--no-maglev-osr",
  "--min-semi-space-size=4",
] as const;

/**
 * Flags of the process child without its memory limits. What it is granted for its boot, to read dist/runner and, in the
 * jail, to call the kernel (`--allow-ffi`), is added where it is started and dropped before it says `ready`.
 */
export const CHILD_FLAGS = [
  "--permission",
  "--no-addons",
  "--no-experimental-sqlite",
  "--disable-sigusr1",
  "--disable-proto=delete",
  "--no-warnings",
  "--v8-pool-size=0",
  ...CHILD_V8_FLAGS,
] as const;
