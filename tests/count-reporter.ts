/**
 * Ends a test run with what failed and one plain line, "N passed, N failed, N skipped", for whoever reads only the end
 * of a log. A run in which no test was executed has failed.
 */
import type { Reporter, TestModule } from "vitest/node";

const MAX_MESSAGE_LINES = 8;

interface Failure {
  where: string;
  errors: readonly { message?: string; stack?: string }[];
}

/** The place of a test and the beginning of each of its errors. */
function renderFailure({ where, errors }: Failure): string {
  const lines = errors.flatMap(({ message = "no message", stack = "" }) => [
    ...message.split("\n").slice(0, MAX_MESSAGE_LINES),
    ...stack
      .split("\n")
      .filter((line) => line.includes("/tests/"))
      .slice(0, 2),
  ]);
  return [`FAILED ${where}`, ...lines.map((line) => `    ${line.trim()}`)].join("\n");
}

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const failures: Failure[] = [];
    if (unhandledErrors.length > 0) {
      failures.push({ where: "outside of any test", errors: unhandledErrors as Failure["errors"] });
    }
    for (const module of modules) {
      let failedTests = 0;
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        if (state === "pending") counts.skipped += 1;
        else counts[state] += 1;
        if (test.diagnostic()?.flaky) {
          process.stdout.write(
            `\nPASSED AT A SECOND ATTEMPT ${module.relativeModuleId} > ${test.fullName}\n`,
          );
        }
        if (state !== "failed") continue;
        failedTests += 1;
        failures.push({ where: `${module.relativeModuleId} > ${test.fullName}`, errors: errors ?? [] });
      }
      // A file that could not be loaded, or whose hooks failed, holds no failed test of its own.
      if (!module.ok() && failedTests === 0) {
        counts.failed += 1;
        const suites = [...module.children.allSuites()].flatMap((suite) => suite.errors());
        failures.push({ where: module.relativeModuleId, errors: [...module.errors(), ...suites] });
      }
    }
    for (const failure of failures) process.stdout.write(`\n${renderFailure(failure)}\n`);
    if (counts.passed + counts.failed === 0) {
      process.exitCode = 1;
      process.stdout.write("No test was executed.\n");
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${skipped}\n`);
  }
}
