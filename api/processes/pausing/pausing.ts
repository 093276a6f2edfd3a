/** Pauses of all runs: what they share, how a run gets its own, and how a run is repeated from what an earlier child left. */
import { isDatabaseUnavailable } from "#api/db/pool.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { EnvironmentModule, JSONSchema, ModuleLogger } from "#sdk";
import type { LiveRun } from "../live/run.ts";
import { RunPauses } from "./run-pauses.ts";
import { createRunRecords, type PauseStorage, type RunName, readCarriedRun } from "./run-records.ts";

export interface PausingOptions extends PauseStorage {
  holdMs: number;
  maxApprovals: number;
  redactor: Pick<Redactor, "text">;
  /** Why a schema cannot be used to check an answer; null when it can. */
  checkSchema(schema: JSONSchema): Promise<string | null>;
  log: ModuleLogger;
}

/** What the dispatcher does about slots and children. */
export interface PauseHooks {
  parked(): void;
  goesOn(): void;
  /** The child is to go. */
  left(): void;
}

export type Pausing = ReturnType<typeof createPausing>;

export function createPausing(options: PausingOptions) {
  const { holdMs, maxApprovals, log } = options;
  return {
    options,
    /** For a run that is about to begin. */
    open(live: LiveRun, module: EnvironmentModule, hooks: PauseHooks): RunPauses {
      const name: RunName = { id: live.id, claim: live.claim, run: live.claim };
      const { pause, resume } = module;
      const pauses = new RunPauses({
        name,
        records: createRunRecords(options, name),
        environment:
          pause && resume
            ? { pause: () => pause.call(module, live.id), resume: () => resume.call(module, live.id) }
            : null,
        holdMs,
        maxApprovals,
        log,
        describe: () => ({ trail: live.trail.calls, usage: live.usage, snapshot: () => live.snapshot() }),
        hooks: {
          parked() {
            live.markParked();
            hooks.parked();
          },
          goesOn() {
            hooks.goesOn();
            live.markGoesOn();
          },
          detached: hooks.left,
          asked: (id, state) => live.noteApproval(id, state),
          end: (ending) => live.decide(ending),
        },
      });
      // What it is repeated from is in the database, also before it has been read.
      if (live.row.asked) pauses.journal.carry([]);
      return pauses;
    },

    /**
     * Gives a run what its earlier child has left. The checkpoint; or why it cannot be repeated; `unread`: the database
     * is away. Never rejects.
     */
    async carry(
      live: LiveRun,
      pauses: RunPauses,
    ): Promise<{ checkpoint: unknown } | ReplayRefusal | "unread"> {
      const refuse = (message: string, reason: ReplayRefusal["reason"] = "interrupted"): ReplayRefusal => ({
        name: "InterruptedError",
        message,
        reason,
      });
      try {
        const carried = await readCarriedRun(options, live);
        if (typeof carried === "string") return refuse(`The run cannot be repeated. ${carried}`);
        live.carry(carried);
        pauses.carry(carried);
        const call = pauses.journal.findInterrupted();
        if (call === undefined) return { checkpoint: carried.checkpoint };
        return refuse(
          `The server ended while ${call.serviceId}.${call.toolId} was under way (request ${call.seq} of the script). It is not known whether it was carried out, so it is not called again.`,
          "interrupted_call",
        );
      } catch (error) {
        if (isDatabaseUnavailable(error)) {
          log.warn({ err: error, processId: live.id }, "a run cannot be repeated yet; it is queued again");
          return "unread";
        }
        log.error({ err: error, processId: live.id }, "a run could not be repeated");
        return refuse("The run cannot be repeated: what it is repeated from could not be read.");
      }
    },
  };
}

export interface ReplayRefusal {
  name: string;
  message: string;
  reason: "interrupted" | "interrupted_call";
}
