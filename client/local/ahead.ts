/**
 * The first child of a program that will run one script, started while the rest of the program is still being loaded: the two
 * take about as long. Changes nothing about what is checked: it is admitted as every other is.
 */
import type { Worker } from "node:worker_threads";
import { type Ground, type GroundOptions, openGround } from "#modules/typescript-process/ground.ts";
import { DIST } from "#runner/dist-folder.ts";
import { openCgroups } from "#runner/jail/cgroup.ts";
import { type JailOptions, openJail } from "#runner/jail/jail.ts";
import { startSpawner, startThread } from "#runner/jail/spawner.ts";
import type { BirthJail } from "#runner/jail/spawner-thread.ts";
import { planProcessLaunch } from "#runner/process-launch.ts";
import type { Program, StartedProcess } from "#runner/start-process.ts";

interface Ahead {
  options: GroundOptions;
  ground: Promise<Ground>;
}

/** What the environment does without settings. Where it does otherwise, the child that was started is ended unused. */
const USUAL = { allowEval: false, allowWasm: false, paranoid: false };
const USUAL_MEMORY_MB = 128;

let ahead: Ahead | null = null;

/** Resolves when the child is being started: from then on this thread has nothing to do for it. Why it fails is told to whoever takes it. */
export async function beginAhead(level: GroundOptions["level"]): Promise<void> {
  // A thread takes as long to start as everything that it is told.
  let thread: Worker | undefined = startThread();
  thread.on("error", () => {});
  // The compiler is a process too. Why it does not start is told when it is needed.
  void import("#runner/source/transpile.ts").then(({ transpile }) => transpile("")).catch(() => {});
  const openSpawner = (jail: BirthJail) => {
    const given = thread;
    thread = undefined;
    return startSpawner(jail, given);
  };
  const options: GroundOptions = { level, folder: DIST, paranoid: false, test: "in each child" };
  const parts = { openCgroups, openJail: (jail: JailOptions) => openJail(jail, undefined, openSpawner) };
  const ground = openGround(options, parts).then(startFirst);
  ahead = { options, ground };
  await ground.catch(() => thread?.terminate());
}

/** The ground that was begun, if it is what is wanted; else another. */
export async function takeGround(options: GroundOptions): Promise<Ground> {
  const taken = ahead;
  ahead = null;
  if (taken === null) return openGround(options);
  if (JSON.stringify(taken.options) === JSON.stringify(options)) return taken.ground;
  await dispose(taken);
  return openGround(options);
}

/** Gives back what nobody has taken. */
export async function abandonAhead(): Promise<void> {
  const left = ahead;
  ahead = null;
  if (left !== null) await dispose(left);
}

async function dispose({ ground }: Ahead): Promise<void> {
  await ground.then(
    (opened) => opened[Symbol.asyncDispose](),
    () => {},
  );
}

async function startFirst(ground: Ground): Promise<Ground> {
  const launch = planProcessLaunch(ground.node, ground.wall, USUAL, ground.cwd)(USUAL_MEMORY_MB);
  const program: Program = { path: launch.nodePath, args: launch.args, cwd: launch.cwd };
  let first: StartedProcess | null = await ground.start(program);
  // The kernel takes as long to put it into its group as it takes to boot.
  let placing = launch.place?.(first.pid) ?? null;
  placing?.catch(() => {});
  const { pid } = first;
  return {
    ...ground,
    wall: {
      ...ground.wall,
      place(wanted, memoryBytes) {
        if (wanted !== pid) return ground.wall.place(wanted, memoryBytes);
        const placed = placing;
        placing = null;
        return placed;
      },
    },
    async start(wanted) {
      const started = first;
      first = null;
      if (started !== null && JSON.stringify(wanted) === JSON.stringify(program)) return started;
      started?.kill();
      return ground.start(wanted);
    },
  };
}
