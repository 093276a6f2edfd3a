/** Tries a package before installing it: a script in the active environment imports it and does nothing else. */
import { waitAtMost } from "#api/bounds/deadline.ts";
import type { Environments } from "#api/components/modules/environments.ts";
import type { ExecutionOutcome, FoundPackage, PackageCode } from "#sdk";

type Tried = FoundPackage & PackageCode;

export interface Trials {
  /** Resolves with null, or with the reason why the package cannot be imported. */
  run(tried: Tried): Promise<string | null>;
  /** Returns the package being tried, or null if the execution is not a trial. */
  find(eid: number): Tried | null;
}

const TIMEOUT_MS = 10_000;
const MAX_MS = 120_000;
/** Trial execution ids are greater than any process id. */
const FIRST_EID = Number.MAX_SAFE_INTEGER - 1;
const MAX_SHOWN_CHARACTERS = 500;

export function createTrials(environments: Pick<Environments, "acquire">): Trials {
  const running = new Map<number, Tried>();
  let next = FIRST_EID;
  return {
    find: (eid) => running.get(eid) ?? null,
    async run(tried) {
      using lease = environments.acquire();
      if (lease === null) return "No environment is active, so the package could not be tested.";
      const eid = next--;
      running.set(eid, tried);
      try {
        const ended = lease.module.execute({
          eid,
          code: scriptFor(tried),
          options: { timeoutMs: TIMEOUT_MS },
        });
        const outcome = await waitAtMost(ended, MAX_MS, "trying the package");
        const { exitState, error } =
          typeof outcome === "string" ? { exitState: outcome, error: undefined } : outcome;
        return exitState === "success" ? null : `Importing it fails: ${describe(exitState, error)}`;
      } catch (error) {
        void lease.module.kill(eid).catch(() => {});
        return `It could not be tried: ${(error as Error).message.slice(0, MAX_SHOWN_CHARACTERS)}`;
      } finally {
        running.delete(eid);
      }
    },
  };
}

function scriptFor({ name, version, exports }: Tried): string {
  const path = exports.includes(".") ? "" : (exports[0] ?? "").slice(1);
  return `await import(${JSON.stringify(`npm:${name}@${version}${path}`)}); return true;`;
}

function describe(exitState: string, error: ExecutionOutcome["error"]): string {
  if (error === undefined) return exitState;
  const said = typeof error === "string" ? error : `${error.name}: ${error.message}`;
  return said.slice(0, MAX_SHOWN_CHARACTERS);
}
