import { defineConfig } from "vitest/config";

/** Apart from the other tests: needs a cluster. Started by run.sh. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["tests/cluster/*.test.ts"],
    // One thing after the other in one installation; the first that fails ends it.
    bail: 1,
    testTimeout: 900_000,
    hookTimeout: 900_000,
    reporters: ["default", "./tests/count-reporter.ts"],
  },
});
