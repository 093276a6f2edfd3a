/** Flags of Node for every process that evaluates the realm: a V8 code cache is only accepted under the same V8 flags. */

/** Flags that change what V8 compiles, in children and in the slots of isolates. */
export const V8_FLAGS = [
  "--disallow-code-generation-from-strings",
  // A quarter of Node's boot goes into giving V8's start-up snapshot a hash seed of its own. With a fixed seed, crafted
  // keys can make a script's own maps slow; its limits bound that, and no other script runs in its process at that time.
  "--no-rehash-snapshot",
] as const;

/** The same of a process child alone. The code cache is built under exactly these. */
export const CHILD_V8_FLAGS = [
  ...V8_FLAGS,
  // No baseline compiler: a start would lose a twentieth to compiling what it runs once, and scripts that compute are as
  // quick with the optimizing compilers alone.
  "--no-sparkplug",
  // Between two messages, what is new is collected from a sixth of a young generation on (V8: four fifths). The memory of bytes that
  // a script drops is freed with it, and V8 does not count that memory before it has 64 MiB of it.
  "--minor-gc-task-trigger=16",
] as const;

/** Of a zygote, beside those of a child. The code cache of what it runs is built under both. */
export const ZYGOTE_V8_FLAGS = [
  // A fork has one thread, and must not wait for another to compile or to collect garbage.
  "--single-threaded",
  // Without a thread beside it, marking in steps makes all code slower that writes meanwhile: at once is quicker.
  "--no-incremental-marking",
  // Without a thread that optimizes meanwhile, a long loop gets to the best code sooner without the compiler in between.
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
