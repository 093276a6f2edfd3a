/** Node flags of every process that evaluates the realm. V8 accepts a code cache only under the same flags. */

export const V8_FLAGS = [
  "--disallow-code-generation-from-strings",
  // A new hash seed for V8's startup snapshot would take a quarter of Node's boot. With a fixed seed, crafted keys
  // can slow down the script's own maps, which its limits bound; no other script runs in its process at that time.
  "--no-rehash-snapshot",
] as const;

/** Flags for process children. Their code cache is built under exactly these. */
export const CHILD_V8_FLAGS = [
  ...V8_FLAGS,
  // The baseline compiler would make a start five percent slower, and compute-heavy scripts are as fast without it.
  "--no-sparkplug",
  // Collects between messages once a sixth of the young generation is used (V8: four fifths). That frees dropped byte arrays,
  // whose memory V8 ignores below 64 MiB.
  "--minor-gc-task-trigger=16",
] as const;

export const ZYGOTE_V8_FLAGS = [
  // A fork has one thread, so it must not wait for another to compile or collect garbage.
  "--single-threaded",
  // Without a helper thread, incremental marking slows down all writes while it runs.
  "--no-incremental-marking",
  // Without a helper thread, a long loop is optimized sooner if the middle tier is skipped.
  "--no-maglev-osr",
  "--min-semi-space-size=4",
] as const;

/**
 * Flags of the process child without its memory limits. Permissions for its boot, to read dist/runner and, in the
 * jail, to call the kernel (`--allow-ffi`), are added where it is started and dropped before it sends `ready`.
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
