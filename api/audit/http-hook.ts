/** Records every request that may change something, and rejects it if no record can be stored. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { App } from "../http/app-type.ts";
import type { Caller } from "../http/auth.ts";
import type { AuditActor, AuditEntry, AuditLog } from "./log.ts";

const MAX_RECORD_MS = 3000;
const MAX_ANSWER_CHARACTERS = 64 * 1024;

declare module "fastify" {
  interface FastifyRequest {
    isAudited: boolean;
  }
}

/**
 * Applies to routes registered later. Records when the response is ready, even if the client has disconnected.
 * Ignores callers without a valid key, who could otherwise fill the trail.
 */
export function registerAudit(app: App, audit: AuditLog): void {
  app.decorateRequest("isAudited", false);
  app.addHook("preHandler", async (request) => {
    if (routeOf(request)?.needsRecord) await audit.admit();
  });
  app.addHook("onSend", async (request, reply, payload) => {
    const route = routeOf(request);
    if (route === null || request.caller === null || request.isAudited) return payload;
    request.isAudited = true;
    const entry = describeRequest(request, reply, route, request.caller, payload);
    if (route.action === RECORDED_AS_CALL && entry.code !== "forbidden") return payload;
    if (route.awaited && entry.outcome === "ok") await audit.recordStored(entry, MAX_RECORD_MS);
    else audit.record(entry);
    return payload;
  });
}

/**
 * Lets a service change keep secrets usable at new origins, with a separate audit record. Returns null unless the
 * caller has `modules:admin`: such callers could read the secrets through code anyway.
 */
export function carrySecretsFor(audit: Pick<AuditLog, "record">) {
  return ({ caller, id: requestId }: FastifyRequest) => {
    if (!caller?.scopes.has("modules:admin")) return null;
    return (serviceId: string, secrets: readonly string[]) =>
      audit.record({
        actor: actorOf(caller),
        action: "service.carry_secrets",
        object: { kind: "service", id: serviceId },
        outcome: "ok",
        requestId,
        parameters: { carried: secrets, because: "the caller holds modules:admin" },
      });
  };
}

function routeOf(request: FastifyRequest): AuditedRoute | null {
  const { url } = request.routeOptions;
  return url === undefined || request.is404 ? null : describeRoute(request.method, url);
}

function describeRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  route: AuditedRoute,
  caller: Caller,
  payload: unknown,
): AuditEntry {
  const isOk = reply.statusCode < 400;
  const answer = typeof payload === "string" && payload.length <= MAX_ANSWER_CHARACTERS ? payload : null;
  const code = isOk ? undefined : readField(answer, "code");
  return {
    actor: actorOf(caller),
    action: route.action,
    object: { kind: route.objectKind, id: objectIdOf(request, reply, isOk ? answer : null) },
    outcome: isOk ? "ok" : reply.statusCode >= 500 ? "failed" : "refused",
    ...(code === undefined ? {} : { code }),
    requestId: request.id,
    ...(request.body === undefined ? {} : { parameters: parametersOf(request.body, route) }),
  };
}

export function actorOf(caller: Pick<Caller, "kind" | "keyId" | "name">): AuditActor {
  return { kind: caller.kind, id: caller.keyId, name: caller.name };
}

/** Returns the object id from the path or, if the request created an object, from the response. */
function objectIdOf(request: FastifyRequest, reply: FastifyReply, answer: string | null): string | null {
  // The route's schema has parsed these, so a process id is a number.
  const { id, serviceId, toolId, name, version } = (request.params ?? {}) as Record<
    string,
    string | number | undefined
  >;
  if (id !== undefined) return String(id);
  if (name !== undefined && version !== undefined) return `${name}@${version}`;
  if (serviceId !== undefined) return toolId === undefined ? String(serviceId) : `${serviceId}.${toolId}`;
  const location = reply.getHeader("location");
  if (typeof location === "string") return location.split("/").at(-1) ?? null;
  return readField(answer, "id") ?? null;
}

function readField(json: string | null, name: string): string | undefined {
  if (!json?.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(json)[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  } catch {
    return undefined;
  }
}

/** Members that approvers and scripts may fill with confidential text. */
const COVERED_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  "approval.approve": ["data"],
  "process.create": ["input"],
  "process.run": ["input"],
  "package.install": ["lock"],
};

/** Lists only the names of changed secret settings, because the hash of a short secret would reveal it. */
function parametersOf(body: unknown, route: AuditedRoute): unknown {
  const covered = COVERED_MEMBERS[route.action];
  if (covered !== undefined && typeof body === "object" && body !== null) {
    const members = Object.entries(body);
    return Object.fromEntries(
      members.map(([name, value]) => {
        if (covered.includes(name)) return [name, "[redacted]"];
        return [name, route.action === "process.create" && name === "files" ? nameFiles(value) : value];
      }),
    );
  }
  if (!route.secret) return body;
  if (!Array.isArray(body)) return "[redacted]";
  return body.map((operation: unknown) => {
    const { op, path, from } = (operation ?? {}) as Record<string, unknown>;
    return { op, path, from };
  });
}

function nameFiles(files: unknown): unknown {
  if (typeof files !== "object" || files === null) return "[redacted]";
  const named = Object.entries(files).map(([name, source]): [string, unknown] => {
    const { id, text, base64 } = (source ?? {}) as Record<string, unknown>;
    if (typeof id === "string") return [name, { id }];
    if (typeof text === "string") return [name, { text: "[redacted]", size: Buffer.byteLength(text) }];
    if (typeof base64 !== "string") return [name, "[redacted]"];
    return [name, { base64: "[redacted]", size: Buffer.byteLength(base64, "base64") }];
  });
  return Object.fromEntries(named);
}

const ACTIONS: Readonly<Record<string, string>> = {
  "POST /processes": "process.create",
  "DELETE /processes/:id": "process.delete",
  "POST /processes/:id/signals/run": "process.run",
  "POST /processes/:id/signals/kill": "process.kill",
  "POST /files": "file.upload",
  "DELETE /files/:id": "file.delete",
  "POST /services": "service.install",
  "POST /services/install": "service.install",
  "POST /services/preview": "service.preview",
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
  "POST /packages": "package.install",
  "DELETE /packages/:name/:version": "package.delete",
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
 * Actions that do not wait for their audit record: these objects' rows already name the key, so a submission avoids a
 * second round trip.
 */
const NOT_AWAITED = new Set(["process.create", "process.run", "tool.invoke"]);

/**
 * Actions allowed while the audit log is down, because stopping something must not fail. The record is stored later
 * or logged.
 */
const ALWAYS_ADMITTED = new Set(["process.kill", "key.revoke", "approval.deny"]);

/**
 * Action for tool calls. The call path records each call with its decision, so the request gets a record only if it
 * is rejected earlier.
 */
export const RECORDED_AS_CALL = "tool.invoke";

const READING_METHODS = ["GET", "HEAD", "OPTIONS"];

export interface AuditedRoute {
  action: string;
  objectKind: string;
  awaited: boolean;
  needsRecord: boolean;
  /** True if the body contains secret values, which must never be shown or hashed. */
  secret: boolean;
}

/** Routes that may do several things, each recorded where it happens. */
const RECORDED_WITHIN = new Set(["POST /mcp", "DELETE /mcp"]);

/** Returns null for requests that change nothing. In `url`, parameters have the form `:name`. */
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
  files: "file",
  services: "service",
  tools: "tool",
  modules: "module",
  packages: "package",
  keys: "key",
  roles: "role",
  policies: "policy",
  approvals: "approval",
};
