/**
 * A wall that is tested by each child in place of children of its own: a hole in the jail is found by the child that would have
 * run the script, before it is told the script.
 */
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROCESS_READABLE, planProcessLaunch } from "#runner/isolation/process-launch.ts";
import { openWall, type Wall } from "#runner/isolation/wall.ts";
import { openCgroups } from "#runner/jail/cgroups/open.ts";
import { type Jail, openJail } from "#runner/jail/jail.ts";
import { type Child, spawnChild } from "#runner/pool/spawn.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import { startProcess } from "#runner/process/start-process.ts";

type Hole = (jail: Jail) => Partial<Jail>;
const SETTINGS = { allowEval: false, allowWasm: false, paranoid: false };
/** What is read from /proc would tell already: the child's own attempts have to do without. */
const unseen = { findFault: () => null };

const HOLES: [name: string, hole: Hole, refusal: RegExp][] = [
  [
    "whose children are born outside",
    // What it was allowed to open it still holds.
    () => ({ ...unseen, start: (program) => startProcess({ ...program, group: null }) }),
    /holds descriptor \d+ \(.*canary\)/,
  ],
  [
    "whose children do not lock themselves",
    (jail) => ({ ...unseen, lock: { ...jail.lock, filter: "", landlockAbi: 0 } }),
    /allowed to look at a file, .*make a copy of itself/s,
  ],
  ["whose limits are not put on", () => ({ limit() {} }), /without the limit "Max data size"/],
  [
    "whose children are not looked at from outside, and whose filter is missing",
    (jail) => ({ ...unseen, lock: { ...jail.lock, filter: "" } }),
    /it was allowed to /,
  ],
];

describe.runIf(process.platform === "linux")("a wall tested in each child", () => {
  let cwd = "";
  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), "cyrnel-in-child-"));
  });
  afterAll(() => rmdir(cwd));

  async function startBehind(
    hole: Hole,
    use: (child: Child, wall: Wall) => void = () => {},
    change = (args: string[]) => args,
  ): Promise<void> {
    const node = findNodeBinary();
    await using wall = await openWall(
      {
        level: "strict",
        nodePath: node.path,
        readable: PROCESS_READABLE,
        cwd,
        paranoid: false,
        test: "in each child",
      },
      {
        openCgroups,
        async openJail(...args) {
          const jail = await openJail(...args);
          return { ...jail, ...hole(jail) };
        },
      },
    );
    const launch = planProcessLaunch(node, wall, SETTINGS, cwd)(64);
    const child = await spawnChild({ ...launch, args: change(launch.args) }, undefined, wall.start);
    try {
      use(child, wall);
    } finally {
      child.kill();
      child.channel.close();
      await child.exited;
    }
  }

  it("without a hole stands, and says what was tried", async () => {
    await startBehind(
      () => ({}),
      (_, { jail }) => {
        expect(jail?.test.birth.observed).toContain("a child was not allowed to read a file, write a file");
        expect(jail?.test.locked.observed).toContain("make a copy of itself");
        expect([jail?.test.birth.holds, jail?.test.locked.holds, jail?.test.limited.holds]).toEqual([
          true,
          true,
          true,
        ]);
      },
    );
  });

  it.each(HOLES)("%s is refused", async (_, hole, refusal) => {
    await expect(startBehind(hole)).rejects.toThrow(refusal);
  });

  it("refuses a child that does not try what it is told, or not all of it", async () => {
    const withAttacks =
      (make: (attacks: { birth: unknown[]; locked: unknown[] }) => unknown) => (args: string[]) => {
        const options = JSON.parse(args.at(-1) ?? "");
        return [...args.slice(0, -1), JSON.stringify({ ...options, attacks: make(options.attacks) })];
      };
    const nothing = withAttacks(() => null);
    await expect(startBehind(() => ({}), undefined, nothing)).rejects.toThrow("did not try what it was told");
    const less = withAttacks(({ birth, locked }) => ({ birth, locked: locked.slice(1) }));
    await expect(startBehind(() => ({}), undefined, less)).rejects.toThrow("did not try what it was told");
  });
});
