/** Runs a script as the program of a process of its own: its standard input, answered on its standard output. */
import { spawn } from "node:child_process";
import type { Limits } from "../runner.ts";

const MARK = "\u0001result ";
const MAX_OUTPUT_BYTES = 1024 * 1024;

export interface Program {
  command: string;
  arguments: readonly string[];
  env: Record<string, string>;
  /** The command is a line for the shell. */
  shell?: boolean;
}

/** A whole program that runs the body and prints what it returned. */
function asProgram(body: string): string {
  return `(async () => {\n${body}\n})().then((value) => console.log(${JSON.stringify(`\n${MARK}`)} + JSON.stringify(value ?? null)));`;
}

/** Ends the process group at the time limit, or when it has printed too much. Rejects unless a result was printed. */
export function runProgram(program: Program, body: string, { timeoutMs }: Limits): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = spawn(program.command, program.arguments, {
      env: program.env,
      stdio: ["pipe", "pipe", "ignore"],
      detached: true,
      shell: program.shell ?? false,
    });
    let output = "";
    let reason = "it printed no result";
    function end(because: string) {
      reason = because;
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // it has ended
      }
    }
    const timer = setTimeout(() => end("time limit"), timeoutMs);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > MAX_OUTPUT_BYTES) end("too much output");
    });
    child.stdin.on("error", () => {});
    child.stdin.end(asProgram(body));
    child.once("error", reject);
    child.once("close", () => {
      clearTimeout(timer);
      const at = output.lastIndexOf(MARK);
      if (at < 0) return reject(new Error(reason));
      try {
        resolve(JSON.parse(output.slice(at + MARK.length)));
      } catch (error) {
        reject(error);
      }
    });
  });
}
