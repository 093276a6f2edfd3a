/**
 * Runs a server as a program on this host, over its standard streams. Unlike the MCP library's transport it ends the
 * entire process group, waits until the program has exited, and limits the program's output.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { writeFile } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import { serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { quoteForeign } from "#modules/shared/failures.ts";
import { McpFailure } from "../failures.ts";
import { readMessages } from "./message.ts";

export interface Program {
  command: string;
  args: string[];
  env: Record<string, string>;
  maxMessageBytes: number;
}

export interface StdioTransport extends Transport {
  /** Returns why the program ended, with the end of its stderr, or null while it runs. */
  describeEnd(): string | null;
}

const MAX_STDERR_TAIL_BYTES = 4096;
/** Time to exit after standard input was closed, and again after SIGTERM. */
const END_GRACE_MS = 1000;

export function createStdioTransport(program: Program): StdioTransport {
  let line: Buffer[] = [];
  let lineBytes = 0;
  let child: ChildProcessByStdio<Writable, Readable, Readable> | null = null;
  let ended: Promise<void> = Promise.resolve();
  let end: string | null = null;
  let stderrTail = Buffer.alloc(0);
  let closing: Promise<void> | null = null;

  const transport: StdioTransport = {
    start,
    send,
    close() {
      closing ??= close();
      return closing;
    },
    describeEnd: () => end,
  };

  async function start(): Promise<void> {
    const started = spawn(program.command, program.args, {
      env: { ...getDefaultEnvironment(), ...program.env },
      stdio: ["pipe", "pipe", "pipe"],
      // A separate process group lets us end everything that the program starts.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    child = started;
    // If memory runs out, the kernel ends the program before the server.
    writeFile(`/proc/${started.pid}/oom_score_adj`, "1000", () => {});
    ended = new Promise((resolve) => {
      started.once("exit", (code, signal) => {
        signalGroup(started.pid, "SIGKILL");
        const tail = quoteForeign(stderrTail.toString("utf8"));
        end = `The program ended (${signal ?? `exit code ${code}`})${tail === "" ? "." : `; end of its stderr: ${tail}`}`;
        for (const stream of [started.stdin, started.stdout, started.stderr]) stream.destroy();
        resolve();
        transport.onclose?.();
      });
      started.once("error", () => started.pid === undefined && resolve());
    });
    started.stdin.on("error", (error) => transport.onerror?.(error));
    started.stdout.on("error", (error) => transport.onerror?.(error));
    started.stderr.on("error", () => {});
    started.stdout.on("data", read);
    started.stderr.on("data", (chunk: Buffer) => {
      const said = Buffer.concat([stderrTail, chunk]);
      // Keeps complete lines: redaction does not recognize the end of a secret.
      const from = said.length > MAX_STDERR_TAIL_BYTES ? said.indexOf("\n", -MAX_STDERR_TAIL_BYTES) : 0;
      stderrTail = from < 0 ? Buffer.alloc(0) : said.subarray(from);
    });
    await new Promise<void>((resolve, reject) => {
      started.once("spawn", resolve);
      started.once("error", (error: NodeJS.ErrnoException) =>
        reject(
          new McpFailure(
            "mcp_unreachable",
            `The program cannot be started: ${error.code ?? "unknown reason"}.`,
          ),
        ),
      );
    });
  }

  function read(chunk: Buffer): void {
    for (let from = 0; closing === null && from < chunk.length; ) {
      const end = chunk.indexOf("\n", from);
      const part = chunk.subarray(from, end < 0 ? chunk.length : end);
      lineBytes += part.length;
      if (lineBytes > program.maxMessageBytes) {
        const problem = `The program sent a message of more than ${program.maxMessageBytes} bytes.`;
        transport.onerror?.(new McpFailure("mcp_too_large", problem));
        void transport.close();
        return;
      }
      line.push(part);
      if (end < 0) return;
      const text = Buffer.concat(line).toString("utf8");
      from = end + 1;
      line = [];
      lineBytes = 0;
      try {
        for (const message of readMessages(text)) transport.onmessage?.(message);
      } catch (error) {
        transport.onerror?.(error as Error);
      }
    }
  }

  function send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      if (child === null || end !== null || closing !== null) {
        reject(new McpFailure("mcp_connection_lost", end ?? "The program was stopped."));
        return;
      }
      child.stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  async function close(): Promise<void> {
    if (child === null || child.pid === undefined || end !== null) return;
    const { pid } = child;
    child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      await Promise.race([ended, sleep(END_GRACE_MS, undefined, { ref: false })]);
      if (end !== null) return;
      signalGroup(pid, signal);
    }
    await ended;
  }

  return transport;
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // The process group is empty.
  }
}
