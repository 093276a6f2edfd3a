/**
 * Ends a test run with one plain line, "N passed, N failed, N skipped", for whoever reads only the end of a log.
 * A run in which no test was executed has failed.
 */
import type { Reporter, TestModule } from "vitest/node";

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      let failedTests = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "pending") counts.skipped += 1;
        else counts[state] += 1;
        if (state === "failed") failedTests += 1;
      }
      // A file that could not be loaded, or whose hooks failed, holds no failed test of its own.
      if (!module.ok() && failedTests === 0) counts.failed += 1;
    }
    if (counts.passed + counts.failed === 0) {
      process.exitCode = 1;
      process.stdout.write("No test was executed.\n");
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${skipped}\n`);
  }
}
