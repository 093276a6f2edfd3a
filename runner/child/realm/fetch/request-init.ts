import { isToken } from "./headers.ts";
import type { FetchHost } from "./host.ts";
import { toDictionary, toEnum, toUSVString } from "./interfaces.ts";

const REFERRER_POLICIES = [
  "",
  "no-referrer",
  "no-referrer-when-downgrade",
  "same-origin",
  "origin",
  "strict-origin",
  "origin-when-cross-origin",
  "strict-origin-when-cross-origin",
  "unsafe-url",
] as const;
const MODES = ["navigate", "same-origin", "no-cors", "cors"] as const;
const CREDENTIALS = ["omit", "same-origin", "include"] as const;
const CACHES = ["default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached"] as const;
const REDIRECTS = ["follow", "error", "manual"] as const;
const NORMALIZED = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];
const FORBIDDEN_METHODS = ["CONNECT", "TRACE", "TRACK"];

export interface Parts {
  url: URL;
  method: string;
  referrer: string;
  referrerPolicy: string;
  mode: string;
  credentials: string;
  cache: string;
  redirect: (typeof REDIRECTS)[number];
  integrity: string;
  keepalive: boolean;
}

interface Init extends Partial<Omit<Parts, "url">> {
  isGiven: boolean;
  body?: unknown;
  duplex?: "half";
  headers?: unknown;
  signal?: AbortSignal | null;
}

type Convert = (value: unknown, host: FetchHost) => unknown;
const asIs: Convert = (value) => value;
const oneOf =
  (allowed: readonly string[], what: string): Convert =>
  (value) =>
    toEnum(value, allowed, what);
const asText: Convert = (value) => `${value as string}`;

/** Conversions of `RequestInit` members. Their order matters: scripts can observe it through getters. */
const CONVERSIONS: readonly (readonly [name: string, convert: Convert])[] = [
  ["body", asIs],
  ["cache", oneOf(CACHES, "cache")],
  ["credentials", oneOf(CREDENTIALS, "credentials")],
  ["duplex", oneOf(["half"], "duplex")],
  ["headers", asIs],
  ["integrity", asText],
  ["keepalive", Boolean],
  ["method", asText],
  ["mode", oneOf(MODES, "mode")],
  ["priority", oneOf(["high", "low", "auto"], "priority")],
  ["redirect", oneOf(REDIRECTS, "redirect")],
  ["referrer", toUSVString],
  ["referrerPolicy", oneOf(REFERRER_POLICIES, "referrerPolicy")],
  ["signal", (value, host) => toSignal(host, value)],
  ["window", requireNoWindow],
];

export function readInit(host: FetchHost, given: unknown): Init {
  const init = toDictionary(given, "RequestInit");
  const read: Record<string, unknown> = {};
  for (const [name, convert] of CONVERSIONS) {
    const value = init[name];
    if (value !== undefined) read[name] = convert(value, host);
  }
  return { ...read, isGiven: Object.keys(read).length > 0 };
}

function requireNoWindow(value: unknown): void {
  if (value !== null) throw new TypeError("RequestInit.window can only be null.");
}

function toSignal(host: FetchHost, value: unknown): AbortSignal | null {
  if (value === null || host.isSignal(value)) return value;
  throw new TypeError("RequestInit.signal expects an AbortSignal.");
}

export function createParts(host: FetchHost, address: string): Parts {
  const url = parseUrl(host, address);
  if (url.username !== "" || url.password !== "") {
    throw new TypeError(
      `Request cannot be constructed from a URL that includes credentials: ${url.origin}${url.pathname}. The service adds its credentials.`,
    );
  }
  return {
    url,
    method: "GET",
    referrer: "about:client",
    referrerPolicy: "",
    mode: "cors",
    credentials: "same-origin",
    cache: "default",
    redirect: "follow",
    integrity: "",
    keepalive: false,
  };
}

/** @throws TypeError for a relative URL, because scripts have no document */
export function parseUrl(host: FetchHost, address: string): URL {
  const { URL } = host.loadUrl();
  try {
    return new URL(address);
  } catch (cause) {
    throw new TypeError(`Failed to parse URL from ${address.slice(0, 500)}`, { cause });
  }
}

export function applyInit(host: FetchHost, parts: Parts, init: Init): void {
  const { referrer, method, mode } = init;
  if (mode === "navigate") throw new TypeError("Request constructor: invalid request mode navigate.");
  const kept = [
    "mode",
    "referrerPolicy",
    "credentials",
    "cache",
    "redirect",
    "integrity",
    "keepalive",
  ] as const;
  for (const key of kept) if (init[key] !== undefined) Object.assign(parts, { [key]: init[key] });
  if (referrer !== undefined) parts.referrer = toReferrer(host, referrer);
  if (parts.cache === "only-if-cached" && parts.mode !== "same-origin") {
    throw new TypeError("'only-if-cached' can be set only with 'same-origin' mode");
  }
  if (method !== undefined) parts.method = toMethod(method);
  if (parts.mode === "no-cors" && !["GET", "HEAD", "POST"].includes(parts.method)) {
    throw new TypeError(`'${parts.method}' is unsupported in no-cors mode.`);
  }
}

function toMethod(method: string): string {
  const upper = method.toUpperCase();
  if (!isToken(method)) throw new TypeError(`'${method.slice(0, 200)}' is not a valid HTTP method.`);
  if (FORBIDDEN_METHODS.includes(upper)) throw new TypeError(`'${method}' HTTP method is unsupported.`);
  return NORMALIZED.includes(upper) ? upper : method;
}

function toReferrer(host: FetchHost, referrer: string): string {
  if (referrer === "") return "no-referrer";
  const { protocol, pathname, href } = parseUrl(host, referrer);
  return protocol === "about:" && pathname === "client" ? "about:client" : href;
}
