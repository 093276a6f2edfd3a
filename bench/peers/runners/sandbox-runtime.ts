/** `@anthropic-ai/sandbox-runtime` round a Node process: no network, nothing to write, the host's folders denied. */
import { homedir } from "node:os";
import { pathToFileURL } from "node:url";
import type { OpenRunner } from "../runner.ts";
import { runProgram } from "./program.ts";

interface SandboxManager {
  initialize(config: object): Promise<void>;
  wrapWithSandbox(command: string): Promise<string>;
  checkDependencies(): { errors: string[] };
  reset(): Promise<void>;
}

export const open: OpenRunner = async ({ packages, hidden, path, libraries }) => {
  const entry = pathToFileURL(`${packages}/node_modules/@anthropic-ai/sandbox-runtime/dist/index.js`).href;
  const { SandboxManager } = (await import(entry)) as { SandboxManager: SandboxManager };
  const { errors } = SandboxManager.checkDependencies();
  if (errors.length > 0) throw new Error(errors.join("; "));
  await SandboxManager.initialize({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [homedir(), hidden], allowRead: [], allowWrite: [], denyWrite: [] },
  });
  return {
    async run(body, limits) {
      const command = await SandboxManager.wrapWithSandbox(
        `${JSON.stringify(process.execPath)} --max-old-space-size=${limits.memoryMb} -`,
      );
      const env = { TZ: "UTC", PATH: path, LD_LIBRARY_PATH: libraries };
      return runProgram({ command, arguments: [], env, shell: true }, body, limits);
    },
    [Symbol.asyncDispose]: () => SandboxManager.reset(),
  };
};
