/**
 * What requests are called in the audit trail. Every request that may change something is recorded: one without a name
 * here goes by its method and path.
 */

/** By method and path of the route. */
const ACTIONS: Readonly<Record<string, string>> = {
  "POST /processes": "process.create",
  "DELETE /processes/:id": "process.delete",
  "POST /processes/:id/signals/run": "process.run",
  "POST /processes/:id/signals/kill": "process.kill",
  "POST /services": "service.install",
  "POST /services/install": "service.install",
  "PATCH /services/:id": "service.update",
  "DELETE /services/:id": "service.delete",
  "POST /services/:id/update": "service.update",
  "POST /services/:id/sync": "service.sync",
  "POST /services/:id/enabled": "service.enable",
  "PATCH /services/:id/config": "service.config",
  "PATCH /services/:id/secrets": "service.secrets",
  "POST /tools/:serviceId/:toolId/enabled": "tool.enable",
  "POST /tools/:serviceId/:toolId/invoke": "tool.invoke",
  "POST /modules": "module.install",
  "POST /modules/install": "module.install",
  "POST /modules/reload": "module.reload",
  "PATCH /modules/:id": "module.update",
  "DELETE /modules/:id": "module.delete",
  "POST /modules/:id/update": "module.update",
  "POST /modules/:id/enabled": "module.enable",
  "PATCH /modules/:id/config": "module.config",
  "PATCH /modules/:id/secrets": "module.secrets",
  "POST /keys": "key.create",
  "DELETE /keys/:id": "key.revoke",
  "POST /roles": "role.create",
  "PATCH /roles/:id": "role.change",
  "DELETE /roles/:id": "role.delete",
  "POST /policies": "policy.create",
  "PUT /policies/order": "policy.order",
  "PATCH /policies/:id": "policy.change",
  "DELETE /policies/:id": "policy.delete",
  "POST /approvals/:id/approve": "approval.approve",
  "POST /approvals/:id/deny": "approval.deny",
  "GET /audit/export": "audit.export",
};

/**
 * Kept in a row of their own that names the key: their record is not waited for, so that a submission costs no second
 * round trip.
 */
const NOT_AWAITED = new Set(["process.create", "process.run", "tool.invoke"]);

/** What stops something is never refused for want of a record: it is kept, or written to the log. */
const ALWAYS_ADMITTED = new Set(["process.kill", "key.revoke", "approval.deny"]);

/** The call path records each call with its decision; of the request itself only a refusal before that counts. */
export const RECORDED_AS_CALL = "tool.invoke";

const READING_METHODS = ["GET", "HEAD", "OPTIONS"];

export interface AuditedRoute {
  action: string;
  objectKind: string;
  /** Whether the answer waits until the record is stored. */
  awaited: boolean;
  /** Whether the request is refused when it could not be recorded. */
  needsRecord: boolean;
  /** The body holds values that are never shown and never hashed. */
  secret: boolean;
}

/** One request may do several things: what does them records each under its own name. */
const RECORDED_WITHIN = new Set(["POST /mcp", "DELETE /mcp"]);

/** Null for requests that change nothing. `url` with its parameters as `:name`. */
export function describeRoute(method: string, url: string): AuditedRoute | null {
  const name = `${method} ${url}`;
  const known = ACTIONS[name];
  if (known === undefined && READING_METHODS.includes(method)) return null;
  if (RECORDED_WITHIN.has(name)) return null;
  const action = known ?? name.toLowerCase();
  const [, folder = ""] = url.split("/");
  return {
    action,
    objectKind: SINGULAR[folder] ?? folder,
    awaited: !NOT_AWAITED.has(action),
    needsRecord: !ALWAYS_ADMITTED.has(action),
    secret: url.endsWith("/secrets"),
  };
}

const SINGULAR: Readonly<Record<string, string>> = {
  processes: "process",
  services: "service",
  tools: "tool",
  modules: "module",
  keys: "key",
  roles: "role",
  policies: "policy",
  approvals: "approval",
};
