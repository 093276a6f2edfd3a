/**
 * `npm run bench -- faults`: what faults leave behind, as a table. Names of faults as arguments run only those. Ends with
 * exit code 1 if anything was lost, doubled or orphaned, or took longer to recover than it may.
 */
import { disconnectClients, hangTools, jumpClocks } from "./callers.ts";
import { endConnections, fillDisk, stopDatabase } from "./database.ts";
import { freezeServers, killServers } from "./kills.ts";
import { formatOutcomes, type Outcome } from "./report.ts";

const MAX_RECOVERY_MS = 30_000;

const FAULTS: Record<string, () => Promise<Outcome>> = {
  kill: () => killServers(25, false),
  silence: () => killServers(25, true),
  freeze: () => freezeServers(3),
  postgres: () => stopDatabase(20),
  connections: () => endConnections(5),
  disk: () => fillDisk(3),
  tools: () => hangTools(20_000),
  clients: () => disconnectClients(1000),
  clocks: () => jumpClocks(20_000),
};

const wanted = process.argv.slice(2);
const outcomes: Outcome[] = [];
for (const [name, inject] of Object.entries(FAULTS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  outcomes.push(await inject());
  process.stderr.write(`${formatOutcomes(outcomes.slice(-1))}\n`);
}
process.stdout.write(`${formatOutcomes(outcomes)}\n`);
const isBad = ({ lost, doubled, orphans, recoveryMs }: Outcome) =>
  lost + doubled + orphans > 0 || recoveryMs.some((ms) => ms > MAX_RECOVERY_MS);
if (outcomes.some(isBad)) process.exitCode = 1;
