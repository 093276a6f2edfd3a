/** Which requests a rule is for: no accepted path leads out of the rule's, however a server reads it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  findMismatch,
  findPathProblem,
  foldPath,
  isBelow,
  readRequestUrl,
} from "#modules/shared/fetch-scope.ts";

const SCOPE = { origins: ["https://api.example.com"], pathPrefix: "/v1/open", methods: ["GET"] };
const RUNS = { numRuns: 20_000 };

const isAllowed = (text: string, method = "GET") => {
  const read = readRequestUrl(text);
  return "url" in read && findMismatch(SCOPE, read.url, method) === null;
};

/** What servers, and what stands before them, make of a path. */
const decode = (path: string) =>
  Buffer.from(
    path.replace(/%([0-9a-f]{2})|%u([0-9a-f]{4})/gi, (_all, plain, wide) =>
      plain === undefined
        ? Buffer.from(String.fromCharCode(Number.parseInt(wide, 16))).toString("latin1")
        : String.fromCharCode(Number.parseInt(plain, 16)),
    ),
    "latin1",
  ).toString();
/** Overlong forms of ASCII, as decoders without a check read them. */
const decodeLoosely = (path: string) =>
  decode(
    path
      .replace(/%c0%([a-b][0-9a-f])/gi, (_all, low) => String.fromCharCode(Number.parseInt(low, 16) & 0x3f))
      .replace(/%e0%80%([a-b][0-9a-f])/gi, (_all, low) =>
        String.fromCharCode(Number.parseInt(low, 16) & 0x3f),
      ),
  );
const READINGS: Record<string, (path: string) => string> = {
  asIs: (path) => path,
  once: decode,
  twice: (path) => decode(decode(path)),
  thrice: (path) => decode(decode(decode(path))),
  loosely: (path) => decodeLoosely(decodeLoosely(path)),
  backslashes: (path) => decode(path).replaceAll("\\", "/"),
  parameters: (path) => decode(path).replace(/;[^/]*/g, ""),
  parametersFirst: (path) => decode(path.replace(/;[^/]*/g, "")),
  merged: (path) => decode(path).replace(/\/+/g, "/"),
  trimmed: (path) =>
    decode(path)
      .split("/")
      .map((segment) => segment.replace(/[\s\0]+$/, ""))
      .join("/"),
  compatible: (path) => decode(path).normalize("NFKC").replaceAll("\\", "/"),
  bestFit: (path) =>
    decode(path)
      .normalize("NFKC")
      .replace(/[\u2044\u2215]/g, "/")
      .replace(/[\\\u2216]/g, "/"),
  cut: (path) => decode(path).split("\0", 1)[0] as string,
  query: (path) => decode(path).split("?", 1)[0] as string,
  fragment: (path) => decode(decode(path)).split("#", 1)[0] as string,
};

function resolveDots(path: string): string {
  const left: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") left.pop();
    else if (segment !== ".") left.push(segment);
  }
  return left.join("/");
}

const PIECES =
  "/ // \\ . .. ... %2e %2E %2e%2e %252e %25252e %2f %5c %252f ; ;a=b ..; %3b a v1 open %00 %20 %09 %c0%ae %e0%80%ae %u002e %uff0e %u2025 %uff0f %u2215 %u003f %3f %253f %23 %2523 %ef%bc%8e ． ․ ‥ ／ ＼ ? # @ : % %25 %zz é \t \n +".split(
    " ",
  );
const piece = fc.constantFrom(...PIECES, " ");
const tail = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));

describe("a path", () => {
  test("that is allowed begins with the rule's, in every reading", () => {
    let allowed = 0;
    fc.assert(
      fc.property(fc.constantFrom("/v1/open", "/v1/open/", "/v1/", "/"), tail, (start, rest) => {
        const text = `https://api.example.com${start}${rest}`;
        if (!isAllowed(text)) return;
        allowed += 1;
        const { pathname } = new URL(text);
        for (const [name, read] of Object.entries(READINGS)) {
          const seen = resolveDots(read(pathname));
          expect(/^\/v1\/open(\/|;|$)/.test(seen), `${name}: ${text} is read as ${seen}`).toBe(true);
        }
      }),
      RUNS,
    );
    expect(allowed).toBeGreaterThan(200);
  });

  test("that a server may read as one below a prefix is folded to one below it", () => {
    let below = 0;
    fc.assert(
      fc.property(fc.constantFrom("/v1/open", "/%76%31/OPEN", "//v1;a/open ", "/"), tail, (start, rest) => {
        const read = readRequestUrl(`https://api.example.com${start.replaceAll(" ", "%20")}${rest}`);
        if ("problem" in read) return;
        const { pathname } = read.url;
        const seen = Object.values(READINGS).some((reading) =>
          /^\/v1\/open(\/|;|$)/i.test(resolveDots(reading(pathname))),
        );
        if (!seen) return;
        below += 1;
        expect(isBelow(foldPath(pathname), foldPath("/v1/open/")), pathname).toBe(true);
      }),
      RUNS,
    );
    expect(below).toBeGreaterThan(200);
  });

  test("of any text is read without an error, and the same when it is read again", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), tail), (text) => {
        const whole = `https://api.example.com/${text}`;
        const read = readRequestUrl(whole);
        if ("problem" in read) return;
        expect(read.url.hash).toBe("");
        const again = readRequestUrl(read.url.href);
        expect("url" in again && again.url.href).toBe(read.url.href);
      }),
      RUNS,
    );
  });

  test("of ordinary names is allowed", () => {
    const name = fc.stringMatching(/^[A-Za-z0-9_~-][A-Za-z0-9_~.-]{0,10}$/);
    fc.assert(
      fc.property(fc.array(name, { maxLength: 5 }), fc.webQueryParameters(), (names, query) => {
        const text = `https://api.example.com/v1/open/${names.join("/")}?${query}`;
        expect(isAllowed(text), text).toBe(true);
      }),
      { numRuns: 5000 },
    );
    for (const path of [
      "",
      "/",
      "/a%2Fb",
      "/a;b=c",
      "/a%20b",
      "/grüße",
      "/100%25",
      "/.hidden",
      "/a..b",
      "/…x",
    ]) {
      expect(findPathProblem(`/v1/open${path}`), path).toBeNull();
    }
  });
});

test("an origin that is allowed is the rule's, whatever stands in the URL", () => {
  const part = fc.constantFrom(
    ..."https:// http:// https:\\\\ // api.example.com API.EXAMPLE.COM evil.example @ : :443 :8443 u:p@ . .. # ? / \\ api。example。com xn-- %2e %40 \u00ad \u200b 127.1 [::1] api.example.com.".split(
      " ",
    ),
  );
  let allowed = 0;
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
      const text = `${parts.join("")}/v1/open`;
      if (!isAllowed(text)) return;
      allowed += 1;
      const { protocol, host, username, password } = new URL(text);
      expect([protocol, host, username, password]).toEqual(["https:", "api.example.com", "", ""]);
    }),
    RUNS,
  );
  expect(allowed).toBeGreaterThan(10);
});

test.each(["get", "POST", "GET ", "", "G\u200bET"])("the method %j is not GET", (method) => {
  expect(isAllowed("https://api.example.com/v1/open", method)).toBe(false);
});
