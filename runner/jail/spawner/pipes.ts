/** The three pipes of a child: pipes, not the socket pairs Node makes, so that a child holds no socket at all. */
import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { NR_PIPE2, O_CLOEXEC } from "../kernel/kernel-headers.ts";
import { allocate, type Kernel } from "../kernel/syscalls.ts";
import type { ChildDescriptors } from "./native-spawn.ts";

/** The server's ends, as streams. */
export interface PipeStreams {
  stdin: Socket;
  stdout: Socket;
  stderr: Socket;
}

export interface Pipes extends Disposable {
  childEnds: ChildDescriptors;
  /** Hands the server's ends over; otherwise they are closed with the rest. */
  takeServerEnds(): PipeStreams;
}

/** Close-on-exec, all of them. Throws when the system has no descriptors left. */
export function makePipes(kernel: Kernel): Pipes {
  const open: number[] = [];
  function pipe(): [number, number] {
    const ends = allocate(8);
    const result = kernel.syscall(NR_PIPE2, ends, O_CLOEXEC);
    if (result < 0) throw new Error(`pipe2 failed with errno ${-result}`);
    const view = new DataView(ends.buffer);
    const pair: [number, number] = [view.getInt32(0, true), view.getInt32(4, true)];
    open.push(...pair);
    return pair;
  }
  function closeAll(): void {
    for (const fd of open.splice(0)) closeSync(fd);
  }
  try {
    const [stdinRead, stdinWrite] = pipe();
    const [stdoutRead, stdoutWrite] = pipe();
    const [stderrRead, stderrWrite] = pipe();
    return {
      childEnds: [stdinRead, stdoutWrite, stderrWrite],
      takeServerEnds() {
        open.splice(0, open.length, stdinRead, stdoutWrite, stderrWrite);
        return {
          stdin: new Socket({ fd: stdinWrite, readable: false, writable: true }),
          stdout: new Socket({ fd: stdoutRead, readable: true, writable: false }),
          stderr: new Socket({ fd: stderrRead, readable: true, writable: false }),
        };
      },
      [Symbol.dispose]: closeAll,
    };
  } catch (error) {
    closeAll();
    throw error;
  }
}
