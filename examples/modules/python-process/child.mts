/** The Python process of a run: how it is started, spoken to, measured and killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable, Writable } from "node:stream";

const RUNNER = path.join(import.meta.dirname, "runner.py");
/** The unit of /proc/<pid>/stat on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;
/** What a child that does not read may leave unread before it counts as broken. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

export interface Child {
  process: ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable };
  /** What the runner says, as lines of JSON. */
  messages: Readable;
  /** Resolves when it has ended and all it printed has arrived. */
  closed: Promise<void>;
  /** Its working directory, made for this run. */
  folder: string;
  send(message: object): void;
  /** SIGKILL to the process and what it has started in its group. */
  kill(): void;
  destroy(): void;
}

/**
 * Messages to the child go to its standard input, messages from it come on descriptor 3; what a script prints, however
 * it prints it, is on standard output and cannot be mistaken for a message.
 */
export async function startChild(python: string): Promise<Child> {
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-python-"));
  const started = spawn(python, ["-I", "-X", "utf8", "-u", RUNNER], {
    cwd: folder,
    // Nothing of the server's: neither its keys nor its PATH.
    env: { LANG: "C.UTF-8", HOME: folder, TMPDIR: folder },
    // A group of its own, so that one signal reaches what it starts.
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "pipe"],
  }) as Child["process"];
  const messages = started.stdio[3] as Readable;
  // Whoever runs it listens too; an error that came before that must not end the server.
  started.on("error", () => {});
  // Writing to a dead child fails; that it is dead is told by its exit.
  for (const stream of [started.stdin, started.stdout, started.stderr, messages])
    stream.on("error", () => {});
  const closed = new Promise<void>((resolve) => {
    started.once("close", () => resolve());
  });
  const kill = () => {
    if (started.pid === undefined) return;
    try {
      process.kill(-started.pid, "SIGKILL");
    } catch {
      // Nothing is left of the group.
    }
  };
  return {
    process: started,
    messages,
    closed,
    folder,
    send(message) {
      if (!started.stdin.writable) return;
      started.stdin.write(`${JSON.stringify(message)}\n`);
      if (started.stdin.writableLength > MAX_UNREAD_BYTES) kill();
    },
    kill,
    destroy() {
      for (const stream of [started.stdin, started.stdout, started.stderr, messages]) stream.destroy();
    },
  };
}

/** What the run has cost, as the kernel counts it; empty when the process is gone or there is no /proc. */
export async function readCost({
  process: started,
}: Child): Promise<{ cpuMs?: number; peakMemoryBytes?: number }> {
  if (started.pid === undefined || started.exitCode !== null) return {};
  try {
    const stat = await readFile(`/proc/${started.pid}/stat`, "latin1");
    const status = await readFile(`/proc/${started.pid}/status`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const cpuMs = ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
    return { cpuMs, ...(peak !== undefined && { peakMemoryBytes: Number(peak) * 1024 }) };
  } catch {
    return {};
  }
}
