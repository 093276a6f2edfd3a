/** Pauses of all runs: what they share, how a run gets its own, and how a run is repeated from what an earlier child left. */
import { isDatabaseUnavailable } from "#api/db/pool.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import { pathOf } from "#kernel/tool-patterns.ts";
import { readWhole, type StoredFile } from "#runner/workspace/workspace.ts";
import type { JSONSchema, ModuleLogger, SaveTurn } from "#sdk";
import type { LiveRun } from "../live/run.ts";
import { RunPauses } from "./run-pauses.ts";
import { createRunRecords, type PauseStorage, type RunName, readCarriedRun } from "./run-records.ts";

const MIN_PARKED_RUNS = 8;

export interface PausingOptions extends PauseStorage {
  holdMs: number;
  maxApprovals: number;
  redactor: Pick<Redactor, "text">;
  /** Why a schema cannot be used to check an answer; null when it can. */
  checkSchema(schema: JSONSchema): Promise<string | null>;
  /** Runs at once on this server: as many may be held while they are paused. */
  countSlots(): number | null;
  log: ModuleLogger;
}

export interface ReplayRefusal {
  name: string;
  message: string;
  reason: "interrupted" | "interrupted_call";
}

export type Pausing = ReturnType<typeof createPausing>;

export function createPausing(options: PausingOptions) {
  const { holdMs, maxApprovals, log } = options;
  const byRun = new Map<LiveRun, RunPauses>();
  let isLeaving = false;

  function open(live: LiveRun): RunPauses {
    const name: RunName = { id: live.id, claim: live.claim, run: live.claim };
    const { execution } = live;
    const { pause } = execution;
    const pauses = new RunPauses({
      name,
      records: createRunRecords(options, name),
      environment: pause && { pause, resume: () => execution.resume() },
      holdMs,
      maxApprovals,
      log,
      calls: live.calls,
      describe: () => ({
        trail: live.calls.all,
        usage: live.usage,
        packages: live.packages,
        snapshot: () => ({
          ...live.results.read(),
          calls: live.calls.all,
          usage: live.usage,
          packages: live.packages,
          warnings: live.warnings,
        }),
      }),
      hooks: {
        parked() {
          live.markParked();
          keepFewParked();
        },
        goesOn: () => live.markGoesOn(),
        detached: () => live.leave(),
        asked: (id, state) => live.noteApproval(id, state),
        end: (ending) => live.decide(ending),
      },
    });
    // First: it throws for a run that is over, whose pauses would never be closed.
    live.opened.defer(() => {
      pauses.close();
      byRun.delete(live);
    });
    byRun.set(live, pauses);
    if (isLeaving) pauses.leave();
    return pauses;
  }

  /** Each holds a child and its memory: beyond as many as there are slots, those go first that wait longest. */
  function keepFewParked(): void {
    const max = Math.max(MIN_PARKED_RUNS, options.countSlots() ?? 0);
    const parked = [...byRun.values()].filter(({ phase }) => phase === "parked");
    for (const pauses of parked.slice(0, Math.max(0, parked.length - max))) pauses.endHold();
  }

  return {
    options,
    /** The pauses of a run, which has none before it is first asked for them. */
    of: (live: LiveRun): RunPauses => byRun.get(live) ?? open(live),
    /** Null: it has asked no person, and repeats nothing. */
    find: (live: LiveRun): RunPauses | null => byRun.get(live) ?? null,
    /** Ids of the approvals that runs of this server wait for. */
    pending: (): string[] => [...byRun.values()].flatMap((pauses) => pauses.pending),

    /**
     * Gives a run what its earlier child has left. The checkpoint; or why it cannot be repeated; `unread`: the database
     * is away. Never rejects.
     */
    async carry(live: LiveRun): Promise<{ checkpoint: unknown } | ReplayRefusal | "unread"> {
      const pauses = open(live);
      // What it is repeated from is in the database, also before it has been read.
      pauses.journal.carry([]);
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
          `The server ended while ${pathOf(call)} was under way (request ${call.seq} of the script). It is not known whether it was carried out, so it is not called again.`,
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

    /** Puts the file that an answer became before the run was repeated into its workspace. Rejects where it is not there. */
    async restoreAnswer(live: LiveRun, seq: number, turn?: SaveTurn): Promise<StoredFile> {
      const kept = byRun.get(live)?.findSaved(seq);
      const [file] = kept === undefined ? [] : options.files.open([kept]);
      if (kept === undefined || file === undefined) throw new Error("the answer of a call was not kept");
      return live.workspace.save(kept.name, readWhole(file), turn);
    },

    /** The script has ended: an earlier child must not have called what this one did not. */
    checkAllRepeated: (live: LiveRun): void => byRun.get(live)?.checkAllRepeated(),

    /** The server stops. True: the database has enough to repeat the run; false: it goes to its end here. */
    abandon: (live: LiveRun): boolean => byRun.get(live)?.abandon() ?? false,

    /** Runs that pause from now on, and those that are paused, give up their child at once. */
    startLeaving(): void {
      isLeaving = true;
      for (const pauses of byRun.values()) pauses.leave();
    },
  };
}
