import { defineConfig } from "vitest/config";

/** The security suite where only /tmp can be written. Started by security.sh. */
export default defineConfig({
  cacheDir: "/tmp/cyrnel-vite",
  test: {
    root: new URL("../..", import.meta.url).pathname,
    fsModuleCachePath: "/tmp/cyrnel-vitest",
    // What depends on the kernel and its limits; the server's side of the bridge is the same everywhere.
    include: [
      "tests/security/{escape,jail,self-test,wall,zygote}*.test.ts",
      "tests/container/restricted.test.ts",
    ],
    globalSetup: ["tests/integration/harness/global-setup.ts"],
    environment: "node",
    pool: "forks",
    maxWorkers: 2,
    retry: 1,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default", "./tests/count-reporter.ts"],
  },
});
