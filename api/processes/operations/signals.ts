import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "#api/errors.ts";
import type { LiveRun } from "../live/run.ts";
import { type ProcessView, toStoredRun } from "../model/records.ts";
import type { RunSignalBody } from "../model/schemas.ts";
import {
  cancelQueued,
  changeHeldState,
  deleteProcess,
  restartProcess,
  terminateElsewhere,
} from "../store/changes.ts";
import { cancelDetached } from "../store/pauses.ts";
import { readInput, readProcessRow } from "../store/reads.ts";
import { checkInput, refuseInput } from "./input.ts";
import {
  findOwner,
  type ProcessesContext,
  readView,
  refuseUnknown,
  requireIdle,
  waitForEnd,
} from "./lookup.ts";
import { viewLiveRun } from "./render.ts";

/** Attempts to find a run that the database calls running but that is not in memory yet. */
const CLAIM_VISIBLE_ATTEMPTS = 20;
const CLAIM_VISIBLE_DELAY_MS = 25;

/** Throws process_not_idle, process_has_outputs, invalid_request, and errors of admission. */
export async function runProcess(
  context: ProcessesContext,
  id: number,
  { force, block, input }: RunSignalBody,
  startedBy: string,
  signal: AbortSignal,
): Promise<ProcessView> {
  if (context.registry.isUnconfirmed(id)) {
    throw new AppError(
      "process_not_idle",
      `The environment has not yet let go of the last run of process ${id}. Try again later.`,
    );
  }
  const text = input === undefined ? null : await readNextInput(context, id, input, startedBy);
  const { stored } = await context.submit(startedBy, async (placement) => {
    const how = { force, startedBy, input: text };
    const row = await restartProcess(context.db, id, placement, how, context.traceParent());
    return { stored: row && toStoredRun(row) };
  });
  if (!stored) return refuseRun(context, id, force);
  if (block) return waitForEnd(context, id, signal);
  return (await readView(context, id)) ?? refuseUnknown(id);
}

/** Returns the JSON text of an input that is valid for the submitted schema. Throws invalid_request. */
async function readNextInput(
  { db, checks }: ProcessesContext,
  id: number,
  input: unknown,
  caller: string,
): Promise<string | null> {
  const { inputSchema } = (await readInput(db, id)) ?? refuseUnknown(id);
  const schema = inputSchema === null ? null : JSON.parse(inputSchema);
  return (await checkInput(checks, caller, input, schema)).input;
}

async function refuseRun({ db }: ProcessesContext, id: number, isForced: boolean): Promise<never> {
  const row = (await readProcessRow(db, id)) ?? refuseUnknown(id);
  requireIdle(id, row.state);
  if (isForced || row.exitState === null) {
    throw refuseInput("input", `is missing: process ${id} has an inputSchema and was given no input yet.`);
  }
  throw new AppError(
    "process_has_outputs",
    `Process ${id} has results of an earlier run. Send {"force": true} to clear them and run it again.`,
  );
}

/**
 * Ends a queued process, or a paused one without a child, at once. Otherwise asks the environment to end the run.
 * Throws process_idle.
 */
export async function killProcess(context: ProcessesContext, id: number): Promise<ProcessView> {
  const { db, registry, feed, peers } = context;
  for (let attempt = 0; attempt < CLAIM_VISIBLE_ATTEMPTS; attempt += 1) {
    const live = registry.get(id);
    const killed = live && (await killLive(context, live));
    if (killed) return killed;
    if (await cancelQueued(db, id)) {
      context.forgetQueued(id);
      feed.notify(id, "state");
      return (await readView(context, id)) ?? refuseUnknown(id);
    }
    if (await cancelDetached(db, id)) {
      feed.notify(id, "state");
      return (await readView(context, id)) ?? refuseUnknown(id);
    }
    const row = (await readProcessRow(db, id)) ?? refuseUnknown(id);
    if (row.state === "idle") return refuseIdle(id);
    const owner = findOwner(context, row);
    // A claim of this server without a run is either queued again, or its reply is still on the way.
    if (owner === null) await context.reconcile();
    const isToMark = owner !== null || attempt === CLAIM_VISIBLE_ATTEMPTS - 1;
    if (row.state === "terminating" || (isToMark && (await terminateElsewhere(db, id, row.replica)))) {
      peers.publish("kill", [id]);
      const view = (await readView(context, id)) ?? refuseUnknown(id);
      // The server that runs it may not have been notified yet.
      return view.row.state === "idle" ? view : { ...view, row: { ...view.row, state: "terminating" } };
    }
    await sleep(CLAIM_VISIBLE_DELAY_MS);
  }
  throw new Error(`process ${id} changed its state each time it was to be killed`);
}

/** Returns null if the run was detached from its child meanwhile; it is then killed in the database. */
async function killLive({ db }: ProcessesContext, live: LiveRun): Promise<ProcessView | null> {
  if (live.state === "terminating") return viewLiveRun(live);
  try {
    const row = await changeHeldState(db, live.id, live.claim, "terminating");
    // If there is no row, the run has ended or another kill came first.
    if (!row) {
      const now = await readProcessRow(db, live.id);
      if (now?.state === "idle") return refuseIdle(live.id);
      if (now && now.claim !== live.claim) return null;
    }
  } catch (error) {
    // Kills the run even if the database is down.
    if (!(error instanceof AppError)) live.kill();
    throw error;
  }
  live.kill();
  return viewLiveRun(live);
}

function refuseIdle(id: number): never {
  throw new AppError("process_idle", `Process ${id} is not running, so there is nothing to kill.`);
}

/** Throws process_not_idle. */
export async function removeProcess({ db, feed }: ProcessesContext, id: number): Promise<void> {
  if (await deleteProcess(db, id)) {
    feed.notify(id, "state");
    return;
  }
  const row = (await readProcessRow(db, id)) ?? refuseUnknown(id);
  requireIdle(id, row.state);
}
