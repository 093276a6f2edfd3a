/**
 * Authenticates and authorizes callers. Every route must name a scope or declare itself public; otherwise the server
 * cannot be built.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler, RouteOptions } from "fastify";
import { AppError } from "../errors.ts";
import type { App } from "./app-type.ts";

export const SCOPES = [
  "processes:write",
  "processes:read",
  "processes:all",
  "services:admin",
  "modules:admin",
  "packages:admin",
  "approvals:decide",
  "keys:admin",
  "logs:read",
] as const;
export type Scope = (typeof SCOPES)[number];

export interface Caller {
  kind: "anonymous" | "bootstrap" | "key";
  /** Either `anonymous`, `bootstrap`, or the id of the key; never the key itself. */
  id: string;
  name?: string;
  scopes: ReadonlySet<Scope>;
  /** Id of the stored key. Absent for the anonymous and bootstrap callers, who see every tool. */
  keyId?: string;
  roleId?: string;
}

/**
 * Returns the rights that decide which tools a caller sees and how its calls are treated. Empty without a stored key.
 */
export function rightsOf(caller: Caller | null): Pick<Caller, "keyId" | "roleId"> {
  const { keyId, roleId } = caller ?? {};
  return { ...(keyId !== undefined && { keyId }), ...(roleId !== undefined && { roleId }) };
}

declare module "fastify" {
  interface FastifyRequest {
    caller: Caller | null;
  }
}

/** Ids of callers without a stored key. Roles do not restrict them, and they cannot be revoked. */
export const KEYLESS: ReadonlySet<string> = new Set<Caller["kind"]>(["anonymous", "bootstrap"]);

export interface VerifiedKey {
  id: string;
  name: string;
  scopes: ReadonlySet<Scope>;
  roleId: string | null;
}

export interface KeyVerifier {
  /** Returns null for an unknown, revoked or expired key. Rejects if the database cannot answer at the moment. */
  verify(key: string): Promise<VerifiedKey | null>;
  find(id: string): VerifiedKey | null;
}

export interface AuthOptions {
  apiKey: string | null;
  keys: KeyVerifier;
}

const ALL_SCOPES: ReadonlySet<Scope> = new Set(SCOPES);
const ANONYMOUS: Caller = { kind: "anonymous", id: "anonymous", scopes: ALL_SCOPES };
const BOOTSTRAP: Caller = { kind: "bootstrap", id: "bootstrap", scopes: ALL_SCOPES };
const MAX_KEY_CHARACTERS = 500;
/** Prefix of stored keys. The operator chooses the bootstrap key. */
const STORED_KEY_MARK = "cyk_";
const STREAM_CHECK_MS = 1000;

const scopeOfHook = new WeakMap<object, Scope>();
const anyKeyHooks = new WeakSet<object>();

/**
 * Returns a route hook: `onRequest: requireScope('processes:read')` (also works as preHandler). Fails with 403
 * `forbidden`, naming the scope.
 */
export function requireScope(scope: Scope): onRequestAsyncHookHandler {
  const hook = async (request: FastifyRequest): Promise<void> => {
    if (request.caller?.scopes.has(scope)) return;
    throw new AppError(
      "forbidden",
      `This needs a key with the scope ${scope}. Ask an administrator for one.`,
    );
  };
  scopeOfHook.set(hook, scope);
  return hook;
}

/**
 * Makes every route whose path begins with `prefix` call `check` before its handler. Call before adding the routes.
 * `check` throws if the caller may not see the object.
 */
export function guardRoutes(
  app: App,
  prefix: string,
  check: (request: FastifyRequest) => Promise<void>,
): void {
  const guard = async (request: FastifyRequest): Promise<void> => check(request);
  app.addHook("onRoute", (route) => {
    if (route.url !== prefix && !route.url.startsWith(`${prefix}/`)) return;
    const own = [route.preHandler ?? []].flat() as (typeof guard)[];
    if (!own.includes(guard)) route.preHandler = [guard, ...own];
  });
}

/** Returns a hook for a route that any key may use, whatever its scopes: `onRequest: requireKey()`. */
export function requireKey(): onRequestAsyncHookHandler {
  const hook = async (): Promise<void> => {};
  anyKeyHooks.add(hook);
  return hook;
}

/**
 * Adds `request.caller` to all routes, ends open requests whose key is revoked, and checks that every route declares
 * its access.
 */
export function registerAuth(app: App, { apiKey, keys }: AuthOptions): void {
  const expected = apiKey === null ? null : digest(apiKey);
  app.decorateRequest("caller", null);
  app.addHook("onRoute", requireDeclaredAccess);
  app.addHook("onRequest", async (request) => {
    if (request.routeOptions.config.public) return;
    request.caller = await identify(readKey(request.headers.authorization), expected, keys);
  });
  endWithTheKey(app, keys);
}

export function registerAuthRefusal(app: App): void {
  app.addHook("onRequest", async (request, reply) => {
    if (request.caller !== null || request.routeOptions.config.public || request.is404) return;
    refuse(request, reply);
  });
}

/** The message must not reveal whether such a key ever existed. */
function refuse({ headers: { authorization } }: FastifyRequest, reply: FastifyReply): never {
  reply.header("www-authenticate", 'Bearer realm="cyrnel"');
  const problem =
    authorization === undefined
      ? "the request has no API key"
      : readKey(authorization) === null
        ? "the Authorization header is not the word Bearer and one API key"
        : "the API key is wrong, was revoked or has expired";
  throw new AppError(
    "unauthorized",
    `Unauthorized: ${problem}. Send the header Authorization: Bearer <key>.`,
  );
}

function readKey(header: string | undefined): string | null {
  const key = /^Bearer +([^\s]+) *$/i.exec(header ?? "")?.[1];
  return key === undefined || key.length > MAX_KEY_CHARACTERS ? null : key;
}

/**
 * Without a bootstrap key, anyone on this machine is accepted. A stored key still counts with its scopes and role,
 * and fails once revoked.
 */
async function identify(
  key: string | null,
  expected: Buffer | null,
  keys: KeyVerifier,
): Promise<Caller | null> {
  // Digests have equal length, so comparing any wrong key takes the same time.
  if (key !== null && expected !== null && timingSafeEqual(digest(key), expected)) return BOOTSTRAP;
  if (key?.startsWith(STORED_KEY_MARK)) {
    const found = await keys.verify(key);
    return found && callerOf(found);
  }
  return expected === null ? ANONYMOUS : null;
}

function callerOf({ id, name, scopes, roleId }: VerifiedKey): Caller {
  return { kind: "key", id, name, scopes, keyId: id, ...(roleId === null ? {} : { roleId }) };
}

/** When a key is revoked, destroys its pending requests without a response and cuts off its streams. */
function endWithTheKey(app: App, keys: KeyVerifier): void {
  const open = new Map<ServerResponse, string>();
  app.addHook("onRequest", async (request, reply) => {
    const keyId = request.caller?.keyId;
    if (keyId === undefined) return;
    open.set(reply.raw, keyId);
    reply.raw.once("close", () => open.delete(reply.raw));
  });
  app.addHook("onSend", async (request, reply, payload) => {
    const keyId = request.caller?.keyId;
    const isReading = request.method === "GET" && reply.statusCode < 400;
    if (keyId === undefined || !isReading || keys.find(keyId) !== null) return payload;
    // A stream that is never sent would not end by itself.
    if (payload instanceof Readable) payload.destroy();
    return refuse(request, reply);
  });
  const timer = setInterval(() => {
    for (const [response, keyId] of open) {
      if (response.headersSent && keys.find(keyId) === null) response.destroy();
    }
  }, STREAM_CHECK_MS).unref();
  app.addHook("onClose", async () => clearInterval(timer));
}

function digest(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

function requireDeclaredAccess(route: RouteOptions): void {
  const hooks = [route.onRequest ?? [], route.preValidation ?? [], route.preHandler ?? []].flat() as object[];
  const scope = hooks.map((hook) => scopeOfHook.get(hook)).find((found) => found !== undefined);
  const isPublic = route.config?.public === true;
  const isForAnyKey = hooks.some((hook) => anyKeyHooks.has(hook));
  if (scope === undefined && !isPublic && !isForAnyKey) {
    throw new Error(
      `The route ${route.method} ${route.url} declares neither a scope (onRequest: requireScope(…)), requireKey() nor config.public.`,
    );
  }
  if (scope !== undefined) route.config = { ...route.config, scope };
}
