/** The filters of the jail: what each program answers, for every system call, on both architectures. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compilePolicy } from "#runner/jail/seccomp/compile.ts";
import { birthPolicy, selfLockPolicy } from "#runner/jail/seccomp/policies.ts";
import {
  HIGHEST_KNOWN_SYSCALL,
  SYSCALL_NAMES,
  type SyscallName,
  syscallNumber,
} from "#runner/jail/seccomp/syscall-numbers.ts";
import { ARCHITECTURES, AUDIT_ARCH, installed, nameOf, OWN, runSeccomp } from "./jail-bpf-interpreter.ts";

const SERVER = 77;
/** MAP_PRIVATE | MAP_ANONYMOUS. */
const PRIVATE = 0x22;

describe.each(ARCHITECTURES)("the filters on %s", (architecture) => {
  const programs = {
    birth: installed(compilePolicy(birthPolicy(SERVER), architecture)),
    lock: installed(compilePolicy(selfLockPolicy({ paranoid: false }), architecture)),
    paranoid: installed(compilePolicy(selfLockPolicy({ paranoid: true }), architecture)),
    threads: installed(compilePolicy(selfLockPolicy({ paranoid: false, startsThreads: true }), architecture)),
  };

  function answer(filter: keyof typeof programs, name: SyscallName, ...args: (number | bigint)[]): string {
    const number = syscallNumber(name, architecture);
    if (number === null) return "no such call";
    return nameOf(
      runSeccomp(programs[filter], {
        number,
        architecture: AUDIT_ARCH[architecture],
        args: args.map(BigInt),
      }),
    );
  }

  it("kill every call of a foreign architecture and every x32 number", () => {
    const foreign = [0x40000003, AUDIT_ARCH[architecture === "x86_64" ? "aarch64" : "x86_64"], 0, 0xc00000f3];
    for (const program of Object.values(programs)) {
      for (let number = 0; number <= HIGHEST_KNOWN_SYSCALL; number += 1) {
        for (const other of foreign) {
          expect(nameOf(runSeccomp(program, { number, architecture: other, args: [] }))).toBe("kill");
        }
      }
      const x32 = nameOf(
        runSeccomp(program, { number: 0x40000000, architecture: AUDIT_ARCH[architecture], args: [] }),
      );
      expect(x32).toBe(architecture === "x86_64" ? "kill" : "errno 38");
    }
  });

  it("leave calls of future kernels absent", () => {
    for (const filter of Object.values(programs)) {
      for (const number of [HIGHEST_KNOWN_SYSCALL + 1, 600, 4095, 0x3fffffff]) {
        expect(nameOf(runSeccomp(filter, { number, architecture: AUDIT_ARCH[architecture], args: [] }))).toBe(
          "errno 38",
        );
      }
    }
  });

  it("let a locked child do these and nothing else", () => {
    const allowed = SYSCALL_NAMES.filter((name) => answer("lock", name) === "allow");
    expect(allowed.toSorted()).toMatchSnapshot();
    const conditional = SYSCALL_NAMES.filter((name) =>
      [OWN, 15, 0x10000, 0x5421].some((value) =>
        [value, 0, 1, 3, 0x5421].some(
          (second) => answer("lock", name, value, second, 4, PRIVATE) === "allow",
        ),
      ),
    ).filter((name) => !allowed.includes(name));
    expect(conditional.toSorted()).toEqual(["fcntl", "ioctl", "madvise", "mmap", "prctl", "tgkill"]);
  });

  it("kill a locked child that reaches for another program or another's memory", () => {
    for (const name of [
      "execve",
      "execveat",
      "ptrace",
      "process_vm_readv",
      "process_vm_writev",
      "bpf",
    ] as const) {
      expect([name, answer("lock", name)]).toEqual([name, "kill"]);
    }
    expect(answer("birth", "execve")).toBe("allow");
    expect(answer("birth", "ptrace")).toBe("kill");
  });

  it("let a locked child map memory of its own, and no other kind", () => {
    for (const flags of [PRIVATE, PRIVATE | 0x10, PRIVATE | 0x4000, PRIVATE | 0x20000, PRIVATE | 0x100000]) {
      expect([flags, answer("lock", "mmap", 0, 4096, 3, flags)]).toEqual([flags, "allow"]);
    }
    // Shared, shared by its newer name, droppable, none, growing like a stack, locked, huge, synchronous, of a future kernel.
    const others = [
      0x21,
      0x23,
      0x28,
      0x20,
      PRIVATE | 0x100,
      PRIVATE | 0x2000,
      PRIVATE | 0x40000,
      PRIVATE | 0x80000,
    ];
    for (const flags of [...others, PRIVATE | 0x80000000, 0x21n | (1n << 40n)]) {
      for (const filter of ["lock", "threads", "paranoid"] as const) {
        expect([flags, answer(filter, "mmap", 0, 4096, 3, flags)]).toEqual([flags, "errno 1"]);
      }
    }
    expect(answer("lock", "mremap", 0, 4096, 8192, 1)).toBe("errno 1");
    expect(answer("birth", "mmap", 0, 4096, 1, 0x01)).toBe("allow");
  });

  it("let a locked child give the advice about memory that V8 gives", () => {
    const allowed = Array.from({ length: 256 }, (_, advice) => advice).filter(
      (advice) => answer("lock", "madvise", 0, 4096, advice) === "allow",
    );
    expect(allowed).toEqual([4, 8, 10]);
    expect(answer("lock", "madvise", 0, 4096, (1n << 32n) | 100n)).toBe("errno 1");
  });

  it("let a locked child start threads only where it needs to, and no process", () => {
    const thread = 0x3d0f00; // what glibc passes
    const fork = 0x1200011;
    const vfork = 0x4111;
    expect(answer("threads", "clone", thread)).toBe("allow");
    expect(answer("lock", "clone", thread)).toBe("errno 1");
    for (const flags of [fork, vfork, thread | 0x10000000, thread | 0x40000000, thread | 0x2000]) {
      for (const filter of ["lock", "threads"] as const) {
        expect([flags, answer(filter, "clone", flags)]).toEqual([flags, "errno 1"]);
      }
    }
    expect(answer("lock", "clone3")).toBe("errno 38");
    expect(answer("threads", "clone3")).toBe("errno 38");
    expect(answer("birth", "clone", fork)).toBe("allow");
    expect(answer("birth", "clone", vfork)).toBe("allow");
    expect(answer("birth", "clone", fork | 0x10000000)).toBe("errno 1");
    expect(answer("birth", "clone3")).toBe("errno 38");
  });

  it("let a locked child signal itself only", () => {
    expect(answer("lock", "tgkill", OWN, OWN, 6)).toBe("allow");
    expect(answer("lock", "tgkill", SERVER, SERVER, 9)).toBe("errno 1");
    for (const name of ["kill", "tkill", "rt_sigqueueinfo", "pidfd_send_signal"] as const) {
      expect([name, answer("lock", name, OWN, 0), answer("birth", name, OWN, 0)]).toEqual([
        name,
        "errno 1",
        "errno 1",
      ]);
    }
    expect(answer("birth", "tgkill", SERVER, SERVER, 9)).toBe("errno 1");
    expect(answer("birth", "tgkill", BigInt(SERVER) | (1n << 32n), SERVER, 9)).toBe("errno 1");
    expect(answer("birth", "tgkill", OWN, OWN, 6)).toBe("allow");
  });

  it("do not look at bits the kernel ignores, nor forget bits it reads", () => {
    const high = 1n << 32n;
    expect(answer("birth", "ioctl", 0, 0x5412n | high)).toBe("errno 1");
    expect(answer("birth", "prctl", 4n | high, 1)).toBe("errno 1");
    expect(answer("lock", "prlimit64", 0, 3, 0)).toBe("allow");
    expect(answer("lock", "prlimit64", 0, 3, high)).toBe("errno 1");
    expect(answer("lock", "prlimit64", SERVER, 3, 0)).toBe("errno 1");
    expect(answer("birth", "prlimit64", SERVER, 7, 4096)).toBe("errno 1");
    expect(answer("birth", "prlimit64", 0, 7, 4096)).toBe("allow");
  });

  it("refuse to open for writing from birth, and to open at all after the lock", () => {
    const readOnly = 0o2000000;
    for (const flags of [1, 2, 0o100, 0o1000, 0o20200002]) {
      expect([flags, answer("birth", "openat", -100, 0, flags)]).toEqual([flags, "errno 1"]);
    }
    expect(answer("birth", "openat", -100, 0, readOnly)).toBe("allow");
    expect(answer("lock", "openat", -100, 0, readOnly)).toBe("errno 1");
    for (const name of ["newfstatat", "statx", "faccessat", "readlinkat", "getdents64", "getcwd"] as const) {
      expect([name, answer("lock", name)]).toEqual([name, "errno 1"]);
    }
  });

  it("refuse executable memory only where it was asked for", () => {
    expect(answer("lock", "mmap", 0, 4096, 7, PRIVATE)).toBe("allow");
    expect(answer("paranoid", "mmap", 0, 4096, 3, PRIVATE)).toBe("allow");
    for (const name of ["mmap", "mprotect", "pkey_mprotect"] as const) {
      expect([name, answer("paranoid", name, 0, 4096, 5, PRIVATE)]).toEqual([name, "errno 1"]);
    }
  });

  it("never offer io_uring, whose operations pass by every filter", () => {
    for (const name of ["io_uring_setup", "io_uring_enter", "io_uring_register"] as const) {
      expect([name, answer("birth", name), answer("lock", name)]).toEqual([name, "errno 38", "errno 38"]);
    }
  });
});

describe("system call numbers", () => {
  it("are those of the kernel headers of this machine", () => {
    const header = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h";
    if (!existsSync(header)) return;
    const defined = new Map(
      [...readFileSync(header, "utf8").matchAll(/#define __NR_(\w+) (\d+)/g)].map(([, name, number]) => [
        name,
        Number(number),
      ]),
    );
    const wrong = SYSCALL_NAMES.filter((name) => {
      const known = defined.get(name);
      return known !== undefined && known !== syscallNumber(name, "x86_64");
    });
    expect(wrong).toEqual([]);
  });

  it("name each number once", () => {
    for (const architecture of ARCHITECTURES) {
      const numbers = SYSCALL_NAMES.map((name) => syscallNumber(name, architecture)).filter(
        (n) => n !== null,
      );
      expect(new Set(numbers).size).toBe(numbers.length);
      expect(Math.max(...numbers)).toBeLessThanOrEqual(HIGHEST_KNOWN_SYSCALL);
    }
  });
});
