import { defineConfig } from "vitest/config";

const POSTGRES = ["tests/integration/harness/global-setup.ts"];

/** Two cores and many child processes: bounds in tests are generous, files run a few at a time. */
const shared = {
  environment: "node" as const,
  pool: "forks" as const,
  testTimeout: 30_000,
  hookTimeout: 60_000,
};

/**
 * Real processes on a machine that others share: what fails is tried once more, and what passes only then is named at
 * the end (count-reporter.ts), because it is a defect all the same.
 */
const retried = { ...shared, retry: 1 };

export default defineConfig({
  test: {
    // One more than two processors: a third of the time a test waits for a clock, a port or a process.
    maxWorkers: 3,
    reporters: ["default", "./tests/count-reporter.ts"],
    projects: [
      { test: { ...shared, name: "unit", include: ["tests/unit/**/*.test.ts"] } },
      { test: { ...retried, name: "contract", include: ["tests/contract/**/*.test.ts"] } },
      // A lane of its own: `npm test -- documents`.
      { test: { ...retried, name: "documents", include: ["tests/documents/*.test.ts"] } },
      {
        test: {
          ...retried,
          name: "integration",
          include: ["tests/integration/**/*.test.ts"],
          globalSetup: POSTGRES,
        },
      },
      {
        test: {
          ...retried,
          name: "security",
          include: ["tests/security/**/*.test.ts"],
          globalSetup: POSTGRES,
        },
      },
      {
        test: {
          ...retried,
          name: "e2e",
          include: ["tests/e2e/**/*.test.ts"],
          globalSetup: POSTGRES,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
