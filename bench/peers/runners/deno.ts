/** `deno run` per run, with no permission, no prompt, a heap limit and a time limit. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { OpenRunner } from "../runner.ts";
import { runProgram } from "./program.ts";

export const open: OpenRunner = async ({ packages }) => {
  const platforms = join(packages, "node_modules/@deno");
  const [platform] = readdirSync(platforms);
  if (platform === undefined) throw new Error("no program for this platform");
  return {
    run: (body, limits) =>
      runProgram(
        {
          command: join(platforms, platform, "deno"),
          arguments: [
            "run",
            "--quiet",
            "--no-prompt",
            "--no-config",
            "--no-lock",
            "--no-remote",
            "--no-npm",
            `--v8-flags=--max-old-space-size=${limits.memoryMb}`,
            "-",
          ],
          env: { TZ: "UTC", DENO_DIR: join(packages, "deno-dir"), DENO_NO_UPDATE_CHECK: "1" },
        },
        body,
        limits,
      ),
    async [Symbol.asyncDispose]() {},
  };
};
