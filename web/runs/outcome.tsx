import type { MarkedError } from "../editor/appearance.ts";
import type { Process } from "../server/api.ts";

type Stated = Pick<Process, "state" | "exitState" | "reason">;

const LOOKS: Record<string, string> = {
  success: "good",
  failed: "bad",
  timeout: "bad",
  running: "busy",
  paused: "wait",
  terminating: "wait",
};

/** Explains reasons whose name alone is not clear enough. */
export const REASONS: Record<string, string> = {
  script_error: "The script threw an error.",
  unhandled_rejection: "A call or promise failed, and no code handled it.",
  syntax_error: "The script is not valid TypeScript.",
  memory_limit: "The run exceeded its memory limit.",
  cpu_limit: "The run exceeded its CPU time limit.",
  output_limit: "The result or output exceeded the size limit.",
  crashed: "The Node process crashed.",
  sandbox_violation: "The sandbox stopped a forbidden operation.",
  approval_denied: "An approver denied a call.",
  approval_expired: "Nobody decided about a call in time.",
  replay_divergence: "The replay after a pause differed from the first run.",
  interrupted: "The server stopped during the run.",
  interrupted_call: "The server stopped during an approved call, which is not repeated.",
  timeout: "The run exceeded its time limit.",
  killed: "The run was killed.",
  queue_timeout: "No slot became free in time.",
};

/**
 * Returns whether the run ended because of an approver's decision or a missing one: neither the script nor the server
 * failed.
 */
export function isDecided({ reason }: Pick<Stated, "reason">): boolean {
  return reason === "approval_denied" || reason === "approval_expired" || reason === "killed";
}

export function isActive(process: Pick<Stated, "state">): boolean {
  return process.state !== "idle";
}

/** Returns the error to mark in the source editor, or null if it has no line. */
export function markedError({ errorDetail }: Pick<Process, "errorDetail">): MarkedError | null {
  if (!errorDetail?.line || errorDetail.file) return null;
  const { line, column, name, message } = errorDetail;
  return { line, column, message: `${name}: ${message}` };
}

export function StateChip({ process }: { process: Stated }) {
  const { state, exitState, reason } = process;
  if (state !== "idle") return <span class={`chip ${LOOKS[state] ?? ""}`}>{state}</span>;
  if (exitState === null) return <span class="chip">not run</span>;
  const isPlain = exitState === "success" || reason === null || reason === exitState;
  return (
    <span
      class={`chip ${isDecided(process) ? "wait" : (LOOKS[exitState] ?? "")}`}
      title={REASONS[reason ?? ""] ?? ""}
    >
      {exitState}
      {isPlain ? "" : `: ${reason.replaceAll("_", " ")}`}
    </span>
  );
}
