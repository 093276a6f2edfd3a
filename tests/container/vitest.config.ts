import { defineConfig } from "vitest/config";

/** Apart from the other tests: needs root and podman. Started by build-and-run.sh. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["tests/container/image.test.ts", "tests/container/compose.test.ts"],
    // Both use port 9371 and the one podman.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ["default", "./tests/count-reporter.ts"],
  },
});
