/**
 * Installs one package into a folder, in a separate process with limits on time, memory, disk and network. The caller
 * removes the folder.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { realpath } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { RLIMIT_DATA, RLIMIT_FSIZE } from "#runner/jail/kernel/kernel-headers.ts";
import { openKernel } from "#runner/jail/kernel/syscalls.ts";
import { typesOf } from "#runner/packages/types.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import { endFirstWithoutMemory } from "#runner/process/start-process.ts";
import {
  INSTALL_LIMITS,
  type InstalledTree,
  type InstallJob,
  type InstallMessage,
  type InstallStep,
  installMessageSchema,
  REGISTRY_PIPES,
} from "./messages.ts";
import { permissionFlags } from "./permissions.ts";
import { openRegistryProxy, type Registry, type RegistryProxy } from "./registry-proxy.ts";

export interface InstallerOptions {
  fetch: typeof globalThis.fetch;
  registry: Registry;
  advisories: InstallJob["advisories"];
  minAgeDays: number;
  idleMs: number;
  maxMs?: number;
}

const MAX_MS = 300_000;

export interface InstallRequest extends Pick<InstallJob, "name" | "range" | "lock" | "folder"> {
  onStep(step: InstallStep, done: number, total: number | null): void;
  signal: AbortSignal;
}

/** An installation error whose message is for the operator who requested the package. */
export class InstallProblem extends Error {
  override readonly name = "InstallProblem";
}

const ENTRY = fileURLToPath(new URL("./main.ts", import.meta.url));
const MAX_HEAP_MB = 1024;
const MAX_DATA_BYTES = 2n * 1024n ** 3n;
const MAX_FILE_BYTES = 320n * 1024n ** 2n;
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const MAX_ERROR_CHARACTERS = 2000;
const DAY_MS = 86_400_000;

/** Installs a package. Throws InstallProblem. */
export async function installPackage(
  { fetch, registry, advisories, minAgeDays, idleMs, maxMs = MAX_MS }: InstallerOptions,
  { onStep, signal, ...asked }: InstallRequest,
): Promise<InstalledTree> {
  await using proxy = openRegistryProxy({ fetch, registry, limits: INSTALL_LIMITS, idleMs });
  const before = minAgeDays === 0 ? null : new Date(Date.now() - minAgeDays * DAY_MS).toISOString();
  const folder = await realpath(asked.folder);
  const job: InstallJob = {
    ...asked,
    types: asked.lock === null && !asked.name.startsWith("@types/") ? typesOf(asked.name) : null,
    folder,
    before,
    minAgeDays,
    advisories,
    limits: INSTALL_LIMITS,
  };
  const late = AbortSignal.timeout(maxMs);
  const outcome = await runInstaller(job, proxy, AbortSignal.any([signal, late]), onStep);
  if (outcome.type === "tree") return outcome.tree;
  if (signal.aborted) throw new InstallProblem("The server stopped while it was installed.");
  // Check the time limit first: the proxy would only report that the process exited.
  if (late.aborted) throw new InstallProblem(`It could not be installed within ${maxMs} ms.`);
  const message = proxy.problem ?? outcome.message ?? "The process that installs it was ended.";
  throw new InstallProblem(registry.token === null ? message : conceal(message, registry.token));
}

/** Hides the token in a message, because a registry may quote the request in its response. */
function conceal(message: string, token: string): string {
  return message.replaceAll(token, "[secret]").replaceAll(encodeURIComponent(token), "[secret]");
}

type Outcome = Extract<InstallMessage, { type: "tree" }> | { type: "problem"; message: string | null };

function runInstaller(
  job: InstallJob,
  proxy: Pick<RegistryProxy, "serve">,
  signal: AbortSignal,
  onStep: InstallRequest["onStep"],
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(findNodeBinary().path, flagsFor(job), {
      cwd: job.folder,
      env: { NODE_NO_WARNINGS: "1", HOME: job.folder, TMPDIR: job.folder },
      stdio: ["pipe", "pipe", "pipe", ...REGISTRY_PIPES.map(() => "pipe" as const)],
    });
    for (const pipe of REGISTRY_PIPES) proxy.serve(child.stdio[pipe] as Duplex);
    const stop = () => child.kill("SIGKILL");
    let outcome: Outcome | null = null;
    let bytes = 0;
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors = (errors + text).slice(-MAX_ERROR_CHARACTERS);
    });
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_OUTPUT_BYTES) stop();
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      const message = readMessage(line);
      if (message === null || outcome !== null) return;
      if (message.type === "step") onStep(message.step, message.done, message.total);
      else {
        outcome = message;
        stop();
      }
    });
    child.once("error", (error) => {
      errors = error.message;
    });
    child.once("close", () => {
      signal.removeEventListener("abort", stop);
      resolve(outcome ?? { type: "problem", message: signal.aborted ? null : lastWords(errors) });
    });
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    limit(child);
    endFirstWithoutMemory(child.pid);
    child.stdin.on("error", () => {}).end(JSON.stringify(job));
  });
}

/** Node enforces what the process may access; the kernel enforces how much. */
function flagsFor({ folder }: InstallJob): string[] {
  return [...permissionFlags(folder), "--disable-proto=throw", `--max-old-space-size=${MAX_HEAP_MB}`, ENTRY];
}

function limit({ pid }: ChildProcess): void {
  if (pid === undefined || process.platform !== "linux") return;
  try {
    const kernel = openKernel();
    kernel.prlimit(pid, RLIMIT_DATA, { soft: MAX_DATA_BYTES, hard: MAX_DATA_BYTES });
    kernel.prlimit(pid, RLIMIT_FSIZE, { soft: MAX_FILE_BYTES, hard: MAX_FILE_BYTES });
  } catch {
    // Node may lack FFI at level development: then only time, heap and counted bytes are limited.
  }
}

function readMessage(line: string): InstallMessage | null {
  try {
    return installMessageSchema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

function lastWords(errors: string): string {
  const line = errors.split("\n").findLast((text) => /error|denied|memory/i.test(text));
  return `The process that installs it ended${line === undefined ? "." : `: ${line.trim().slice(0, 300)}`}`;
}
