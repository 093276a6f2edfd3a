/**
 * Who may do what, put together: keys, roles, policies and the audit trail over one watch of their revisions, and the
 * gate that the path of all tool calls asks.
 */

import { createKeyDirectory } from "./access/keys/directory.ts";
import { createKeys, type Keys } from "./access/keys/service.ts";
import { createPolicyDirectory } from "./access/policies/directory.ts";
import { createGate } from "./access/policies/gate.ts";
import { createPolicies, type Policies } from "./access/policies/service.ts";
import { createRoles, type Roles } from "./access/roles/service.ts";
import { createRoleDirectory } from "./access/roles/visibility.ts";
import { createCallRecorder } from "./audit/call-records.ts";
import { type AuditLog, createAuditLog } from "./audit/log.ts";
import { startAuditRetention } from "./audit/retention.ts";
import { type AuditTrail, createAuditTrail } from "./audit/service.ts";
import type { Config } from "./config.ts";
import type { Pool } from "./db/pool.ts";
import { createRevisionWatch } from "./db/revisions.ts";
import type { KeyVerifier } from "./http/auth.ts";
import type { CallGate, CallRecord } from "./tools/gate.ts";
import type { KnownTool } from "./tools/store.ts";

/** What the HTTP surface needs of it. */
export interface AccessDeps {
  verifier: KeyVerifier;
  keys: Keys;
  roles: Roles;
  policies: Policies;
  gate: CallGate;
  audit: AuditLog;
  trail: AuditTrail;
}

export interface Governance extends AccessDeps, AsyncDisposable {
  /** What the path of all calls tells about each call that is over. */
  recordCall(record: CallRecord): void;
  /** Loads keys, roles and policies; before it nothing is visible and no key counts. Rejects when the database does. */
  start(): Promise<void>;
}

export interface GovernanceOptions {
  pool: Pool;
  config: Pick<Config, "apiKey" | "defaultPolicy" | "auditRetentionDays">;
  log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
  /** Every installed tool. */
  listTools: () => Promise<readonly KnownTool[]>;
  /** Replaces known secrets in JSON data. */
  redact?: <T>(json: T) => T;
}

/** Disposing stores the audit records that wait, bounded: dispose it after everything that records. */
export function createGovernance(options: GovernanceOptions): Governance {
  const { pool, config, log, listTools, redact } = options;
  const { defaultPolicy } = config;
  const open = new AsyncDisposableStack();
  const audit = open.use(createAuditLog({ db: pool, log, ...(redact ? { redact } : {}) }));
  const watch = open.use(createRevisionWatch(pool, { log }));
  const verifier = open.use(createKeyDirectory(pool, watch));
  const roleDirectory = createRoleDirectory(pool, watch);
  const policyDirectory = createPolicyDirectory(pool, watch, { defaultPolicy, keys: verifier });
  const policies = createPolicies({ pool, watch, directory: policyDirectory, defaultPolicy, listTools });
  return {
    verifier,
    keys: createKeys({ pool, watch }),
    roles: createRoles({ pool, watch, listTools }),
    policies,
    gate: createGate({ watch, keys: verifier, roles: roleDirectory, policies: policyDirectory }),
    audit,
    recordCall: createCallRecorder({
      audit,
      keys: verifier,
      withoutKey: config.apiKey === null ? "anonymous" : "bootstrap",
    }),
    trail: createAuditTrail(pool, audit),
    async start() {
      await watch.start();
      open.use(
        startAuditRetention(pool, {
          retentionDays: config.auditRetentionDays,
          log,
          alsoSweep: () => policies.sweep(),
        }),
      );
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
