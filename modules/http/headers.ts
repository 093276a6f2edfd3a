/** Which headers a request may have: those of the rule, and of the script those that decide nothing for it. */

export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** As RFC 9110 has it, without what would be another line. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whom a request is for and from, and where it ends: decided by the URL, the rule and the connection. */
const RESERVED = new Set([
  "authorization",
  "connection",
  "content-length",
  "cookie",
  "cookie2",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
  // What servers take for another method, host or path than that of the request.
  "forwarded",
  "x-host",
  "x-http-host-override",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "x-original-host",
  "x-original-method",
  "x-original-uri",
  "x-original-url",
  "x-real-ip",
  "x-rewrite-uri",
  "x-rewrite-url",
]);
const RESERVED_PREFIXES = ["proxy-", "sec-", "x-forwarded-"];

/** Servers that make variables of headers take `_` for `-`. */
export function isReservedHeader(name: string): boolean {
  const key = name.toLowerCase().replaceAll("_", "-");
  return RESERVED.has(key) || RESERVED_PREFIXES.some((prefix) => key.startsWith(prefix));
}

/** A sentence about a header that cannot be sent, without its value; null: it can. */
export function findHeaderProblem(name: string, value: string): string | null {
  if (!HEADER_NAME.test(name)) return `${JSON.stringify(name.slice(0, 100))} is not the name of a header.`;
  if (isReservedHeader(name)) {
    return `the header ${name} cannot be set: credentials are those of the rule, and who is called is decided by the URL.`;
  }
  if (HEADER_VALUE.test(value)) return null;
  return `the value of the header ${name} holds a character that headers cannot hold (a line break, say).`;
}

/** Of the connection, not of the answer (RFC 9110, 7.6.1), and what a script has no use for: it cannot send cookies. */
const NOT_SHOWN = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authentication-info",
  "proxy-connection",
  "set-cookie",
  "set-cookie2",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

export function listShownHeaders(headers: Headers): [string, string][] {
  const named = (headers.get("connection") ?? "").toLowerCase().split(",");
  const left = new Set(named.map((name) => name.trim()));
  return [...headers].filter(([name]) => !NOT_SHOWN.has(name) && !left.has(name));
}
