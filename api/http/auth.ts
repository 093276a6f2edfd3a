/**
 * Who is asking, and what they may do. Every route names a scope or says that it is public; a route that does
 * neither stops the server from being built.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler, RouteOptions } from "fastify";
import { AppError } from "../errors.ts";
import type { App } from "./app-type.ts";

export const SCOPES = [
  "processes:write",
  "processes:read",
  "services:admin",
  "modules:admin",
  "approvals:decide",
  "keys:admin",
  "logs:read",
] as const;
export type Scope = (typeof SCOPES)[number];

export interface Caller {
  kind: "anonymous" | "key";
  /** `anonymous`, or the name of the key; never the key itself. */
  id: string;
  scopes: ReadonlySet<Scope>;
}

const ALL_SCOPES: ReadonlySet<Scope> = new Set(SCOPES);
const ANONYMOUS: Caller = { kind: "anonymous", id: "anonymous", scopes: ALL_SCOPES };
const BOOTSTRAP: Caller = { kind: "key", id: "bootstrap", scopes: ALL_SCOPES };
const MAX_KEY_CHARACTERS = 500;

const scopeOfHook = new WeakMap<object, Scope>();
const anyKeyHooks = new WeakSet<object>();

/**
 * A hook for a route: `onRequest: requireScope('processes:read')` (also works as preHandler). Answers 403 `forbidden`
 * with the name of the scope to a caller without it.
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

/** A hook for a route that any caller with a key may use, whatever its scopes: `onRequest: requireKey()`. */
export function requireKey(): onRequestAsyncHookHandler {
  // The refusal of callers without a key comes before every route's own hooks.
  const hook = async (): Promise<void> => {};
  anyKeyHooks.add(hook);
  return hook;
}

/** Adds `request.caller` for all routes, the refusal of unknown callers, and the check that no route is left open. */
export function registerAuth(app: App, options: { apiKey: string | null }): void {
  const expected = options.apiKey === null ? null : digest(options.apiKey);
  app.decorateRequest("caller", null);
  app.addHook("onRoute", requireDeclaredAccess);
  app.addHook("onRequest", async (request) => {
    request.caller = expected === null ? ANONYMOUS : identify(request.headers.authorization, expected);
  });
}

/** The second half, after the rate limit has counted the attempt. */
export function registerAuthRefusal(app: App): void {
  app.addHook("onRequest", async (request, reply) => {
    if (request.caller !== null || request.routeOptions.config.public || request.is404) return;
    refuse(reply);
  });
}

function refuse(reply: FastifyReply): never {
  reply.header("www-authenticate", 'Bearer realm="cyrnel"');
  throw new AppError("unauthorized", "Unauthorized");
}

function identify(header: string | undefined, expected: Buffer): Caller | null {
  const key = /^Bearer +([^\s]+) *$/i.exec(header ?? "")?.[1];
  if (key === undefined || key.length > MAX_KEY_CHARACTERS) return null;
  // Digests have one length, so the comparison takes the same time for every wrong key.
  return timingSafeEqual(digest(key), expected) ? BOOTSTRAP : null;
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
