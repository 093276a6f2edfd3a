import { isRecord, own, ownText } from "#kernel/foreign-json.ts";
import type { SchemePlan, SecurityPlan } from "../domain.ts";
import { CallError } from "../failures.ts";
import { type PreparedRequest, setHeader } from "./request.ts";
import type { TokenSource } from "./tokens.ts";
import { encodeText } from "./values.ts";

type Apply = (request: PreparedRequest, scopes: string[], signal: AbortSignal) => Promise<void>;

export interface Credentials {
  /**
   * Adds credentials for the first requirement that can be satisfied. `renew` discards a token that may have expired
   * and returns whether one was used. @throws CallError `no_credentials` if no requirement can be satisfied: a call
   * is never made without required credentials
   */
  apply(request: PreparedRequest, security: SecurityPlan, signal: AbortSignal): Promise<{ renew(): boolean }>;
}

export function createCredentials(
  serviceId: string,
  schemes: SchemePlan[],
  secrets: Record<string, unknown>,
  tokenSourceOf: (tokenUrl: string, client: { id: string; secret: string }) => TokenSource,
): Credentials {
  const appliers = new Map<string, Apply>();
  const sources = new Map<string, TokenSource>();
  for (const scheme of schemes) {
    const apply = createApplier(scheme, own(secrets, scheme.name));
    if (apply !== undefined) appliers.set(scheme.name, apply);
  }

  function createApplier(scheme: SchemePlan, secret: unknown): Apply | undefined {
    if (scheme.kind === "unsupported") return undefined;
    if (scheme.kind === "oauth2") return createOAuth2(scheme, secret);
    if (scheme.kind === "headers") return createHeaders(secret);
    if (scheme.kind === "basic") return createBasic(secret);
    if (typeof secret !== "string" || secret === "") return undefined;
    if (scheme.kind === "bearer") return async (request) => setBearer(request, secret);
    return async (request) => setKey(request, scheme, secret);
  }

  function createOAuth2(scheme: SchemePlan & { kind: "oauth2" }, secret: unknown): Apply | undefined {
    const [id, key, accessToken, scope] = ["clientId", "clientSecret", "accessToken", "scope"].map((name) =>
      ownText(secret, name),
    );
    if (id && key && scheme.tokenUrl !== undefined) {
      const source = tokenSourceOf(scheme.tokenUrl, { id, secret: key });
      sources.set(scheme.name, source);
      return async (request, scopes, signal) => {
        setBearer(request, await source.token(scope ?? [...scopes].sort().join(" "), signal));
      };
    }
    return accessToken ? async (request) => setBearer(request, accessToken) : undefined;
  }

  return {
    async apply(request, security, signal) {
      const chosen = security.find((needed) => needed.every(({ scheme }) => appliers.has(scheme)));
      if (chosen === undefined && security.length > 0) throw refuse(serviceId, schemes, security);
      for (const { scheme, scopes = [] } of chosen ?? [])
        await appliers.get(scheme)?.(request, scopes, signal);
      const used = (chosen ?? []).flatMap(({ scheme }) => sources.get(scheme) ?? []);
      const sent = request.headers.get("authorization");
      return {
        renew() {
          for (const source of used) source.forget(sent?.replace(/^Bearer /, "") ?? "");
          return used.length > 0;
        },
      };
    },
  };
}

function createBasic(secret: unknown): Apply | undefined {
  const username = ownText(secret, "username");
  const password = ownText(secret, "password");
  if (username === undefined || password === undefined || (username === "" && password === ""))
    return undefined;
  const value = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  return async (request) => setHeader(request.headers, "authorization", value);
}

function createHeaders(secret: unknown): Apply | undefined {
  if (!isRecord(secret)) return undefined;
  const headers = Object.entries(secret).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  if (headers.length === 0) return undefined;
  return async (request) => {
    for (const [name, value] of headers) setHeader(request.headers, name, value);
  };
}

function setBearer(request: PreparedRequest, token: string): void {
  setHeader(request.headers, "authorization", `Bearer ${token.replace(/^bearer\s+/i, "")}`);
}

/** Overrides a parameter with the same name. */
function setKey(request: PreparedRequest, scheme: SchemePlan & { kind: "apiKey" }, key: string): void {
  if (scheme.in === "header") {
    setHeader(request.headers, scheme.parameter, key);
    return;
  }
  const name = encodeText(scheme.parameter);
  const pairs = scheme.in === "query" ? request.query : request.cookies;
  const others = pairs.filter((pair) => pair.split("=", 1)[0] !== name);
  pairs.splice(0, pairs.length, ...others, `${name}=${encodeText(key)}`);
}

function refuse(serviceId: string, schemes: SchemePlan[], security: SecurityPlan): CallError {
  const alternatives = security.map((needed) =>
    needed
      .map(({ scheme }) => {
        const plan = schemes.find(({ name }) => name === scheme);
        if (plan === undefined) return `${scheme} (which the document does not define)`;
        return plan.kind === "unsupported" ? `${scheme} (${plan.what}, which is not supported)` : scheme;
      })
      .join(" and "),
  );
  return new CallError(
    "no_credentials",
    `The operation needs credentials that are not set: ${alternatives.join(", or ")}. Set them with PATCH /services/${serviceId}/secrets.`,
  );
}
