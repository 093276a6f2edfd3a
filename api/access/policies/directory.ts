import type { DefaultPolicy } from "#api/config/default-policies.ts";
import type { Db } from "#api/db/pool.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import type { KeyVerifier } from "#api/http/auth.ts";
import type { Decision } from "./model.ts";
import { compileRules, type Rule, type RuleCall } from "./rules.ts";
import { readPolicies } from "./store.ts";

export interface PolicyDecision {
  decision: Decision;
  /** Policy that decided; absent if the default decided. */
  policyId?: string;
}

export interface PolicyDirectory {
  /** Decides from memory. Callers must check freshness: see `RevisionWatch.isFresh`. */
  decide(call: RuleCall & { destructive: boolean }): PolicyDecision;
}

export function createPolicyDirectory(
  db: Db,
  watch: RevisionWatch,
  { defaultPolicy, keys }: { defaultPolicy: DefaultPolicy; keys: Pick<KeyVerifier, "find"> },
): PolicyDirectory {
  let rules: readonly Rule[] = [];
  let compiled = compileRules(rules, Date.now());
  watch.follow("policies", async () => {
    rules = await readPolicies(db);
    compiled = compileRules(rules, Date.now());
  });
  return {
    decide(call) {
      const nowMs = Date.now();
      if (nowMs >= compiled.validUntilMs) compiled = compileRules(rules, nowMs);
      const rule = compiled.find(call);
      const made: PolicyDecision =
        rule === null
          ? { decision: decideByDefault(defaultPolicy, call.destructive) }
          : { decision: rule.decision, policyId: rule.id };
      if (made.decision !== "ask") return made;
      const isLiveKey = (keyId: string) => keys.find(keyId) !== null;
      const remembered = compiled.findRemembered(call, rule?.id ?? null, isLiveKey);
      return remembered === null ? made : { decision: "allow", policyId: remembered.id };
    },
  };
}

export function decideByDefault(policy: DefaultPolicy, destructive: boolean): Decision {
  if (policy === "ask-destructive") return destructive ? "ask" : "allow";
  return policy;
}
