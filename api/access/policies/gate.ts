/**
 * What the one path of all tool calls asks: may this caller see the tool, and what do the rules say about the call.
 * Answers from memory; when keys, roles and rules cannot be known, nothing is visible and no call is allowed.
 */
import type { RevisionWatch } from "#api/db/revisions.ts";
import { AppError } from "#api/errors.ts";
import { KEYLESS, type KeyVerifier } from "#api/http/auth.ts";
import type { CallCaller, CallGate } from "#api/tools/gate.ts";
import type { PolicyDirectory } from "./directory.ts";
import type { Decision } from "./model.ts";

export interface GateParts {
  watch: Pick<RevisionWatch, "isFresh">;
  keys: Pick<KeyVerifier, "find">;
  roles: { find(id: string): { sees(serviceId: string, toolId: string): boolean } | null };
  policies: PolicyDirectory;
}

/** The stricter comes first. */
const STRICTNESS: readonly Decision[] = ["block", "ask", "allow"];

/**
 * The roles under which a caller acts, null for acting without one: of a run that another key has started there are
 * two, and what counts is what both allow. None at all for a caller one of whose keys does not count any more.
 */
function rolesOf({ keyId, roleId, startedBy }: CallCaller, keys: GateParts["keys"]): (string | null)[] {
  const roles = [keyId === undefined ? (roleId ?? null) : keys.find(keyId)?.roleId];
  if (startedBy !== undefined) {
    roles.push(KEYLESS.has(startedBy) ? null : keys.find(startedBy)?.roleId);
  }
  const known = roles.filter((role) => role !== undefined);
  return known.length === roles.length ? [...new Set(known)] : [];
}

export function createGate({ watch, keys, roles, policies }: GateParts): CallGate {
  return {
    canSee(caller, { serviceId, toolId }) {
      if (!watch.isFresh()) return false;
      const roleIds = rolesOf(caller, keys);
      const shows = (roleId: string | null) => roleId === null || roles.find(roleId)?.sees(serviceId, toolId);
      return roleIds.length > 0 && roleIds.every(shows);
    },
    seesAll(caller) {
      const roleIds = rolesOf(caller, keys);
      return watch.isFresh() && roleIds.length === 1 && roleIds[0] === null;
    },
    async decide(caller, { serviceId, toolId, destructive }) {
      if (!watch.isFresh()) {
        throw new AppError(
          "database_unavailable",
          "The policies cannot be looked up at the moment, so no call is allowed. Try again shortly.",
          { retryAfterSeconds: 2 },
        );
      }
      const { processId } = caller;
      const decisions = rolesOf(caller, keys).map((roleId) =>
        policies.decide({ serviceId, toolId, destructive, roleId: roleId ?? undefined, processId }),
      );
      const strictest = STRICTNESS.map((one) => decisions.find(({ decision }) => decision === one));
      return strictest.find((one) => one !== undefined) ?? { decision: "block" };
    },
  };
}
