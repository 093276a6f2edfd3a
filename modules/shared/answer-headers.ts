/** Headers that belong to the connection, not to the response: RFC 9110, 7.6.1. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authentication-info",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

export function readHeaders(headers: Headers): Record<string, string> {
  const read = new Map<string, string>();
  const named = (headers.get("connection") ?? "").toLowerCase().split(",");
  const left = new Set([...HOP_BY_HOP, ...named.map((name) => name.trim())]);
  for (const [name, value] of headers) {
    if (left.has(name)) continue;
    const before = read.get(name);
    read.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(read);
}
