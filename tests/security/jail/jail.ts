/** Starts a spawner and children in the jail, for tests that need no server. */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { openKernel } from "#runner/jail/kernel/syscalls.ts";
import { landlockAbi } from "#runner/jail/landlock.ts";
import { inspectNode, listRuntimeFiles } from "#runner/jail/runtime-files.ts";
import { compilePolicy } from "#runner/jail/seccomp/compile.ts";
import { birthPolicy, selfLockPolicy } from "#runner/jail/seccomp/policies.ts";
import type { Architecture } from "#runner/jail/seccomp/syscall-numbers.ts";
import { type JailedProcess, type Spawner, startSpawner } from "#runner/jail/spawner/spawner.ts";

export const architecture: Architecture = process.arch === "arm64" ? "aarch64" : "x86_64";

/** The flags of a real child, with a small heap. */
const FLAGS = [
  "--permission",
  "--allow-ffi",
  "--no-addons",
  "--no-experimental-sqlite",
  "--disable-sigusr1",
  "--disallow-code-generation-from-strings",
  "--disable-proto=delete",
  "--no-warnings",
  "--v8-pool-size=0",
  "--max-old-space-size=64",
  "--max-semi-space-size=8",
  "--openssl-config=/dev/null",
];

/** Bundles a test's child into `directory`; returns its path. */
export async function bundleChild(name: string, directory: string): Promise<string> {
  const outfile = join(directory, `${name}.mjs`);
  await build({
    entryPoints: [join(import.meta.dirname, `${name}.ts`)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
  return outfile;
}

export async function startJail(bundle: string): Promise<Spawner> {
  const files = await listRuntimeFiles(await inspectNode(process.execPath), [bundle]);
  return await startSpawner({
    ...files,
    landlockAbi: landlockAbi(openKernel()),
    filter: compilePolicy(birthPolicy(process.pid), architecture),
  });
}

export interface Conversation {
  child: JailedProcess;
  /** Its lines on stdout, parsed; `undefined` when it has ended. */
  next(): Promise<unknown>;
  say(line: string): void;
  /** All it wrote to stderr so far. */
  errors(): string;
}

export interface ConversationOptions {
  paranoid?: boolean;
  flags?: readonly string[];
}

/** Starts a bundled child that locks itself, and waits for its `ready`. */
export async function startLocked(
  spawner: Spawner,
  bundle: string,
  cwd: string,
  { paranoid = false, flags = [] }: ConversationOptions = {},
): Promise<Conversation> {
  const { bytes, pidOffsets } = compilePolicy(selfLockPolicy({ paranoid }), architecture);
  const word = JSON.stringify({
    parentPid: process.pid,
    landlockAbi: landlockAbi(openKernel()),
    filter: Buffer.from(bytes).toString("base64"),
    pidOffsets,
  });
  const child = await spawner.start({
    path: process.execPath,
    args: [...FLAGS, ...flags, bundle, word],
    cwd,
  });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(0, 100_000);
  });
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const conversation: Conversation = {
    child,
    async next() {
      const { value, done } = await lines.next();
      return done ? undefined : JSON.parse(value);
    },
    say: (line) => child.stdin.write(`${line}\n`),
    errors: () => errors,
  };
  const ready = await conversation.next();
  if (ready !== "ready") {
    throw new Error(`the child did not get ready: ${JSON.stringify(await child.exited)} ${errors}`);
  }
  return conversation;
}
