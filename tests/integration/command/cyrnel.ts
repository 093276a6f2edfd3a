/** The command as people start it: its own program, with nothing of this process' environment but what a test gives it. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

export const PROJECT = path.resolve(import.meta.dirname, "../../..");
export const CYRNEL = path.join(PROJECT, "command/cyrnel");

export interface Ended {
  /** Exit code, or the signal that ended it. */
  code: number | NodeJS.Signals;
  stdout: string;
  stderr: string;
  /** Bytes of standard output. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json(): any;
}

export interface Started {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  ended: Promise<Ended>;
}

export interface CommandOptions {
  /** Standard input; without it, it is at its end. */
  input?: string;
  /** Standard input stays open after `input`. */
  isOpen?: boolean;
  environment?: Record<string, string>;
  cwd?: string;
  /** In place of the launcher. */
  program?: readonly [string, ...string[]];
}

export function startCyrnel(args: readonly string[], options: CommandOptions = {}): Started {
  const [program, ...before] = options.program ?? [CYRNEL];
  const child = spawn(program, [...before, ...args], {
    cwd: options.cwd ?? PROJECT,
    env: { PATH: process.env.PATH ?? "", ...options.environment },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  child.stdin?.on("error", () => {}).write(options.input ?? "");
  if (!options.isOpen) child.stdin?.end();
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) =>
      resolve({
        code: code ?? (signal as NodeJS.Signals),
        stdout,
        stderr,
        json: () => JSON.parse(stdout),
      }),
    );
  });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

export function cyrnel(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  return startCyrnel(args, options).ended;
}

export interface Folder extends AsyncDisposable {
  path: string;
  /** Writes a file and answers where it is. */
  write(name: string, text: string | Uint8Array): Promise<string>;
}

export async function makeFolder(): Promise<Folder> {
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-command-"));
  return {
    path: folder,
    async write(name, text) {
      const file = path.join(folder, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, text);
      return file;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
