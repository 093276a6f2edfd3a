/** What the self-test tries, as system calls, and which answers count as a refusal. Harmless where it succeeds. */
import {
  AF_INET,
  AT_FDCWD,
  EACCES,
  ENOMEM,
  EPERM,
  MAP_PRIVATE_ANONYMOUS,
  PROT_READ_WRITE,
  SIGCHLD,
  SOCK_STREAM,
} from "../jail/kernel-headers.ts";
import { type Architecture, type SyscallName, syscallNumber } from "../jail/seccomp/syscall-numbers.ts";
import type { Attack, SelfTestOrders, StepArgument } from "./self-test-child.ts";

/** Of the server, made for the test. */
export interface Canaries {
  /** A file its owner may read and execute; it is no program. */
  file: string;
  /** A TCP port of 127.0.0.1 that listens. */
  port: number;
}

/** What the child is given, and twice of which it then asks for. */
export const TEST_MEMORY_BYTES = 32 * 1024 * 1024;
const ALLOCATE = "allocate twice its limit";
const ALLOCATE_LITTLE = "allocate a quarter of its limit";

/** Every list of attacks, for a kernel of this architecture. */
export function planAttacks(
  architecture: Architecture,
  { file, port }: Canaries,
): Omit<SelfTestOrders, "lock"> {
  const step = (name: SyscallName, ...args: StepArgument[]) => ({
    call: syscallNumber(name, architecture) as number,
    args,
  });
  const address = { bytes: [AF_INET, 0, port >> 8, port & 255, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0] };
  const allocate = (name: string, bytes: number): Attack => ({
    name,
    steps: [step("mmap", 0, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0)],
  });
  const read = { name: "read a file", steps: [step("openat", AT_FDCWD, { text: file }, 0, 0)] };
  const execute = { name: "start a program", steps: [step("execve", { text: file }, 0, 0)] };
  const outside: Attack[] = [
    read,
    { name: "open a socket", steps: [step("socket", AF_INET, SOCK_STREAM, 0)] },
    {
      name: "connect to the server's machine",
      steps: [step("socket", AF_INET, SOCK_STREAM, 0), step("connect", "previous", address, 16)],
    },
    { name: "signal the server", steps: [step("kill", process.pid, 0)] },
  ];
  return {
    birth: [...outside, execute],
    locked: [
      ...outside,
      {
        name: "look at a file",
        steps: [step("statx", AT_FDCWD, { text: file }, 0, 0x7ff, { bytes: Array(256).fill(0) })],
      },
      {
        name: "open what it was started from",
        steps: [step("openat", AT_FDCWD, { text: "/dev/null" }, 0, 0)],
      },
      { name: "make a copy of itself", isFork: true, steps: [step("clone", SIGCHLD, 0, 0, 0, 0)] },
    ],
    limited: [allocate(ALLOCATE, TEST_MEMORY_BYTES * 2), allocate(ALLOCATE_LITTLE, TEST_MEMORY_BYTES / 4)],
    last: execute,
  };
}

/** Whether the kernel's answer to an attack is a refusal. */
export function isRefusal(answer: number | undefined): boolean {
  return answer === -EPERM || answer === -EACCES;
}

/** Whether a limit was felt: much was refused, little was given. */
export function isLimited(answers: Record<string, number>): boolean {
  return answers[ALLOCATE] === -ENOMEM && (answers[ALLOCATE_LITTLE] ?? -1) > 0;
}
