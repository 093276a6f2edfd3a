/** `node:url`: URL and URLSearchParams, paths of file URLs, and the legacy functions as far as URL supports them. */
const { URL, URLSearchParams } = globalThis;

interface Parts {
  protocol?: string | null;
  slashes?: boolean | null;
  auth?: string | null;
  host?: string | null;
  hostname?: string | null;
  port?: string | number | null;
  pathname?: string | null;
  search?: string | null;
  query?: string | Record<string, unknown> | null;
  hash?: string | null;
}

function fileURLToPath(url: string | URL): string {
  const { protocol, pathname, hostname } = new URL(url);
  if (protocol !== "file:") {
    throw Object.assign(new TypeError("The URL must be of scheme file"), { code: "ERR_INVALID_URL_SCHEME" });
  }
  if (hostname !== "" || /%2f/i.test(pathname)) {
    throw Object.assign(new TypeError("A file URL must not have a host or an encoded slash"), {
      code: "ERR_INVALID_FILE_URL_PATH",
    });
  }
  return decodeURIComponent(pathname);
}

function pathToFileURL(path: string): URL {
  const url = new URL("file:///");
  url.pathname = (path.startsWith("/") ? path : `/${path}`)
    .replaceAll("%", "%25")
    .replaceAll("\\", "%5C")
    .replaceAll("\n", "%0A")
    .replaceAll("\r", "%0D")
    .replaceAll("\t", "%09")
    .replaceAll("?", "%3F")
    .replaceAll("#", "%23");
  return url;
}

const PARTS = /^([a-z][a-z0-9.+-]*:)?(\/\/)?(?:([^/?#]*)@)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/i;

/** Legacy `url.parse`: splits a URL without validating or completing it. */
function parse(
  text: string,
  parsesQuery = false,
  slashesDenoteHost = false,
): Parts & { path: string | null; href: string } {
  const trimmed = text.trim();
  const hasHost = /^[a-z][a-z0-9.+-]*:\/\//i.test(trimmed) || (slashesDenoteHost && trimmed.startsWith("//"));
  const found = PARTS.exec(hasHost ? trimmed : trimmed.replace(/^([a-z][a-z0-9.+-]*:)?/i, "$1//")) ?? [];
  const [, protocol = null, , auth = null, host = null, path = null, search = null, hash = null] = found as (
    | string
    | undefined
  )[];
  const pathname = hasHost ? path || "/" : `${host ?? ""}${path ?? ""}` || null;
  const query = parsesQuery ? Object.fromEntries(groupQuery(search ?? "")) : (search?.slice(1) ?? null);
  const port = /:(\d*)$/.exec(hasHost ? (host ?? "") : "")?.[1] ?? null;
  const parts = {
    protocol: protocol?.toLowerCase() ?? null,
    slashes: hasHost || null,
    auth: auth === null ? null : decodeURIComponent(auth),
    host: hasHost ? (host?.toLowerCase() ?? null) : null,
    port,
    hostname: hasHost ? (host?.toLowerCase().replace(/:\d*$/, "") ?? null) : null,
    hash,
    search: parsesQuery ? (search ?? "") : search,
    query,
    pathname,
    path: pathname === null && search === null ? null : `${pathname ?? ""}${search ?? ""}`,
  };
  return { ...parts, href: format(parts) };
}

function groupQuery(search: string): Map<string, string | string[]> {
  const grouped = new Map<string, string | string[]>();
  for (const [key, value] of new URLSearchParams(search)) {
    const before = grouped.get(key);
    grouped.set(key, before === undefined ? value : [before, value].flat());
  }
  return grouped;
}

function format(parts: string | URL | Parts): string {
  if (typeof parts === "string") return parse(parts).href;
  if (parts instanceof URL) return parts.href;
  const { auth, hash, port, query, slashes } = parts;
  const protocol = parts.protocol ? `${parts.protocol}`.replace(/:?$/, ":") : "";
  const host = parts.host ?? (parts.hostname ? `${parts.hostname}${port ? `:${port}` : ""}` : "");
  const start = slashes || (/^(?:https?|ftp|file|wss?):$/.test(protocol) && host !== "") ? "//" : "";
  const asked = typeof query === "object" && query !== null ? encodeQuery(query) : "";
  const search = parts.search || asked;
  const mark = (text: string, sign: string) => (text === "" || text.startsWith(sign) ? text : sign + text);
  const before = auth ? `${encodeURIComponent(auth).replace("%3A", ":")}@` : "";
  return `${protocol}${start}${host === "" ? "" : before + host}${parts.pathname ?? ""}${mark(search, "?")}${mark(hash ?? "", "#")}`;
}

function encodeQuery(query: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    for (const one of [value].flat()) params.append(key, String(one ?? ""));
  return params.toString();
}

function resolve(from: string, to: string): string {
  const base = new URL(from, "resolve://host/");
  const url = new URL(to, base);
  if (url.protocol !== "resolve:") return url.href;
  const { pathname, search, hash } = url;
  return (from.startsWith("/") || to.startsWith("/") ? pathname : pathname.slice(1)) + search + hash;
}

function urlToHttpOptions(url: URL): object {
  const { protocol, hostname, hash, search, pathname, href, port, username, password } = url;
  return {
    protocol,
    hostname: hostname.replace(/^\[|\]$/g, ""),
    hash,
    search,
    pathname,
    path: `${pathname}${search}`,
    href,
    ...(port !== "" && { port: Number(port) }),
    ...((username || password) && {
      auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}`,
    }),
  };
}

const hostOf = (domain: string): string => {
  try {
    return new URL(`ws://${domain}`).hostname;
  } catch {
    return "";
  }
};

export const url = {
  URL,
  URLSearchParams,
  fileURLToPath,
  pathToFileURL,
  parse,
  format,
  resolve,
  urlToHttpOptions,
  domainToASCII: hostOf,
};
