import { isDatabaseUnavailable } from "#api/db/pool.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import { pathOf } from "#kernel/tool-patterns.ts";
import { readWhole, type StoredFile } from "#runner/workspace/workspace.ts";
import type { JSONSchema, ModuleLogger, SaveTurn } from "#sdk";
import type { LiveRun } from "../live/run.ts";
import { PauseController } from "./controller.ts";
import { readRestoredRun } from "./restored-run.ts";
import { createPauseStore, type PauseStorage } from "./transactions.ts";

const MIN_PAUSED_RUNS = 8;

export interface PausingOptions extends PauseStorage {
  holdMs: number;
  maxApprovals: number;
  redactor: Pick<Redactor, "text">;
  /** Returns why a schema cannot be used to validate an answer, or null. */
  checkSchema(schema: JSONSchema): Promise<string | null>;
  /** Number of slots on this server, which is also the number of paused runs that may keep their child. */
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
  const byRun = new Map<LiveRun, PauseController>();
  let isDraining = false;

  function open(live: LiveRun): PauseController {
    const name = { id: live.id, claim: live.claim, run: live.claim };
    const store = createPauseStore(options, name);
    const pauses = new PauseController({
      name,
      run: live,
      store,
      holdMs,
      maxApprovals,
      onPaused: limitHeld,
      log,
    });
    // Must come first: it throws for an ended run, whose pauses would never be closed.
    live.opened.defer(() => {
      pauses.close();
      byRun.delete(live);
    });
    byRun.set(live, pauses);
    if (isDraining) pauses.drain();
    return pauses;
  }

  /**
   * Each paused run keeps a child and its memory. Beyond one per slot, the runs that have waited longest are
   * detached.
   */
  function limitHeld(): void {
    const max = Math.max(MIN_PAUSED_RUNS, options.countSlots() ?? 0);
    const paused = [...byRun.values()].filter(({ phase }) => phase === "paused");
    for (const pauses of paused.slice(0, Math.max(0, paused.length - max))) pauses.endHold();
  }

  return {
    options,
    of: (live: LiveRun): PauseController => byRun.get(live) ?? open(live),
    /** Returns null if the run has asked no approver and is not a replay. */
    find: (live: LiveRun): PauseController | null => byRun.get(live) ?? null,
    pending: (): string[] => [...byRun.keys()].flatMap(({ approvals }) => approvals.pending),

    /**
     * Restores what earlier children left. Resolves with the checkpoint, with the reason why the run cannot be
     * replayed, or with `unread` if the database is down. Never rejects.
     */
    async restore(live: LiveRun): Promise<{ checkpoint: unknown } | ReplayRefusal | "unread"> {
      const pauses = open(live);
      // Marks its calls as stored, even before they have been read.
      pauses.journal.restore({ calls: [], saved: [] });
      try {
        const restored = await readRestoredRun(options, live);
        if (typeof restored === "string") return refuseReplay(`The run cannot be replayed. ${restored}`);
        live.restore(restored);
        pauses.name.run = restored.run;
        pauses.journal.restore(restored);
        const call = pauses.journal.findInterrupted();
        if (call === undefined) return { checkpoint: restored.checkpoint };
        return refuseReplay(
          `The server died while ${pathOf(call)} was in progress (request ${call.seq} of the script). It is not known whether it was carried out, so it is not called again.`,
          "interrupted_call",
        );
      } catch (error) {
        if (isDatabaseUnavailable(error)) {
          log.warn({ err: error, processId: live.id }, "a run cannot be replayed yet; it is queued again");
          return "unread";
        }
        log.error({ err: error, processId: live.id }, "a run could not be replayed");
        return refuseReplay("The run cannot be replayed: its journal could not be read.");
      }
    },

    /** Restores a file saved from an answer before the replay into the workspace. Rejects if it no longer exists. */
    async restoreAnswer(live: LiveRun, seq: number, turn?: SaveTurn): Promise<StoredFile> {
      const kept = byRun.get(live)?.journal.findSaved(seq);
      const [file] = kept === undefined ? [] : options.files.open([kept]);
      if (kept === undefined || file === undefined) throw new Error("the answer of a call was not kept");
      return live.files.workspace.save(kept.name, readWhole(file), turn);
    },

    checkAllReplayed: (live: LiveRun): void => byRun.get(live)?.journal.checkAllReplayed(),

    /** Call on shutdown. Returns true if the run can be replayed from the database, or false if it must end here. */
    abandon: (live: LiveRun): boolean => byRun.get(live)?.abandon() ?? false,

    /** From now on, paused runs are detached at once. */
    drain(): void {
      isDraining = true;
      for (const pauses of byRun.values()) pauses.drain();
    },
  };
}

function refuseReplay(message: string, reason: ReplayRefusal["reason"] = "interrupted"): ReplayRefusal {
  return { name: "InterruptedError", message, reason };
}
