/** A Node process per run, with an empty environment, a heap limit, a time limit and nothing else. */
import type { OpenRunner } from "../runner.ts";
import { runProgram } from "./program.ts";

export const open: OpenRunner = async () => ({
  run: (body, limits) =>
    runProgram(
      {
        command: process.execPath,
        arguments: [`--max-old-space-size=${limits.memoryMb}`, "-"],
        env: { TZ: "UTC" },
      },
      body,
      limits,
    ),
  async [Symbol.asyncDispose]() {},
});
