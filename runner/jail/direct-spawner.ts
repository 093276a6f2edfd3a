/**
 * Starts children that are born inside the jail, without a thread for it: each puts the jail on between its creation and its
 * program. Costs the server's memory nothing and takes no time to open, but a start holds the calling thread for longer: for
 * a program that starts one.
 */
import { closeSync } from "node:fs";
import { CHILD_ENVIRONMENT } from "../verify-child.ts";
import type { BirthCall } from "./birth-code.ts";
import { type BirthJail, withGrants } from "./birth-jail.ts";
import { openBornPrograms } from "./born-program.ts";
import { listCapabilityCalls } from "./capabilities.ts";
import {
  NR_LANDLOCK_RESTRICT_SELF,
  NR_PRCTL,
  NR_SECCOMP,
  NR_WRITE,
  PR_SET_NO_NEW_PRIVS,
  SECCOMP_SET_MODE_FILTER,
} from "./kernel-headers.ts";
import { makeRuleset } from "./landlock.ts";
import { makePipes } from "./pipes.ts";
import { watchChildren } from "./reaping.ts";
import { layOut } from "./seccomp/install.ts";
import type { Spawner } from "./spawner.ts";
import { allocateText, type KernelArgument, openKernel } from "./syscalls.ts";

/** Throws with the reason where a part of the jail cannot be made. That it can be put on shows at the first start. */
export function openDirectSpawner(jail: BirthJail): Spawner {
  const kernel = openKernel();
  const startBorn = openBornPrograms(kernel);
  const ruleset =
    jail.landlockAbi === 0
      ? null
      : withGrants(jail, (grants) => makeRuleset(kernel, jail.landlockAbi, grants));
  const filter = jail.filter === null ? null : layOut(kernel, jail.filter);
  const putOn = listJailCalls(ruleset, filter);
  const running = watchChildren(kernel);
  let isClosed = false;

  return {
    get hasEnded() {
      return isClosed;
    },
    async start(program) {
      if (isClosed) throw new Error("the spawner has ended");
      using pipes = makePipes(kernel);
      const born = { ...program, env: CHILD_ENVIRONMENT };
      const pid = startBorn(born, pipes.childEnds, { first: enterGroups(program.group?.enter), last: putOn });
      const watched = running.watch(pid);
      // The streams are not opened here: the program has begun, and this one has something else to do until it answers.
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

/** Null: a part that is left out. */
function listJailCalls(ruleset: number | null, filter: KernelArgument): BirthCall[] {
  const calls: BirthCall[] = [
    { name: "PR_SET_NO_NEW_PRIVS", call: NR_PRCTL, args: [PR_SET_NO_NEW_PRIVS, 1] },
  ];
  if (ruleset !== null) {
    calls.push({ name: "landlock_restrict_self", call: NR_LANDLOCK_RESTRICT_SELF, args: [ruleset, 0] });
  }
  calls.push(...listCapabilityCalls());
  if (filter !== null) {
    calls.push({ name: "seccomp", call: NR_SECCOMP, args: [SECCOMP_SET_MODE_FILTER, 0, filter] });
  }
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
