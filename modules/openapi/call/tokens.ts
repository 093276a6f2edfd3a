/**
 * Requests OAuth 2 client credentials tokens: one per set of scopes, cached until shortly before it expires.
 * Concurrent calls for the same token share one request, which continues when one of them ends.
 */
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  customFetch,
  processClientCredentialsResponse,
  ResponseBodyError,
} from "oauth4webapi";
import { isRecord } from "#kernel/foreign-json.ts";
import { causesOf, findRefusal, findSystemCode } from "#modules/shared/failures.ts";
import { orAborted } from "#modules/shared/limits.ts";
import { CallError } from "../failures.ts";
import { readBody } from "./answer.ts";

const LIMITS = {
  maxAnswerBytes: 256 * 1024,
  maxCachedTokens: 100,
  maxRequestMs: 30_000,
  /** Lifetime of a token whose response states none. */
  assumedLifetimeMs: 300_000,
  maxMarginMs: 30_000,
} as const;

export interface TokenSource {
  /** `scope` lists scopes separated by spaces. Rejects with a CallError that contains no secret. */
  token(scope: string, signal: AbortSignal): Promise<string>;
  forget(token: string): void;
}

interface Cached {
  token: Promise<string>;
  value?: string;
  expiresAt: number;
}

export function createTokenSource(
  fetch: typeof globalThis.fetch,
  tokenUrl: string,
  client: { id: string; secret: string },
  keepSecret: (token: string) => void = () => {},
): TokenSource {
  const cache = new Map<string, Cached>();
  let authentications: ClientAuth[] = [basicAuthentication(client.secret), ClientSecretPost(client.secret)];

  async function request(scope: string): Promise<{ token: string; lifetimeMs: number }> {
    let refused: unknown;
    for (const authentication of authentications) {
      try {
        const granted = await grant(fetch, tokenUrl, client.id, authentication, scope);
        authentications = [authentication];
        keepSecret(granted.token);
        return granted;
      } catch (error) {
        refused = error;
        if (!isClientRefusal(error)) break;
      }
    }
    throw describeFailure(refused, tokenUrl);
  }

  function start(scope: string): Cached {
    const requested = request(scope);
    const cached: Cached = {
      token: requested.then(({ token }) => token),
      expiresAt: Number.POSITIVE_INFINITY,
    };
    cache.set(scope, cached);
    for (const oldest of cache.keys()) {
      if (cache.size <= LIMITS.maxCachedTokens) break;
      cache.delete(oldest);
    }
    requested.then(
      ({ token, lifetimeMs }) => {
        cached.value = token;
        cached.expiresAt = performance.now() + lifetimeMs - Math.min(LIMITS.maxMarginMs, lifetimeMs / 10);
      },
      () => {
        if (cache.get(scope) === cached) cache.delete(scope);
      },
    );
    return cached;
  }

  return {
    token(scope, signal) {
      const known = cache.get(scope);
      const usable = known !== undefined && known.expiresAt > performance.now();
      // The shared request continues for other calls when this one ends.
      return orAborted((usable ? known : start(scope)).token, signal);
    },
    forget(token) {
      for (const [scope, cached] of cache) if (cached.value === token) cache.delete(scope);
    },
  };
}

async function grant(
  fetch: typeof globalThis.fetch,
  tokenUrl: string,
  clientId: string,
  authentication: ClientAuth,
  scope: string,
): Promise<{ token: string; lifetimeMs: number }> {
  const server = { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl };
  const client = { client_id: clientId };
  const options = {
    [allowInsecureRequests]: true,
    [customFetch]: (url: string, init: object) => fetchBounded(fetch, url, init as RequestInit),
    signal: AbortSignal.timeout(LIMITS.maxRequestMs),
  };
  const parameters = scope === "" ? {} : { scope };
  const response = await clientCredentialsGrantRequest(server, client, authentication, parameters, options);
  const granted = await processClientCredentialsResponse(server, client, response);
  const lifetimeMs = granted.expires_in === undefined ? LIMITS.assumedLifetimeMs : granted.expires_in * 1000;
  return { token: granted.access_token, lifetimeMs };
}

/** The OAuth library would read a response of any size, so it gets one that was already read within a limit. */
async function fetchBounded(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
): Promise<Response> {
  const body = init.body instanceof URLSearchParams ? init.body.toString() : (init.body ?? null);
  const answer = await fetch(url, { ...init, body });
  const bytes = await readBody(answer, LIMITS.maxAnswerBytes, "The token endpoint");
  return new Response(withTokenType(bytes), { status: answer.status, headers: answer.headers });
}

/** Some servers omit `token_type`; they mean `bearer`. */
function withTokenType(bytes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> | string | null {
  if (bytes.length === 0) return null;
  try {
    const answer: unknown = JSON.parse(bytes.toString());
    if (!isRecord(answer) || answer.access_token === undefined || answer.token_type !== undefined)
      return bytes;
    return JSON.stringify({ ...answer, token_type: "bearer" });
  } catch {
    return bytes;
  }
}

function basicAuthentication(secret: string): ClientAuth {
  const encode = (text: string) => new URLSearchParams([["", text]]).toString().slice(1);
  return (_server, client, _body, headers) => {
    const credentials = Buffer.from(`${encode(client.client_id)}:${encode(secret)}`).toString("base64");
    headers.set("authorization", `Basic ${credentials}`);
  };
}

/** Returns whether the server rejected this client authentication method; the other one is tried then. */
function isClientRefusal(error: unknown): boolean {
  return (
    (error instanceof ResponseBodyError &&
      (error.error === "invalid_client" || error.error === "invalid_request")) ||
    causesOf(error).some(({ code }) => code === "OAUTH_WWW_AUTHENTICATE_CHALLENGE")
  );
}

function describeFailure(error: unknown, tokenUrl: string): CallError {
  const { origin, pathname } = new URL(tokenUrl);
  const where = `The token endpoint ${origin}${pathname}`;
  const refusal = findRefusal(error);
  if (refusal !== undefined) return new CallError("egress_refused", refusal.message);
  if (error instanceof CallError) return error;
  if (error instanceof ResponseBodyError) {
    const word = /^[\w.-]{1,100}$/.test(error.error) ? ` with ${error.error}` : "";
    return new CallError(
      "invalid_credentials",
      `${where} refused the client credentials${word} (status ${error.status}).`,
    );
  }
  const code = findSystemCode(error);
  return new CallError(
    "invalid_credentials",
    `${where} returned no token${code === undefined ? "" : ` (${code})`}.`,
  );
}
