/** Attacks on files and paths: reading, changing, and learning what exists. */
import { allocate } from "#runner/jail/kernel/syscalls.ts";
import { AT_FDCWD, type Attack, ENOENT, ENOSYS, refusedByLock, refusedFromBirth } from "./attack.ts";

export const filesAndPaths: Record<string, Attack> = {
  "read a file": refusedFromBirth(({ call, text }, { canary }) => call("openat", AT_FDCWD, text(canary), 0)),
  "read a file through /proc/self/root": refusedFromBirth(({ call, text }, { canary }) =>
    call("openat", AT_FDCWD, text(`/proc/self/root${canary}`), 0),
  ),
  "read a file by openat2": {
    run: ({ call, text }, { canary }) => call("openat2", AT_FDCWD, text(canary), allocate(24), 24),
    control: "succeeds",
    birth: [ENOSYS],
    locked: [ENOSYS],
  },
  "list the root directory": refusedFromBirth(({ call, text }) =>
    call("openat", AT_FDCWD, text("/"), 0o200000),
  ),
  "read the server's environment": refusedFromBirth(({ call, text }, { parentPid }) =>
    call("openat", AT_FDCWD, text(`/proc/${parentPid}/environ`), 0),
  ),
  "write the spawner thread's memory": refusedFromBirth(({ call, text }, { parentPid, spawnerThread }) =>
    call("openat", AT_FDCWD, text(`/proc/${parentPid}/task/${spawnerThread}/mem`), 2),
  ),
  "write its own memory past its protection": refusedFromBirth(({ call, text }) =>
    call("openat", AT_FDCWD, text("/proc/self/mem"), 2),
  ),
  "reopen its own pipe": refusedFromBirth(({ call, text }) =>
    call("openat", AT_FDCWD, text("/proc/self/fd/1"), 1),
  ),
  "open a file for writing": refusedFromBirth(({ call, text }, { directory }) =>
    call("openat", AT_FDCWD, text(`${directory}/made`), 0o101, 0o600),
  ),
  "make a nameless file": refusedFromBirth(({ call, text }, { directory }) =>
    call("openat", AT_FDCWD, text(directory), 0o20200002, 0o600),
  ),
  "make a directory": refusedFromBirth(
    ({ call, text }, { directory }) => call("mkdirat", AT_FDCWD, text(`${directory}/canary`), 0o700),
    [-17],
  ),
  "make a device": refusedFromBirth(
    ({ call, text }, { directory }) => call("mknodat", AT_FDCWD, text(`${directory}/canary`), 0o010600, 0),
    [-17],
  ),
  "delete a file": refusedFromBirth(
    ({ call, text }, { directory }) => call("unlinkat", AT_FDCWD, text(`${directory}/nothing`), 0),
    [ENOENT],
  ),
  "rename a file": refusedFromBirth(
    ({ call, text }, { directory }) =>
      call("renameat2", AT_FDCWD, text(`${directory}/nothing`), AT_FDCWD, text(`${directory}/made`), 0),
    [ENOENT],
  ),
  "link a file": refusedFromBirth(
    ({ call, text }, { canary, directory }) =>
      call("symlinkat", text(canary), AT_FDCWD, text(`${directory}/canary`)),
    [-17],
  ),
  "change a file's mode": refusedFromBirth(({ call, text }, { canary }) =>
    call("fchmodat", AT_FDCWD, text(canary), 0o644),
  ),
  "change a file's times": refusedFromBirth(({ call, text }, { canary }) =>
    call("utimensat", AT_FDCWD, text(canary), null, 0),
  ),
  "shorten a file": refusedFromBirth(
    ({ call, text }, { directory }) => call("truncate", text(`${directory}/nothing`), 0),
    [ENOENT],
  ),
  "see whether a file exists": refusedByLock(({ call, text }, { canary }) =>
    call("newfstatat", AT_FDCWD, text(canary), allocate(144), 0),
  ),
  "see whether a file exists, by statx": refusedByLock(({ call, text }, { canary }) =>
    call("statx", AT_FDCWD, text(canary), 0, 0x7ff, allocate(256)),
  ),
  "see whether a file may be read": refusedByLock(({ call, text }, { canary }) =>
    call("faccessat", AT_FDCWD, text(canary), 4),
  ),
  "read a link": refusedByLock(({ call, text }) =>
    call("readlinkat", AT_FDCWD, text("/proc/self/exe"), allocate(256), 256),
  ),
  "learn its directory": refusedByLock(({ call }) => call("getcwd", allocate(4096), 4096)),
  "change its directory": refusedByLock(({ call, text }) => call("chdir", text("/etc"))),
  "change its root": refusedFromBirth(({ call, text }) => call("chroot", text("/nowhere")), [ENOENT], {
    controlNeedsRoot: true,
  }),
  "watch files": refusedFromBirth(({ call }) => call("inotify_init1", 0)),
  "name a file by handle": refusedFromBirth(
    ({ call, text }, { canary }) =>
      call("name_to_handle_at", AT_FDCWD, text(canary), allocate(8), allocate(4), 0),
    [-75, -95],
  ),
  "make memory that is a file": refusedFromBirth(({ call, text }) => call("memfd_create", text("x"), 0)),
};
