/**
 * Pending approvals of one run. While a call or question waits, the run is frozen: its clock stops and nothing
 * reaches the script. A script in an endless loop cannot be frozen; its clock continues.
 */
import type {
  Decision,
  ElicitationEngine,
  Gate,
  GatedTool,
  PendingElicitation,
} from "../kernel/elicitation.ts";
import { toolError } from "../kernel/proxy.ts";

/** Maximum number of approvals that one run may request. */
const MAX_ASKED = 100;

export interface PausesOptions {
  eid: number;
  engine: ElicitationEngine;
  environment: { pause(eid: number): Promise<unknown>; resume(eid: number): void };
  /** Called for each call that starts waiting. */
  onWaiting(executionId: string): void;
  /** Called when the run is frozen, with the approval that has waited longest. */
  onPaused(pending: PendingElicitation): void;
}

export interface Pauses {
  /**
   * Returns null if the call may be made at once. Otherwise resolves when it is approved, and rejects when it is
   * denied or expires. Throws if the same call was denied before, or if too many calls wait.
   */
  pass(tool: GatedTool, args: unknown, signal: AbortSignal): Promise<void> | null;
  ask(
    request: { message: string; schema?: Record<string, unknown> },
    check: ((data: unknown) => void) | undefined,
    signal: AbortSignal,
  ): Promise<unknown>;
  /** Returns which refusal ended a script that did not catch it: the error message contains the call's random id. */
  findRefusal(message: string): "approval_denied" | "approval_expired" | null;
}

export function createPauses(options: PausesOptions): Pauses {
  const { eid, engine, environment, onWaiting, onPaused } = options;
  const waiting = new Set<PendingElicitation>();
  /** Errors by denied call: approval is not requested again for the same call. */
  const denied = new Map<string, Error>();
  const refused = new Map<string, "approval_denied" | "approval_expired">();
  let asked = 0;
  let isFrozen = false;
  let isFreezing = false;

  async function freeze(): Promise<void> {
    if (isFreezing || isFrozen) return;
    isFreezing = true;
    try {
      await environment.pause(eid);
      isFrozen = true;
    } catch {
      // The run has ended in the meantime.
    } finally {
      isFreezing = false;
    }
    if (!isFrozen) return;
    const [oldest] = waiting;
    if (oldest === undefined) thaw();
    else onPaused(oldest);
  }

  function thaw(): void {
    if (!isFrozen) return;
    isFrozen = false;
    environment.resume(eid);
    if (waiting.size > 0) void freeze();
  }

  async function wait(gate: Gate & { allowed: false }, signal: AbortSignal): Promise<Decision> {
    const { pending, decided } = gate;
    const { executionId } = pending;
    const withdraw = () => engine.withdraw(executionId);
    waiting.add(pending);
    onWaiting(executionId);
    signal.addEventListener("abort", withdraw, { once: true });
    if (signal.aborted) withdraw();
    void freeze();
    try {
      return await decided;
    } finally {
      signal.removeEventListener("abort", withdraw);
      waiting.delete(pending);
      thaw();
    }
  }

  function countAsked(): void {
    if (++asked > MAX_ASKED) {
      throw toolError("too_many_approvals", `A run may ask a person ${MAX_ASKED} times.`, 429);
    }
  }

  function refuse(decision: Exclude<Decision, { state: "approved" }>, id: string, what: string): Error {
    switch (decision.state) {
      case "denied": {
        refused.set(id, "approval_denied");
        const reason = typeof decision.data === "string" && decision.data !== "" ? `: ${decision.data}` : ".";
        return toolError("approval_denied", `${id}: ${what} was denied${reason}`, 403);
      }
      case "expired":
        refused.set(id, "approval_expired");
        return toolError("approval_expired", `${id}: ${what} was not decided in time.`, 409);
      case "withdrawn":
        return toolError("call_canceled", `${what} was canceled.`, 503);
    }
  }

  return {
    pass(tool, args, signal) {
      const digest = JSON.stringify([tool.path, args]);
      const before = denied.get(digest);
      if (before !== undefined) throw before;
      const gate = engine.gate(tool, args);
      if (gate.allowed) return null;
      const { executionId } = gate.pending;
      try {
        countAsked();
      } catch (error) {
        engine.withdraw(executionId);
        throw error;
      }
      return wait(gate, signal).then((decision) => {
        if (decision.state === "approved") return;
        const error = refuse(decision, executionId, `the call of ${tool.path}`);
        if (decision.state === "denied") denied.set(digest, error);
        throw error;
      });
    },

    async ask(request, check, signal) {
      countAsked();
      const gate = engine.ask(request, check);
      const decision = await wait(gate, signal);
      if (decision.state === "approved") return decision.data ?? null;
      throw refuse(decision, gate.pending.executionId, "the question");
    },

    findRefusal(message) {
      for (const [id, reason] of refused) if (message.includes(id)) return reason;
      return null;
    },
  };
}
