import path from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const TUTORIAL = "tests/e2e/tutorial.test.ts";
/** Each takes a minute or more, most of it waiting or on one processor: begun last, it would run alone. Longest first. */
const LONG = [
  "security/escape-script",
  "integration/approvals/lost-answers",
  "integration/lost-claims",
  "integration/database-trouble",
  "integration/database-network",
].map((name) => path.resolve(import.meta.dirname, `${name}.test.ts`));
const POSTGRES = ["tests/integration/harness/global-setup.ts"];

const ROOT = path.resolve(import.meta.dirname, "..");
// A server started by a test strips and compiles hundreds of files: for workers and what they start, once.
process.env.NODE_COMPILE_CACHE ??= path.join(ROOT, "node_modules/.cache/compiled");

/**
 * Two cores and many child processes, on machines that are five times slower on some days: a bound says that a test hangs, not that
 * it is slow. Files run a few at a time.
 */
const shared = {
  environment: "node" as const,
  pool: "forks" as const,
  // The files of one worker share what they import: to import it again for each took a third of the processor's time. Each
  // opens and closes its own servers and databases; what has to begin in a fresh process starts one.
  isolate: false,
  testTimeout: 90_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000 } },
};

/**
 * Real processes on a machine that others share: what fails is tried once more, and what passes only then is named at
 * the end (count-reporter.ts), because it is a defect all the same.
 */
const retried = { ...shared, retry: 1 };

/** What starts servers, browsers and npm as a person does. */
const patient = { testTimeout: 180_000, hookTimeout: 180_000 };

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const long = LONG.flatMap((place) => sorted.filter(({ moduleId }) => moduleId === place));
    return [...long, ...sorted.filter((file) => !long.includes(file))];
  }
}

export default defineConfig({
  root: ROOT,
  test: {
    // One more than two processors: half of the time a test waits for a clock, a port or a process.
    maxWorkers: 3,
    sequence: { sequencer: LongFirst },
    reporters: ["default", "./tests/count-reporter.ts"],
    projects: [
      { test: { ...shared, name: "unit", include: ["tests/unit/**/*.test.ts"] } },
      {
        test: {
          ...retried,
          name: "contract",
          include: ["tests/contract/**/*.test.ts", "tests/wpt/*.test.ts"],
        },
      },
      // Lanes of their own, like `console` below: `npm test -- documents`, `npm test -- tutorial`.
      { test: { ...retried, name: "documents", include: ["tests/documents/*.test.ts"] } },
      { test: { ...retried, ...patient, name: "tutorial", include: [TUTORIAL] } },
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
          // A process for each file: some put filters on their own, which a child of the next file would inherit.
          isolate: true,
          name: "security",
          include: ["tests/security/**/*.test.ts"],
          globalSetup: POSTGRES,
        },
      },
      {
        test: {
          ...retried,
          name: "console",
          ...patient,
          include: ["tests/e2e/console/*.test.ts"],
          globalSetup: POSTGRES,
        },
      },
      {
        test: {
          ...retried,
          name: "e2e",
          ...patient,
          include: ["tests/e2e/**/*.test.ts"],
          exclude: [TUTORIAL, "tests/e2e/console/**"],
          globalSetup: POSTGRES,
        },
      },
    ],
  },
});
