/**
 * `npm run bench -- fuzz [--frames N] [--first-seed N] [--processes N] [--names N] [--seed N]`: a hostile child, made from seeds,
 * against the host's side of the bridge, and hostile names of files. Ends with exit code 1 and the smallest conversation that
 * fails, if one does.
 */
import { parseArgs } from "node:util";
import { createMonitor } from "#runner/process/monitor.ts";
import { runCampaign } from "#tests/security/bridge-fuzz/campaign.ts";
import { createConversation } from "#tests/security/bridge-fuzz/conversation.ts";
import { type HostileRun, playAsProcess } from "#tests/security/bridge-fuzz/hostile-runs.ts";
import { play } from "#tests/security/bridge-fuzz/play.ts";
import { fuzzNames } from "#tests/security/name-fuzz/campaign.ts";

const { values } = parseArgs({
  options: {
    frames: { type: "string", default: "1000000" },
    "first-seed": { type: "string", default: "1" },
    processes: { type: "string", default: "200" },
    names: { type: "string", default: "100000" },
    seed: { type: "string" },
  },
});

const FRAMES_PER_LINE = 100_000;
const PROCESSES_AT_ONCE = 4;
const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;

async function replay(seed: number): Promise<void> {
  const conversation = createConversation(seed);
  console.log({ ...conversation, steps: conversation.steps.map(({ text }) => text) });
  const played = await play(conversation);
  console.log(played);
  process.exitCode = played.faults.length === 0 ? 0 : 1;
}

async function fuzzSession(frames: number, firstSeed: number): Promise<void> {
  let printed = 0;
  const campaign = await runCampaign({
    firstSeed,
    frames,
    onProgress(so) {
      if (so.frames < printed + FRAMES_PER_LINE) return;
      printed = so.frames;
      console.log(
        `${so.frames} frames in ${so.conversations} conversations, peak heap ${mib(so.peakHeapBytes)}`,
      );
    },
  });
  const { conversations, wallMs, peakHeapBytes, heapGrowthBytes, failure } = campaign;
  console.log(
    `\nframes judged        ${campaign.frames} in ${conversations} conversations from seed ${firstSeed}`,
  );
  console.log(`frames per second    ${Math.round(campaign.frames / (wallMs / 1000))}`);
  console.log(`peak heap, buffers   ${mib(peakHeapBytes)} (the conversations themselves included)`);
  console.log(`kept afterwards      ${mib(heapGrowthBytes)}`);
  console.log("ends by reason");
  for (const [end, count] of Object.entries(campaign.ends).sort(([, a], [, b]) => b - a)) {
    console.log(`  ${end.padEnd(28)} ${count}`);
  }
  if (failure !== null) {
    console.error(`\n${failure}`);
    process.exitCode = 1;
  }
}

async function fuzzProcesses(count: number, firstSeed: number): Promise<void> {
  using monitor = createMonitor();
  const runs: (HostileRun & { seed: number })[] = [];
  let seed = firstSeed;
  async function work(): Promise<void> {
    while (seed < firstSeed + count) {
      const mine = seed++;
      runs.push({ seed: mine, ...(await playAsProcess(mine, monitor)) });
    }
  }
  await Promise.all(Array.from({ length: PROCESSES_AT_ONCE }, work));
  console.log(`\nhostile processes    ${runs.length} from seed ${firstSeed}; verdicts by reason`);
  for (const [reason, group] of Object.entries(Object.groupBy(runs, (run) => run.reason))) {
    console.log(`  ${reason.padEnd(28)} ${group?.length}`);
  }
  for (const { seed, leaving, faults } of runs.filter((run) => run.faults.length > 0)) {
    console.error(`process of seed ${seed}, leaving by ${leaving}: ${faults.join("; ")}`);
    process.exitCode = 1;
  }
}

async function fuzzFileNames(count: number, firstSeed: number): Promise<void> {
  const { names, taken, specifiers, found, faults } = await fuzzNames(count, firstSeed);
  console.log(`\nhostile names        ${names}, of which ${taken} may be names of files`);
  console.log(`hostile specifiers   ${specifiers}, of which ${found} may lead to a file or module`);
  for (const fault of faults) {
    console.error(fault);
    process.exitCode = 1;
  }
}

if (values.seed !== undefined) await replay(Number(values.seed));
else {
  const firstSeed = Number(values["first-seed"]);
  await fuzzSession(Number(values.frames), firstSeed);
  await fuzzProcesses(Number(values.processes), firstSeed);
  await fuzzFileNames(Number(values.names), firstSeed);
}
