import { pathOf } from "#kernel/tool-patterns.ts";
import { compileRole, type Visibility } from "#kernel/tool-visibility.ts";
import { createKeyDirectory } from "./access/keys/directory.ts";
import { createKeys, type Keys } from "./access/keys/service.ts";
import { createPolicyDirectory, type PolicyDirectory } from "./access/policies/directory.ts";
import type { Decision } from "./access/policies/model.ts";
import { createPolicies, type Policies } from "./access/policies/service.ts";
import { createRoles, type Roles } from "./access/roles/service.ts";
import { readRoles } from "./access/roles/store.ts";
import { fitsPatterns } from "./access/tool-patterns.ts";
import { type AuditActor, type AuditLog, createAuditLog } from "./audit/log.ts";
import type { AuditOutcome } from "./audit/model.ts";
import { type AuditTrail, createAuditTrail } from "./audit/service.ts";
import { startAuditRetention } from "./audit/store.ts";
import type { Config } from "./config.ts";
import type { Db, Pool } from "./db/pool.ts";
import { createRevisionWatch, type RevisionWatch } from "./db/revisions.ts";
import { AppError } from "./errors.ts";
import { KEYLESS, type KeyVerifier } from "./http/auth.ts";
import type { Installation } from "./packages/model.ts";
import type { LeftFiles, ProcessRow } from "./processes/model/records.ts";
import type { CallCaller, CallGate, CallRecord } from "./tools/contract.ts";
import type { KnownTool } from "./tools/store.ts";

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
  recordCall(record: CallRecord): void;
  readonly watch: Pick<RevisionWatch, "follow" | "refresh">;
  /** Returns true if the caller's scripts may import the package. For a run with two keys, both must allow it. */
  mayImport(caller: CallCaller, packageName: string): boolean;
  recordInstallation(ended: EndedInstallation): void;
  /** Records the files a run produced, and the limit that rejected any others. */
  recordArtifacts(left: LeftFiles, row: Pick<ProcessRow, "startedBy">): void;
  /** Loads keys, roles and policies. Before that, no tool is visible and no key is valid. */
  start(): Promise<void>;
}

const MAX_NAMED_ARTIFACTS = 50;

/** `createdBy` is a key id, `bootstrap` or `anonymous`. */
export type EndedInstallation = Pick<
  Installation,
  "id" | "name" | "range" | "version" | "state" | "error" | "createdBy"
>;

export interface GovernanceOptions {
  pool: Pool;
  config: Pick<Config, "apiKey" | "defaultPolicy" | "auditRetentionDays">;
  log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
  listTools: () => Promise<readonly KnownTool[]>;
  redact?: <T>(json: T) => T;
}

/** Dispose of it after everything that records: disposal stores the waiting audit records, within a time limit. */
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
    watch,
    mayImport(caller, packageName) {
      if (!watch.isFresh()) return false;
      const roleIds = rolesOf(caller, verifier);
      const allows = (roleId: string | null) =>
        roleId === null || fitsPatterns(roleDirectory.packagesOf(roleId), packageName);
      return roleIds.length > 0 && roleIds.every(allows);
    },
    recordInstallation({ id, name, range, version, state, error, createdBy }) {
      audit.record({
        actor: actorOf(createdBy, verifier),
        action: "package.installed",
        object: { kind: "package", id: `${name}@${version ?? range}` },
        outcome: state === "done" ? "ok" : "failed",
        parameters: { installation: id, ...(error !== null && { error }) },
      });
    },
    recordArtifacts({ id, artifacts, filesRefused }, { startedBy }) {
      const left = artifacts.slice(0, MAX_NAMED_ARTIFACTS);
      audit.record({
        actor: actorOf(startedBy, verifier),
        action: "process.artifacts",
        object: { kind: "process", id: String(id) },
        ...(filesRefused === null
          ? { outcome: "ok" }
          : { outcome: "refused", code: filesRefused === "quota" ? "storage_full" : "output_limit" }),
        processId: id,
        parameters: {
          count: artifacts.length,
          bytes: artifacts.reduce((bytes, { size }) => bytes + size, 0),
          ...(filesRefused !== null && { refused: filesRefused }),
        },
        files: left.map(({ name, size, sha256 }) => ({ name, use: "left", size, sha256 })),
      });
    },
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

interface CallRecorderOptions {
  audit: Pick<AuditLog, "record">;
  keys: Pick<KeyVerifier, "find">;
  withoutKey: "anonymous" | "bootstrap";
}

/** `id` is a key id, `bootstrap` or `anonymous`. */
function actorOf(id: string, keys: Pick<KeyVerifier, "find">): AuditActor {
  if (id === "anonymous" || id === "bootstrap") return { kind: id };
  return { kind: "key", id, name: keys.find(id)?.name ?? id };
}

const AUDIT_OUTCOMES = {
  ok: "ok",
  denied: "refused",
  error: "failed",
  canceled: "canceled",
  unknown: "unknown",
} as const satisfies Record<CallRecord["outcome"], AuditOutcome>;

/** Returns a recorder that never throws. */
function createCallRecorder(options: CallRecorderOptions): (record: CallRecord) => void {
  const { audit, keys, withoutKey } = options;

  return ({ caller, serviceId, toolId, parameters, decision, outcome, code, httpStatus, files }) => {
    // Differs from `keyId` if another key submitted the process.
    const { keyId, startedBy = keyId } = caller;
    audit.record({
      actor: actorOf(startedBy ?? withoutKey, keys),
      action: "tool.call",
      object: { kind: "tool", id: pathOf({ serviceId, toolId }) },
      outcome: AUDIT_OUTCOMES[outcome],
      code: code ?? undefined,
      httpStatus: httpStatus ?? undefined,
      processId: caller.processId,
      decision: decision?.decision,
      policyId: decision?.policyId,
      parameters,
      files,
    });
  };
}

interface RoleDirectory {
  /** Returns null for a deleted role, which can see nothing. */
  find(id: string): Visibility | null;
  /** Returns the role's package patterns, or an empty list for a deleted role. */
  packagesOf(id: string): readonly string[];
}

export function createRoleDirectory(db: Db, watch: RevisionWatch): RoleDirectory {
  let roles = new Map<string, { visibility: Visibility; packages: readonly string[] }>();
  watch.follow("roles", async () => {
    const rows = await readRoles(db);
    roles = new Map(rows.map((row) => [row.id, { visibility: compileRole(row), packages: row.packages }]));
  });
  return {
    find: (id) => roles.get(id)?.visibility ?? null,
    packagesOf: (id) => roles.get(id)?.packages ?? [],
  };
}

interface GateParts {
  watch: Pick<RevisionWatch, "isFresh">;
  keys: Pick<KeyVerifier, "find">;
  roles: Pick<RoleDirectory, "find">;
  policies: PolicyDirectory;
}

/** Strictest first. */
const STRICTNESS: readonly Decision[] = ["block", "ask", "allow"];

/**
 * Returns the roles that apply to a caller; null stands for no role. A run started by a key other than the submitter
 * has two, and only what both allow is allowed. Returns an empty list if one of the keys is no longer valid.
 */
function rolesOf({ keyId, roleId, startedBy }: CallCaller, keys: GateParts["keys"]): (string | null)[] {
  const roles = [keyId === undefined ? (roleId ?? null) : keys.find(keyId)?.roleId];
  if (startedBy !== undefined) {
    roles.push(KEYLESS.has(startedBy) ? null : keys.find(startedBy)?.roleId);
  }
  const known = roles.filter((role) => role !== undefined);
  return known.length === roles.length ? [...new Set(known)] : [];
}

/**
 * Applies role visibility and policies to all tool calls, from memory. Until keys, roles and rules are loaded, no
 * tool is visible and no call is allowed.
 */
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
          "The policies cannot be read at the moment, so no call is allowed. Try again shortly.",
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
