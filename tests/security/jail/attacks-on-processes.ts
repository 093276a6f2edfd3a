/** Attacks on the server, its threads and other children, and starting programs. */
import { allocate } from "#runner/jail/kernel/syscalls.ts";
import { type Attack, EBADF, EINVAL, ENOSYS, refused, refusedByLock, refusedFromBirth } from "./attack.ts";

export const processes: Record<string, Attack> = {
  "signal the server": refusedFromBirth(({ call }, { parentPid }) => call("kill", parentPid, 0)),
  "signal the server's main thread": refusedFromBirth(({ call }, { parentPid }) =>
    call("tgkill", parentPid, parentPid, 0),
  ),
  "signal the spawner thread": refusedFromBirth(({ call }, { parentPid, spawnerThread }) =>
    call("tgkill", parentPid, spawnerThread, 0),
  ),
  "signal the spawner thread by tkill": refusedFromBirth(({ call }, { spawnerThread }) =>
    call("tkill", spawnerThread, 0),
  ),
  "signal everyone": refusedFromBirth(({ call }) => call("kill", -1, 0)),
  "signal another child": refusedFromBirth(({ call }, { siblingPid }) => call("kill", siblingPid, 0)),
  "signal another child's thread": {
    run: ({ call }, { siblingPid }) => call("tgkill", siblingPid, siblingPid, 0),
    control: "succeeds",
    birth: "open",
    locked: refused,
  },
  "queue a signal for the server": refusedFromBirth(({ call }, { parentPid }) => {
    const info = allocate(128);
    new DataView(info.buffer).setInt32(8, -1, true);
    return call("rt_sigqueueinfo", parentPid, 0, info);
  }),
  "hold the server by pidfd": refusedFromBirth(({ call }, { parentPid }) => call("pidfd_open", parentPid, 0)),
  "take a descriptor of the server": refusedFromBirth(({ call }) => call("pidfd_getfd", -1, 0, 0), [EBADF]),
  "have signals of its pipe sent to the server": refusedByLock(({ call }, { parentPid }) =>
    call("fcntl", 1, 8, parentPid),
  ),
  "read the limits of the server": refusedFromBirth(({ call }, { parentPid }) =>
    call("prlimit64", parentPid, 7, null, allocate(16)),
  ),
  "slow the server down": refusedFromBirth(({ call }, { parentPid }) =>
    call("setpriority", 0, parentPid, 10),
  ),
  "pin the server to a CPU": refusedFromBirth(({ call }, { parentPid }) =>
    call("sched_setaffinity", parentPid, 128, allocate(128).fill(0xff)),
  ),
  "compare itself with the server": refusedFromBirth(({ call }, { parentPid }) =>
    call("kcmp", parentPid, process.pid, 0, 0, 0),
  ),
  trace: {
    run: ({ call }) => call("ptrace", 0, 0, 0, 0),
    control: "succeeds",
    birth: "killed",
    locked: "killed",
  },
  "read another process's memory": {
    run: ({ call }, { siblingPid }) => call("process_vm_readv", siblingPid, null, 0, null, 0, 0),
    control: "succeeds",
    birth: "killed",
    locked: "killed",
  },
  "write another process's memory": {
    run: ({ call }, { siblingPid }) => call("process_vm_writev", siblingPid, null, 0, null, 0, 0),
    control: "succeeds",
    birth: "killed",
    locked: "killed",
  },
  fork: refusedByLock(({ call }) => {
    const pid = call("clone", 17, 0, 0, 0, 0);
    if (pid === 0) call("exit_group", 0);
    return pid;
  }),
  // mov eax, clone; mov edi, CLONE_VM | FS | FILES | SIGHAND | THREAD | SYSVSEM; lea rsi, [rsp - 4096]; zero the rest; syscall;
  // in the thread: mov eax, exit; xor edi, edi; syscall; in the caller: ret
  "start a thread": {
    ...refusedByLock(({ runMachineCode }) =>
      runMachineCode(
        [
          [0xb8, 56, 0, 0, 0, 0xbf, 0x00, 0x0f, 0x05, 0x00],
          [0x48, 0x8d, 0xb4, 0x24, 0x00, 0xf0, 0xff, 0xff],
          [0x31, 0xd2, 0x4d, 0x31, 0xd2, 0x4d, 0x31, 0xc0, 0x0f, 0x05],
          [0x85, 0xc0, 0x75, 0x09, 0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05, 0xc3],
        ].flat(),
      ),
    ),
    only: "x86_64",
  },
  "fork by clone3": {
    run: ({ call }) => call("clone3", null, 0),
    control: [EINVAL],
    birth: [ENOSYS],
    locked: [ENOSYS],
  },
  "start a program": {
    run: ({ call, text }, { program }) => call("execve", text(program), null, null),
    control: "succeeds",
    birth: refused,
    locked: "killed",
  },
  "start a program by descriptor": {
    run: ({ call, text }) => call("execveat", -1, text(""), null, null, 0x1000),
    control: [EBADF],
    birth: "killed",
    locked: "killed",
  },
};
