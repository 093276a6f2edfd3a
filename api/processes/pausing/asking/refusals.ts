/** Why a person is not asked, in words for a script. */
import { AppError } from "#api/errors.ts";
import type { CallRefusal } from "#api/tools/gate.ts";
import type { RunApproval } from "../desk.ts";

export function because(reason: string | null): string {
  return reason === null ? "" : ` (${reason})`;
}

function unavailable(message: string): CallRefusal {
  return { failure: "call_unavailable", message };
}

export const RUN_HAS_ENDED = unavailable("The run has ended.");
export const NOT_STORED = unavailable(
  "Nobody can be asked: the request could not be stored. Try again shortly.",
);
export const NO_ROOM_TO_PAUSE = unavailable(
  "As many processes are paused as may be (CYRNEL_MAX_PAUSED_PROCESSES), so nobody can be asked. Try again when some were decided.",
);
export const DATABASE_IS_AWAY = unavailable(
  "Nobody can be asked: the database does not answer at the moment. Try again shortly.",
);

export function deniedBefore({ id, reason }: RunApproval): CallRefusal {
  return {
    failure: "approval_denied",
    message: `${id}: exactly this was denied before${because(reason)}. It is not asked again in this run.`,
  };
}

export function tooMany(maxApprovals: number): CallRefusal {
  return {
    failure: "too_many_approvals",
    message: `The run has asked a person ${maxApprovals} times, which is the most it may (CYRNEL_MAX_APPROVALS_PER_PROCESS).`,
  };
}

/** Without a key nothing can be sealed, and what cannot be sealed is not stored. */
export function cannotBeKept(error: unknown): CallRefusal {
  const why =
    error instanceof AppError && error.code === "secrets_key_missing"
      ? "the server has no key to keep what is asked with (CYRNEL_SECRETS_KEY)"
      : error instanceof RangeError
        ? "what is asked for is too large to be kept"
        : "what is asked for could not be kept";
  return {
    failure: "approval_unavailable",
    message: `A person has to approve this, and nobody can be asked: ${why}.`,
  };
}
