/**
 * Starts children that are born inside the jail, without a thread for it: each puts the jail on between its creation and its
 * program. Costs the server's memory nothing and takes no time to open, but a start holds the calling thread for longer: for
 * a program that starts one.
 */
import { closeSync } from "node:fs";
import type { Program } from "../start-process.ts";
import { CHILD_ENVIRONMENT } from "../verify-child.ts";
import { type BirthCall, openBirth } from "./birth-code.ts";
import { type BirthJail, withGrants } from "./birth-jail.ts";
import {
  CLOSE_RANGE_CLOEXEC,
  NR_CHDIR,
  NR_CLOSE_RANGE,
  NR_DUP3,
  NR_EXECVE,
  NR_LANDLOCK_RESTRICT_SELF,
  NR_PRCTL,
  NR_RT_SIGACTION,
  NR_RT_SIGPROCMASK,
  NR_SECCOMP,
  NR_SETSID,
  NR_WRITE,
  PR_SET_NO_NEW_PRIVS,
  SECCOMP_SET_MODE_FILTER,
  SIG_SETMASK,
  SIGKILL,
  SIGSTOP,
} from "./kernel-headers.ts";
import { makeRuleset } from "./landlock.ts";
import { makePipes } from "./pipes.ts";
import { watchChildren } from "./reaping.ts";
import { layOut } from "./seccomp/install.ts";
import type { Spawner } from "./spawner.ts";
import { allocate, allocateText, type Kernel, openKernel } from "./syscalls.ts";

const SIGNALS = 64;
/** struct sigaction of the kernel: handler, flags, restorer, mask. All zero is the default. */
const SIGACTION_BYTES = 32;
const SIGNAL_SET_BYTES = 8;

/** Throws with the reason where a part of the jail cannot be made. That it can be put on shows at the first start. */
export function openDirectSpawner(jail: BirthJail): Spawner {
  const kernel = openKernel();
  const giveBirth = openBirth(kernel);
  const ruleset =
    jail.landlockAbi === 0
      ? null
      : withGrants(jail, (grants) => makeRuleset(kernel, jail.landlockAbi, grants));
  const filter = jail.filter === null ? null : layOut(kernel, jail.filter);
  const running = watchChildren(kernel);
  let isClosed = false;

  return {
    get hasEnded() {
      return isClosed;
    },
    async start(program) {
      if (isClosed) throw new Error("the spawner has ended");
      using pipes = makePipes(kernel);
      // Whatever a library opened without close-on-exec must not reach a child.
      const closed = kernel.syscall(NR_CLOSE_RANGE, 3, 0xffff_ffff, CLOSE_RANGE_CLOEXEC);
      if (closed < 0) throw new Error(`close_range failed with errno ${-closed}`);
      const memory = layOutProgram(kernel, program);
      const pid = giveBirth([
        ...takeSession(),
        ...enterGroups(program.group?.enter),
        ...pipes.childEnds.map((from, to) => ({ name: "dup3", call: NR_DUP3, args: [from, to, 0] })),
        { name: `chdir to ${program.cwd}`, call: NR_CHDIR, args: [memory.cwd] },
        { name: "PR_SET_NO_NEW_PRIVS", call: NR_PRCTL, args: [PR_SET_NO_NEW_PRIVS, 1] },
        ...(ruleset === null
          ? []
          : [{ name: "landlock_restrict_self", call: NR_LANDLOCK_RESTRICT_SELF, args: [ruleset, 0] }]),
        ...(filter === null
          ? []
          : [{ name: "seccomp", call: NR_SECCOMP, args: [SECCOMP_SET_MODE_FILTER, 0, filter] }]),
        {
          name: `execve of ${program.path}`,
          call: NR_EXECVE,
          args: [memory.path, memory.argv, memory.envp],
          keeps: memory.keeps,
        },
      ]);
      const watched = running.watch(pid);
      // The streams are not opened here: a child in want of a group should not wait for that.
      return Object.assign(pipes.takeServerEnds(), { pid, exited: watched.exited, kill: watched.kill });
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      running.killAll();
      await running.allReaped();
      running.stop();
      if (ruleset !== null) closeSync(ruleset);
    },
  };
}

/** A session of its own, so that Ctrl-C does not reach it, and no signal of this process blocked or ignored. */
function takeSession(): BirthCall[] {
  const defaultAction = allocate(SIGACTION_BYTES);
  const none = allocate(SIGNAL_SET_BYTES);
  const calls: BirthCall[] = [{ name: "setsid", call: NR_SETSID, args: [] }];
  for (let signal = 1; signal <= SIGNALS; signal++) {
    if (signal === SIGKILL || signal === SIGSTOP) continue;
    const args = [signal, defaultAction, null, SIGNAL_SET_BYTES];
    calls.push({ name: "rt_sigaction", call: NR_RT_SIGACTION, args });
  }
  const args = [SIG_SETMASK, none, null, SIGNAL_SET_BYTES];
  calls.push({ name: "rt_sigprocmask", call: NR_RT_SIGPROCMASK, args });
  return calls;
}

/** See BirthGroup: it is the child that moves, so nothing has to come back. */
function enterGroups(groups: readonly number[] = []): BirthCall[] {
  const itself = allocateText("0");
  return groups.map((group) => ({
    name: "joining a control group",
    call: NR_WRITE,
    args: [group, itself, 1],
  }));
}

/** Path, arguments and environment as the kernel reads them. */
function layOutProgram(kernel: Kernel, { path, args, cwd }: Program) {
  const texts = (list: readonly string[]) => {
    const array = allocate((list.length + 1) * 8);
    const view = new DataView(array.buffer);
    const kept = list.map(allocateText);
    kept.forEach((one, index) => {
      view.setBigUint64(index * 8, kernel.addressOf(one, array), true);
    });
    return { array, kept };
  };
  const argv = texts([path, ...args]);
  const envp = texts(Object.entries(CHILD_ENVIRONMENT).map(([name, value]) => `${name}=${value}`));
  return {
    path: allocateText(path),
    cwd: allocateText(cwd),
    argv: argv.array,
    envp: envp.array,
    keeps: [argv.kept, envp.kept],
  };
}
