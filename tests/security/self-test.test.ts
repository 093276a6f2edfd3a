/** The self-test of a jail that has a hole: each is found by attacking from inside, and nothing is started behind such a wall. */
import { mkdtemp, readdir, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { planAttacks } from "#runner/isolation/attacks.ts";
import { PROCESS_READABLE } from "#runner/isolation/process-launch.ts";
import { openWall } from "#runner/isolation/wall.ts";
import { openCgroups } from "#runner/jail/cgroups/open.ts";
import { type Jail, openJail } from "#runner/jail/jail.ts";
import { findNodeBinary } from "#runner/process/node-binary.ts";
import { startProcess } from "#runner/process/start-process.ts";

type Hole = (jail: Jail) => Partial<Jail>;

const HOLES: [name: string, hole: Hole, refusal: RegExp, wayOut: string][] = [
  [
    "whose children are born outside",
    () => ({ start: startProcess }),
    /layer 2 \(birth jail\).*allowed to read a file.*reached the server's machine.*not ended with SIGSYS when it tried to trace/,
    "CYRNEL_ISOLATION=standard",
  ],
  [
    "whose children do not lock themselves",
    (jail) => ({ lock: { ...jail.lock, filter: "", landlockAbi: 0 } }),
    /layer 3 \(self-lock\).*allowed to look at a file, .*make a copy of itself.*not ended with SIGSYS when it tried to start/,
    "CYRNEL_ISOLATION=standard",
  ],
  [
    "whose limit of memory is not put on",
    () => ({ limit() {} }),
    /layer 4 \(limits from outside\).*could allocate beyond its limit/,
    "CYRNEL_ISOLATION=development",
  ],
  [
    "whose limit of memory is put on and not kept to, as in gVisor",
    (jail) => ({ limit: (pid, limits) => jail.limit(pid, { ...limits, memoryBytes: 2 ** 40 }) }),
    /layer 4 \(limits from outside\).*RLIMIT_DATA\) and does not keep to it; a child that went beyond was seen by the monitor/,
    "CYRNEL_ISOLATION=standard",
  ],
  [
    "whose limit of CPU time is not put on",
    () => ({ limitCpu() {} }),
    /layer 4 \(limits from outside\).*went on computing past its limit of CPU time/,
    "CYRNEL_ISOLATION=development",
  ],
];

describe.runIf(process.platform === "linux")("a jail", () => {
  let cwd = "";
  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), "cyrnel-self-test-"));
  });
  afterAll(() => rmdir(cwd));

  async function open(hole: Hole): Promise<AsyncDisposable> {
    const nodePath = findNodeBinary().path;
    const options = { level: "strict", nodePath, readable: PROCESS_READABLE, cwd, paranoid: false } as const;
    return openWall(options, {
      openCgroups,
      async openJail(...args) {
        const jail = await openJail(...args);
        return { ...jail, ...hole(jail) };
      },
    });
  }

  it("without a hole stands, and leaves nothing of its test behind", async () => {
    await using _ = await open(() => ({}));
    const left = (await readdir(tmpdir())).filter((name) => /^cyrnel-canary-/.test(name));
    expect(left.filter((name) => name.split("-")[3] === `${process.pid}`)).toEqual([]);
  });

  it.each(HOLES)(
    "%s is refused, and what is advised instead would stand",
    async (_, hole, refusal, wayOut) => {
      const message = await open(hole).then(
        () => "it opened",
        (error: Error) => error.message,
      );
      expect(message).toMatch(/^Isolation level strict needs /);
      expect(message).toMatch(refusal);
      expect(message).toContain(wayOut);
    },
    60_000,
  );

  it("is attacked once for each class of what it forbids", () => {
    const { birth, locked } = planAttacks("x86_64", { file: "/canary", port: 1 });
    expect(birth.length).toBeGreaterThanOrEqual(20);
    expect(locked.length).toBeGreaterThanOrEqual(23);
    for (const name of [
      "open a socket",
      "open an io_uring",
      "mount",
      "enter a namespace",
      "replace the kernel",
    ])
      expect(locked.map((attack) => attack.name)).toContain(name);
  });
});
