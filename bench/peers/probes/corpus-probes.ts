/** The scripts of the escape corpus that do not use Cyrnel's own interface, each with the corpus's own control. */
import { runControl } from "#tests/security/corpus/control/run-control.ts";
import { PROBES } from "#tests/security/corpus/index.ts";
import type { Probe } from "#tests/security/corpus/probe.ts";
import { collectSecret } from "./loot.ts";
import type { PeerProbe } from "./world.ts";

const OWN_INTERFACE = /\b(tools|cyrnel)\b/;
/** A sandbox may lack these: a script that needs them would end at once and prove nothing. */
const PLATFORM = /\b(setTimeout|setInterval|setImmediate|queueMicrotask|structuredClone|performance)\b/;
/** Takes every second endless script: each uses its whole time limit, on each peer. */
const ENDLESS_EVERY = 2;
/** These list globals or compilers and obtain nothing. */
const INVENTORIES = ["globals.absent", "globals.removed-is-gone", "globals.network", "code.other-compilers"];
/** The last call of a probe, which shows that calls still work. */
const CLOSING_CALL = "await tools.test.echo({ after: 1 });";

/** Here only the secret counts, so the control is plain Node, where each hunt has to find it. */
const WITHOUT_SANDBOX = { in: "plain-node", shows: "loot" } as const;

/** Removes the collector, which is the first line. */
const attackOf = ({ script }: Probe) => script.slice(script.indexOf("\n")).replace(CLOSING_CALL, "");

const hunting = PROBES.filter(
  ({ id, control, script }) =>
    control?.shows === "loot" &&
    control.script === undefined &&
    script.endsWith("return loot;") &&
    !INVENTORIES.includes(id),
).filter((probe) => !OWN_INTERFACE.test(attackOf(probe)));

const endless = PROBES.filter(
  ({ control, script }) =>
    (control?.shows === "spins" || control?.shows === "grows") &&
    control.script === undefined &&
    !OWN_INTERFACE.test(script) &&
    !PLATFORM.test(script),
).filter((_, index) => index % ENDLESS_EVERY === 0);

export const corpusProbes: PeerProbe[] = [
  ...hunting.map((probe): PeerProbe => {
    const script = (folder: string) => `${collectSecret(folder)}\n${attackOf(probe)}`;
    return {
      id: probe.id,
      group: "realm",
      script: ({ folder }) => script(folder),
      control: () => runControl({ ...probe, script: script("/nothing"), control: WITHOUT_SANDBOX }),
    };
  }),
  ...endless.map(
    (probe): PeerProbe => ({
      id: probe.id,
      group: probe.control?.shows === "spins" ? "time" : "memory",
      script: () => probe.script,
      control: () => runControl(probe),
    }),
  ),
];
