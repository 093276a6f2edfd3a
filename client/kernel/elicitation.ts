/**
 * Approvals within this program: which calls need approval, which are pending, and what was decided. Each is decided
 * once. Knows nothing about runs: the caller of `gate` waits for `decided`.
 */
import type { PausedCall } from "./model.ts";
import { toolError } from "./proxy.ts";

/** The tool of a call that may need approval. */
export interface GatedTool {
  /** `service.tool`. */
  path: string;
  destructive?: boolean;
}

export interface PendingElicitation extends PausedCall {
  /** JSON Schema for the response to a question. */
  schema?: Record<string, unknown>;
  /** ISO 8601, UTC. */
  createdAt: string;
  expiresAt: string;
}

/** `withdrawn`: the run has ended. */
export type Decision =
  | { state: "approved"; data: unknown }
  | { state: "denied"; data: unknown }
  | { state: "expired" | "withdrawn" };

export type Gate =
  | { allowed: true }
  | { allowed: false; pending: PendingElicitation; decided: Promise<Decision> };

export interface ElicitationOptions {
  /** Returns true, or the message to show, if a call needs approval. Default: destructive tools do. */
  needsApproval?: (tool: GatedTool, args: unknown) => boolean | string;
  /** Called for each call that starts waiting. */
  onPending?: (pending: PendingElicitation) => void;
  /** Time after which an undecided approval expires. */
  expiresAfterMs?: number;
  maxPending?: number;
}

/** Throws if the data is not a valid response to a question. */
type CheckAnswer = (data: unknown) => void;

interface Waiting {
  pending: PendingElicitation;
  settle(decision: Decision): void;
  check: CheckAnswer | undefined;
}

const DEFAULT_EXPIRES_AFTER_MS = 24 * 60 * 60 * 1000;
const DEFAULT_MAX_PENDING = 1000;
const MAX_TIMER_MS = 2 ** 31 - 1;

export class ElicitationEngine {
  readonly #options: ElicitationOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #sessionApprovals = new Set<string>();

  constructor(options: ElicitationOptions = {}) {
    this.#options = options;
  }

  /**
   * Returns whether a call may be made at once; otherwise it waits from now on. If `needsApproval` throws, the call
   * is not made.
   */
  gate(tool: GatedTool | string, args?: unknown): Gate {
    const gated = typeof tool === "string" ? { path: tool } : tool;
    if (this.#sessionApprovals.has(gated.path)) return { allowed: true };
    const { needsApproval = ({ destructive }: GatedTool) => destructive === true } = this.#options;
    const need = needsApproval(gated, args);
    if (need === false) return { allowed: true };
    const message = typeof need === "string" ? need : `Call ${gated.path}?`;
    return this.#open({ toolPath: gated.path, message, ...(args !== undefined && { args }) });
  }

  /** Adds a script's question, which always waits. `check` throws for an invalid response. */
  ask(
    request: { message: string; schema?: Record<string, unknown> },
    check?: CheckAnswer,
  ): Gate & { allowed: false } {
    const { message, schema } = request;
    return this.#open(
      { toolPath: "cyrnel.ask", message, ...(schema && { schema, args: { schema } }) },
      check,
    );
  }

  /**
   * Decides a pending call or question. `data` is the response to a question, or the reason for a denial. Returns
   * false if the id is not pending.
   * @throws Error that describes an invalid response; the question stays pending
   */
  resolve(executionId: string, approved: boolean, data?: unknown): boolean {
    const waiting = this.#waiting.get(executionId);
    if (waiting === undefined) return false;
    if (approved) waiting.check?.(data);
    waiting.settle({ state: approved ? "approved" : "denied", data });
    return true;
  }

  /** Withdraws the pending approvals of an ended run. */
  withdraw(executionId: string): void {
    this.#waiting.get(executionId)?.settle({ state: "withdrawn" });
  }

  getPending(executionId: string): PendingElicitation | undefined {
    return this.#waiting.get(executionId)?.pending;
  }

  getAllPending(): PendingElicitation[] {
    return [...this.#waiting.values()].map(({ pending }) => pending);
  }

  hasPending(): boolean {
    return this.#waiting.size > 0;
  }

  /** Allows calls of this tool without approval until `clearSessionApprovals`. */
  addSessionApproval(path: string): void {
    this.#sessionApprovals.add(path);
  }

  isSessionApproved(path: string): boolean {
    return this.#sessionApprovals.has(path);
  }

  clearSessionApprovals(): void {
    this.#sessionApprovals.clear();
  }

  #open(
    request: Pick<PendingElicitation, "toolPath" | "message" | "args" | "schema">,
    check?: CheckAnswer,
  ): Gate & { allowed: false } {
    const { maxPending = DEFAULT_MAX_PENDING, expiresAfterMs = DEFAULT_EXPIRES_AFTER_MS } = this.#options;
    if (this.#waiting.size >= maxPending) {
      throw toolError("too_many_approvals", `More than ${maxPending} calls wait for a person.`, 429);
    }
    const now = Date.now();
    const pending: PendingElicitation = {
      executionId: `exec_${crypto.randomUUID()}`,
      ...request,
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + expiresAfterMs).toISOString(),
    };
    const { promise: decided, resolve } = Promise.withResolvers<Decision>();
    const settle = (decision: Decision) => {
      clearTimeout(timer);
      this.#waiting.delete(pending.executionId);
      resolve(decision);
    };
    const timer = setTimeout(() => settle({ state: "expired" }), Math.min(expiresAfterMs, MAX_TIMER_MS));
    this.#waiting.set(pending.executionId, { pending, settle, check });
    try {
      this.#options.onPending?.(pending);
    } catch (error) {
      settle({ state: "withdrawn" });
      throw error;
    }
    return { allowed: false, pending, decided };
  }
}
