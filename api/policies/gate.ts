/**
 * What the one path of all tool calls asks: may this caller see the tool, and what do the rules say about the call.
 * Answers from memory; when keys, roles and rules cannot be known, nothing is visible and no call is allowed.
 */
import type { RevisionWatch } from "../db/revisions.ts";
import { AppError } from "../errors.ts";
import type { KeyVerifier } from "../http/auth.ts";
import type { CallCaller, CallGate } from "../tools/gate.ts";
import type { PolicyDirectory } from "./directory.ts";

export interface GateParts {
  watch: Pick<RevisionWatch, "isFresh">;
  keys: Pick<KeyVerifier, "find">;
  roles: { find(id: string): { sees(serviceId: string, toolId: string): boolean } | null };
  policies: PolicyDirectory;
}

/** The role that restricts a caller, null for none; `nobody` for one whose key does not count any more. */
function roleOf(caller: CallCaller, keys: GateParts["keys"]): string | null | "nobody" {
  if (caller.keyId === undefined) return caller.roleId ?? null;
  const key = keys.find(caller.keyId);
  return key === null ? "nobody" : key.roleId;
}

export function createGate({ watch, keys, roles, policies }: GateParts): CallGate {
  return {
    canSee(caller, { serviceId, toolId }) {
      if (!watch.isFresh()) return false;
      const roleId = roleOf(caller, keys);
      if (roleId === "nobody") return false;
      return roleId === null || (roles.find(roleId)?.sees(serviceId, toolId) ?? false);
    },
    async decide(caller, { serviceId, toolId, destructive }) {
      if (!watch.isFresh()) {
        throw new AppError(
          "database_unavailable",
          "The policies cannot be looked up at the moment, so no call is allowed. Try again shortly.",
          { retryAfterSeconds: 2 },
        );
      }
      const roleId = roleOf(caller, keys);
      if (roleId === "nobody") return { decision: "block" };
      return policies.decide({
        serviceId,
        toolId,
        destructive,
        roleId: roleId ?? undefined,
        processId: caller.processId,
      });
    },
  };
}
