/**
 * Which requests of `fetch` a tool is for. A URL is read here once; what was checked is the text that is sent. Refuses what
 * servers read in more than one way, so that no path of a request leads elsewhere than its text says.
 */
import type { FetchScope } from "#sdk";

const MAX_URL_CHARACTERS = 16_384;
const MAX_DECODINGS = 4;
/** The first bytes of overlong UTF-8, which some servers read as ASCII: `%c0%ae` is a dot to them. */
const OVERLONG = /[\xc0\xc1]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]/;
const CONTROL = /\p{Cc}/u;
/** Dots alone, also where a server drops what stands around them. */
const DOTS = /^\s*\.[.\s]*$/;
/** Slashes, and what code pages of Windows make one. */
const SLASHES = /[/\\\u2044\u2215\u2216]/;
/** Where a server that decodes a path may see its end, or that of a segment. */
const ENDS = /[;?#]/;

export type ReadUrl = { url: URL } | { problem: string };

/** The URL without its fragment; `problem` completes "the URL …". */
export function readRequestUrl(text: string): ReadUrl {
  if (text.length > MAX_URL_CHARACTERS) return { problem: `has more than ${MAX_URL_CHARACTERS} characters` };
  // The parser drops tabs and line breaks, and takes a backslash for a slash.
  if (/[\p{Cc} \\]/u.test(text)) {
    return { problem: "holds a space, a control character or a backslash; percent-encode it" };
  }
  const url = URL.parse(text);
  if (url === null) return { problem: "is no absolute URL" };
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return { problem: `has the scheme ${url.protocol.slice(0, 50)} Only https: and http: are sent` };
  }
  if (url.username !== "" || url.password !== "") return { problem: "holds a user name or a password" };
  if (url.hostname.endsWith(".")) return { problem: "has a host name that ends with a dot" };
  url.hash = "";
  const problem = findPathProblem(url.pathname);
  return problem === null ? { url } : { problem };
}

/**
 * What a server could make of a path by decoding it again, dropping what follows `;`, `?` or `#` in a segment, or reading `\` as
 * `/`. Null: no segment of it leads upwards, in any of these ways.
 */
export function findPathProblem(path: string): string | null {
  let text = path;
  for (let round = 0; round <= MAX_DECODINGS; round += 1) {
    if (CONTROL.test(text)) return "has an encoded control character in its path";
    const segments = text.normalize("NFKC").split(SLASHES);
    if (segments.some((segment) => DOTS.test(segment.split(ENDS, 1)[0] as string))) {
      return "has a path that could lead to another one: a segment of dots, as it is or encoded";
    }
    const decoded = decode(text);
    if (decoded === null) return "has bytes in its path that are not valid UTF-8";
    if (decoded === text) return null;
    text = decoded;
  }
  return `has a path that is percent-encoded more than ${MAX_DECODINGS} times`;
}

/** `%2e` and `%u002e` are one byte, `%uff0e` a character. Null: overlong UTF-8. */
function decode(text: string): string | null {
  const bytes = Buffer.from(
    Buffer.from(text)
      .toString("latin1")
      .replace(
        /%(?:u00)?([0-9a-f]{2})|%u([0-9a-f]{4})/gi,
        (_found, byte: string | undefined, wide: string) =>
          byte === undefined
            ? Buffer.from(String.fromCharCode(Number.parseInt(wide, 16))).toString("latin1")
            : String.fromCharCode(Number.parseInt(byte, 16)),
      ),
    "latin1",
  );
  return OVERLONG.test(bytes.toString("latin1")) ? null : bytes.toString();
}

/** The first part of a request that a scope is not for. */
export type Misfit = "origin" | "path" | "method";

/** Null: the scope is for the request. `url` is of `readRequestUrl`; `method` is in capitals. */
export function findMisfit(scope: FetchScope, url: URL, method: string): Misfit | null {
  if (!scope.origins.includes(url.origin)) return "origin";
  if (!isBelow(url.pathname, scope.pathPrefix)) return "path";
  return scope.methods.includes(method) ? null : "method";
}

/**
 * One text for all paths that servers may take for the same: decoded as often as it can be, in lower case, without empty segments, without
 * what follows `;`, `?` or `#` in a segment, or dots and spaces at its end. It says what may lie below a prefix, never what does.
 */
export function foldPath(path: string): string {
  let text = path;
  for (let round = 0; round <= MAX_DECODINGS; round += 1) text = decode(text) ?? text;
  const segments = text.normalize("NFKC").toLowerCase().split(SLASHES);
  const plain = segments.map((segment) => (segment.split(ENDS, 1)[0] as string).replace(/^\s+|[.\s]+$/g, ""));
  return `/${plain.filter((segment) => segment !== "").join("/")}`;
}

/** Whether a path begins with the prefix, at the end of a segment. */
export function isBelow(path: string, prefix: string): boolean {
  if (!path.startsWith(prefix)) return false;
  return prefix.endsWith("/") || path.length === prefix.length || path[prefix.length] === "/";
}
