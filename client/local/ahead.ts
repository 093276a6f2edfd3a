/**
 * The first child of a program that will run one script, started while the rest of the program is still being loaded: the two
 * take about as long. Changes nothing about what is checked: it is admitted as every other is.
 */
import { type Ground, type GroundOptions, openGround } from "#modules/typescript-process/ground.ts";
import { decodeBootOptions } from "#runner/child/boot-options.ts";
import { DIST } from "#runner/dist-folder.ts";
import { listInheritedFds } from "#runner/inherited-fds.ts";
import { canGiveBirth } from "#runner/jail/birth-code.ts";
import type { BirthJail } from "#runner/jail/birth-jail.ts";
import { AT_ONCE, openCgroups } from "#runner/jail/cgroups/open.ts";
import { openDirectSpawner } from "#runner/jail/direct-spawner.ts";
import { type JailOptions, openJail } from "#runner/jail/jail.ts";
import { type Spawner, startSpawner } from "#runner/jail/spawner.ts";
import { toGroupBudget } from "#runner/memory-budget.ts";
import { planProcessLaunch } from "#runner/process-launch.ts";
import type { Program, StartedProcess } from "#runner/start-process.ts";
import type { KeptScripts } from "./kept-scripts.ts";
import { prepareFileAhead } from "./prepare-ahead.ts";

export { prepareSource } from "#runner/source/prepare.ts";

/** What is being done already. */
export interface Ahead {
  /** Resolves when the child has been started. Never rejects: why it fails is told to whoever takes it. */
  readonly started: Promise<void>;
  /** Gives back what nobody has taken. */
  abandon(): Promise<void>;
}

interface Begun {
  options: GroundOptions;
  ground: Promise<Ground>;
}

/** What the environment does without settings. Where it does otherwise, the child that was started is ended unused. */
const USUAL = { allowEval: false, allowWasm: false, paranoid: false };
const USUAL_MEMORY_MB = 128;

let begun: Begun | null = null;

/** `script`: a file that is going to be run; null: it is told later. */
export function beginAhead(
  level: GroundOptions["level"],
  script: string | null,
  scripts: KeptScripts,
): Ahead {
  // Before the child, which takes a processor for itself: the other is free until then.
  if (script !== null) prepareFileAhead(script, scripts);
  const options: GroundOptions = { level, folder: DIST, paranoid: false, test: "in each child" };
  const parts = {
    openCgroups: () => openCgroups(undefined, AT_ONCE),
    openJail: (jail: JailOptions) => openJail(jail, undefined, openSpawner),
  };
  const ground = openGround(options, parts).then(startFirst);
  begun = { options, ground };
  return {
    started: ground.then(
      () => {},
      () => {},
    ),
    async abandon() {
      const left = begun;
      begun = null;
      if (left !== null) await dispose(left);
    },
  };
}

async function openSpawner(jail: BirthJail): Promise<Spawner> {
  return canGiveBirth() ? openDirectSpawner(jail) : startSpawner(jail);
}

/** Whether a child was begun that nobody has taken. */
export function isBegunAhead(): boolean {
  return begun !== null;
}

/** The ground that was begun, if it is what is wanted; else another. */
export async function takeGround(options: GroundOptions): Promise<Ground> {
  const taken = begun;
  begun = null;
  if (taken === null) return openGround(options);
  if (JSON.stringify(taken.options) === JSON.stringify(options)) {
    // One that was refused is tried again: it says which layer is missing, and how to have it.
    return taken.ground.catch(() => openGround(options));
  }
  await dispose(taken);
  return openGround(options);
}

async function dispose({ ground }: Begun): Promise<void> {
  await ground.then(
    (opened) => opened[Symbol.asyncDispose](),
    () => {},
  );
}

/** Disposes of `ground` where the child cannot be started. */
async function startFirst(ground: Ground): Promise<Ground> {
  await using owned = new AsyncDisposableStack();
  owned.use(ground);
  // A birth lets nothing be inherited.
  const closeFds = ground.wall.jail !== null && canGiveBirth() ? [] : listInheritedFds();
  const plan = planProcessLaunch(ground.node, ground.wall, USUAL, ground.cwd, DIST, closeFds);
  const launch = plan(USUAL_MEMORY_MB);
  const groupBytes = toGroupBudget(USUAL_MEMORY_MB);
  let placement = await ground.wall.place(groupBytes);
  const program: Program = {
    path: launch.nodePath,
    args: launch.args,
    cwd: launch.cwd,
    group: placement?.birth ?? null,
  };
  let first: StartedProcess | null = await ground.start(program);
  owned.move();
  return {
    ...ground,
    closeFds,
    wall: {
      ...ground.wall,
      place(memoryBytes) {
        const placed = placement;
        if (placed === null || memoryBytes !== groupBytes) return ground.wall.place(memoryBytes);
        placement = null;
        return Promise.resolve(placed);
      },
    },
    async start(wanted) {
      const started = first;
      first = null;
      if (started !== null && isSame(program, wanted)) return started;
      started?.kill();
      return ground.start(wanted);
    },
  };
}

/** Whether what was started is what is wanted. Descriptors that it closes need not be inherited any more. */
function isSame(started: Program, wanted: Program): boolean {
  const read = ({ path, args, cwd, group }: Program) => {
    const { closeFds, ...boot } = decodeBootOptions(args.at(-1));
    return { closeFds, rest: JSON.stringify([path, cwd, group, args.slice(0, -1), boot]) };
  };
  const [one, other] = [read(started), read(wanted)];
  return one.rest === other.rest && other.closeFds.every((fd) => one.closeFds.includes(fd));
}
