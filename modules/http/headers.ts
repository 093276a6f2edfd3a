/** Decides which headers a script may send, and which headers of a response it sees. */

export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110 field value without line breaks. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Set by the URL, the rule and the connection: they identify the caller and server, and where a message ends. */
const RESERVED = new Set([
  // Redaction works only on codings that the host can decode.
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
  // CGI programs see this header as the variable HTTP_PROXY.
  "proxy",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
  // Servers read these as another method, host or path.
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

/**
 * Tell a server behind a proxy who the client is, or that the proxy has checked the request. Rules may send these
 * headers, scripts may not.
 */
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
/**
 * Headers that could make a server repeat a credential in a form that redaction misses: split, or encoded
 * differently.
 */
const OF_FORM = new Set(["a-im", "accept-charset", "if-range", "range"]);

/** Servers that turn headers into variables treat `_` as `-`, and some of them any other character too. */
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

export function findScriptHeaderProblem(name: string, value: string, hasCredential: boolean): string | null {
  if (isAmong(name, OF_PROXIES, PREFIXES_OF_PROXIES)) {
    return `the header ${name} cannot be set by a script: it may tell a server who asks. Add it to the headers of the rule instead.`;
  }
  if (hasCredential && isAmong(name, OF_FORM, [])) {
    return `the header ${name} cannot be set, because the rule sends a credential that must be found in answers.`;
  }
  return findHeaderProblem(name, value);
}

/** Returns why a header cannot be sent, without quoting its value, or null. */
export function findHeaderProblem(name: string, value: string): string | null {
  if (!HEADER_NAME.test(name)) return `${JSON.stringify(name.slice(0, 100))} is not a header name.`;
  if (isReservedHeader(name)) {
    return `the header ${name} cannot be set: the rule sets credentials, the URL the host, and the server the connection.`;
  }
  if (HEADER_VALUE.test(value)) return null;
  return `the value of the header ${name} has a character that is not allowed in headers, such as a line break.`;
}

/** Connection headers (RFC 9110, 7.6.1), and cookies, which a script could not send back. */
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
