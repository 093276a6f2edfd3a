/**
 * Matches `fetch` requests with tool scopes. A URL is parsed once here, and exactly the checked text is sent. Rejects
 * URLs that servers interpret in more than one way, so that no request reaches a path other than the one it names.
 */
import type { FetchScope } from "#sdk";

const MAX_URL_CHARACTERS = 16_384;
const MAX_DECODINGS = 4;
/** First bytes of overlong UTF-8, which some servers read as ASCII: they take `%c0%ae` for a dot. */
const OVERLONG = /[\xc0\xc1]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]/;
const CONTROL = /\p{Cc}/u;
/** A segment of only dots, even if a server drops the spaces around them. */
const DOTS = /^\s*\.[.\s]*$/;
/** Slashes, and characters that Windows code pages map to one. */
const SLASHES = /[/\\\u2044\u2215\u2216]/;
/** Characters at which a server that decodes a path may end it, or a segment. */
const ENDS = /[;?#]/;

export type ReadUrl = { url: URL } | { problem: string };

/** Returns the URL without its fragment. `problem` completes "the URL …". */
export function readRequestUrl(text: string): ReadUrl {
  if (text.length > MAX_URL_CHARACTERS) return { problem: `has more than ${MAX_URL_CHARACTERS} characters` };
  // The URL parser drops tabs and line breaks, and takes a backslash for a slash.
  if (/[\p{Cc} \\]/u.test(text)) {
    return { problem: "contains a space, a control character or a backslash; percent-encode it" };
  }
  const url = URL.parse(text);
  if (url === null) return { problem: "is not an absolute URL" };
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return { problem: `has the scheme ${url.protocol.slice(0, 50)} (expected https: or http:)` };
  }
  if (url.username !== "" || url.password !== "") return { problem: "contains a user name or a password" };
  if (url.hostname.endsWith(".")) return { problem: "has a host name that ends with a dot" };
  url.hash = "";
  const problem = findPathProblem(url.pathname);
  return problem === null ? { url } : { problem };
}

/**
 * Returns how a server could leave the path: by decoding it again, by dropping what follows `;`, `?` or `#` in a
 * segment, or by reading `\` as `/`. Returns null if no segment leads upwards in any of these ways.
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

/** Decodes `%2e` and `%u002e` as one byte, `%uff0e` as a character. Returns null for overlong UTF-8. */
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

export type Mismatch = "origin" | "path" | "method";

/** Returns null if the scope allows the request. `url` comes from `readRequestUrl`; `method` is in capitals. */
export function findMismatch(scope: FetchScope, url: URL, method: string): Mismatch | null {
  if (!scope.origins.includes(url.origin)) return "origin";
  if (!isBelow(url.pathname, scope.pathPrefix)) return "path";
  return scope.methods.includes(method) ? null : "method";
}

/**
 * Returns the same text for all paths that servers may treat alike: fully decoded, in lower case, without empty
 * segments, without what follows `;`, `?` or `#` in a segment, and without dots and spaces at a segment's end. Use it
 * to find what may be below a prefix, never to prove it.
 */
export function foldPath(path: string): string {
  let text = path;
  for (let round = 0; round <= MAX_DECODINGS; round += 1) text = decode(text) ?? text;
  const segments = text.normalize("NFKC").toLowerCase().split(SLASHES);
  const plain = segments.map((segment) => (segment.split(ENDS, 1)[0] as string).replace(/^\s+|[.\s]+$/g, ""));
  return `/${plain.filter((segment) => segment !== "").join("/")}`;
}

/** Returns whether the prefix ends at a segment of the path. */
export function isBelow(path: string, prefix: string): boolean {
  if (!path.startsWith(prefix)) return false;
  return prefix.endsWith("/") || path.length === prefix.length || path[prefix.length] === "/";
}
