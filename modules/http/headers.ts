/** Which headers a request may have: those of the rule, and of the script those that decide nothing for it. */

export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** As RFC 9110 has it, without what would be another line. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whom a request is for and from, and where it ends: decided by the URL, the rule and the connection. */
const RESERVED = new Set([
  // The host decodes what it asks for, and finds secrets in it.
  "accept-encoding",
  "authorization",
  "connection",
  "content-length",
  "cookie",
  "cookie2",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  // To CGI programs it is the variable HTTP_PROXY.
  "proxy",
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
]);
const RESERVED_PREFIXES = ["proxy-", "sec-", "x-forwarded", "x-rewrite-"];

/** By which servers behind a proxy know who asks, or that the proxy has checked it. A rule may send them, a script may not. */
const OF_PROXIES = new Set([
  "client-ip",
  "fastly-client-ip",
  "fly-client-ip",
  "forwarded-for",
  "true-client-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-originating-ip",
  "x-proxy-user",
  "x-sendfile-type",
  "x-true-client-ip",
]);
const PREFIXES_OF_PROXIES = [
  "cf-",
  "remote-",
  "ssl-client-",
  "tailscale-user-",
  "x-accel-",
  "x-amzn-oidc-",
  "x-appengine-",
  "x-auth-request-",
  "x-authenticated-",
  "x-azure-",
  "x-client-cert",
  "x-consumer-",
  "x-envoy-",
  "x-goog-authenticated-user-",
  "x-goog-iap-",
  "x-middleware-",
  "x-ms-client-principal",
  "x-original-",
  "x-pomerium-",
  "x-remote-",
  "x-ssl-",
  "x-vouch-",
  "x-webauth-",
];
/** By which a script could have a server repeat a credential in a form in which it is not found: cut up, or otherwise encoded. */
const OF_FORM = new Set(["a-im", "accept-charset", "if-range", "range"]);

/** Servers that make variables of headers take `_` for `-`, some of them every other character too. */
export function foldHeader(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "-");
}

export function isReservedHeader(name: string): boolean {
  return isAmong(name, RESERVED, RESERVED_PREFIXES);
}

function isAmong(name: string, names: ReadonlySet<string>, prefixes: readonly string[]): boolean {
  const key = foldHeader(name);
  return names.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
}

/** As `findHeaderProblem`, of a header that a script wants to send. */
export function findScriptHeaderProblem(name: string, value: string, hasCredential: boolean): string | null {
  if (isAmong(name, OF_PROXIES, PREFIXES_OF_PROXIES)) {
    return `the header ${name} cannot be set: by it a server may be told who asks. A rule may have it among its headers.`;
  }
  if (hasCredential && isAmong(name, OF_FORM, [])) {
    return `the header ${name} cannot be set where the rule sends a credential, which has to be found in answers.`;
  }
  return findHeaderProblem(name, value);
}

/** A sentence about a header that cannot be sent, without its value; null: it can. */
export function findHeaderProblem(name: string, value: string): string | null {
  if (!HEADER_NAME.test(name)) return `${JSON.stringify(name.slice(0, 100))} is not the name of a header.`;
  if (isReservedHeader(name)) {
    return `the header ${name} cannot be set: credentials are those of the rule, who is called is decided by the URL, and how by the server.`;
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
