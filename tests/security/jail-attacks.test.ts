/**
 * The kernel jail against native code: every attack once without the jail, to show that it works, then in each part of the
 * jail. As the user who runs the tests and, where that is root, as an unprivileged one without capabilities too.
 */
import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Attack } from "./jail/attack.ts";
import { ATTACKS, LANDLOCK_ALONE } from "./jail/attacks.ts";
import type { Mode, Outcome, Report } from "./jail/driver.ts";

const UNPRIVILEGED_UID = 1000;
/** In a container whose own profile refuses some of it already (tests/container/security.sh). */
const isRestricted = process.env.CYRNEL_TEST_RESTRICTED === "1";
const REFUSED_BY_PROFILE = [-1, -38];
/** A set of capabilities in /proc/<pid>/status. */
const NONE = "0000000000000000";
/** Of the attacks without the jail in such a container. */
const MIN_WORKING_CONTROLS = 70;
const uids = process.getuid?.() === 0 ? [0, UNPRIVILEGED_UID] : [process.getuid?.() ?? -1];
const attacks = Object.entries(ATTACKS).filter(
  ([, { only }]) => only === undefined || (process.arch === "x64" && only === "x86_64"),
);

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "cyrnel-attacks-"));
  await chmod(directory, 0o777);
  await build({
    entryPoints: [join(import.meta.dirname, "jail/attacker.ts")],
    outfile: join(directory, "attacker.cjs"),
    bundle: true,
    platform: "node",
    format: "cjs",
    logLevel: "error",
  });
});
afterAll(() => rm(directory, { recursive: true, force: true }));

function succeeded(outcome: Outcome): boolean {
  return typeof outcome === "number" ? outcome >= 0 : outcome === "exit 0";
}

function wasStopped(outcome: Outcome, how: Attack["birth"], mayLack: readonly number[] = []): boolean {
  if (how === "open") return succeeded(outcome) || mayLack.includes(Number(outcome));
  if (how === "killed") return outcome === "SIGSYS";
  return typeof outcome === "number" && how.includes(outcome);
}

function controlWorks(
  { control, controlMayLack = [] }: Attack,
  outcomes: Record<Mode, Outcome>,
  kernel: "any" | "complete" = "any",
): boolean {
  if (kernel === "any" && controlMayLack.includes(Number(outcomes.control))) return true;
  return control === "succeeds" ? succeeded(outcomes.control) : control.includes(Number(outcomes.control));
}

describe.runIf(process.platform === "linux").each(uids)("a native attacker with uid %i", (uid) => {
  let report: Report;
  beforeAll(async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(import.meta.dirname, "jail/driver.ts"), join(directory, "attacker.cjs"), directory],
      { uid, gid: uid, timeout: 120_000 },
    );
    report = JSON.parse(stdout) as Report;
  }, 120_000);

  it("attacks as that user", () => {
    expect(report.uid).toBe(uid);
  });

  it.for(attacks)("cannot %s", ([name, attack], { skip }) => {
    const outcomes = report.outcomes[name];
    if (!outcomes) throw new Error(`the driver has not tried to ${name}`);
    skip(outcomes.control === attack.absentWhen, "this machine has no such gate");
    if (uid === 0 || !attack.controlNeedsRoot) {
      const works =
        controlWorks(attack, outcomes) ||
        (isRestricted && REFUSED_BY_PROFILE.includes(Number(outcomes.control)));
      expect({ withoutJail: outcomes.control, works }).toMatchObject({ works: true });
    }
    expect({
      inBirthJail: outcomes.birth,
      stopped: wasStopped(outcomes.birth, attack.birth, attack.controlMayLack),
    }).toMatchObject({ stopped: true });
    expect({ afterLock: outcomes.locked, stopped: wasStopped(outcomes.locked, attack.locked) }).toMatchObject(
      {
        stopped: true,
      },
    );
  });

  it.each(Object.entries(LANDLOCK_ALONE))("meets Landlock alone when it tries to %s", (name, how) => {
    const outcome = report.outcomes[name]?.landlock ?? "not tried";
    expect({ outcome, asExpected: wasStopped(outcome, how) }).toMatchObject({ asExpected: true });
  });

  it(`would get through with at least ${MIN_WORKING_CONTROLS} of its attacks without the jail`, () => {
    const working = attacks.filter(([name, attack]) => {
      const outcomes = report.outcomes[name];
      return outcomes !== undefined && controlWorks(attack, outcomes, "complete");
    });
    console.log(`${working.length} of ${attacks.length} native attacks work without the jail, as uid ${uid}`);
    expect(working.length).toBeGreaterThanOrEqual(MIN_WORKING_CONTROLS);
  });

  it("holds no capability, whatever its user is", () => {
    const { control, ...jailed } = report.capabilities;
    console.log(`capabilities without the jail: ${JSON.stringify(control)}`);
    if (uid === 0 && !isRestricted) expect(BigInt(`0x${control.CapEff}`)).not.toBe(0n);
    for (const held of Object.values(jailed)) {
      // An unprivileged server cannot empty the bounding set: no_new_privs keeps its children from using it.
      const { CapBnd, ...own } = held;
      expect(own).toEqual({ CapInh: NONE, CapPrm: NONE, CapEff: NONE, CapAmb: NONE });
      if (uid === 0) expect(CapBnd).toBe(NONE);
      else expect(CapBnd).toBe(control.CapBnd);
    }
  });

  it("reaches no listener of the host", () => {
    expect(report.reachedWhileJailed).toBe(0);
  });
});
