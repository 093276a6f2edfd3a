/** Why a test of the web-platform tests is left out: the first that fits its file, its name or what it fails by. */
const REASONS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/XMLHttpRequest is not defined/, "needs XMLHttpRequest"],
  [/MessageChannel is not defined/, "needs MessageChannel"],
  [/caches is not defined|cache\.https/, "needs the caches of a browser"],
  [/createObjectURL|scheme-blob/, "there are no addresses with blob:"],
  [/found data:|scheme-data/, "fetch takes addresses with http: and https:"],
  [/keepalive\.any/, "nothing outlives a run"],
  [/Adding invalid request header/, "what a script may not send is refused by fetch, not dropped by Request"],
  [
    /Set-Cookie is a forbidden response header/,
    "a response that a script makes keeps Set-Cookie, as in Node",
  ],
  [/headers-no-cors|mode-no-cors|mode-same-origin/, "modes are for browsers, which have an origin"],
  [
    /only a getter|idx is not defined|forbiddenMethod is not/,
    "the test is no strict code, which every script is",
  ],
  [/with-broken-then/, "a script that changes Object.prototype changes what it reads itself"],
  [/request-cache-/, "there is no cache of responses"],
  [/request-bad-port/, "which ports can be reached is for the host to decide"],
  [/empty FormData .* body as text/, "a form without entries is its last boundary, as in Node"],
  [/request-disturbed/, "a body that is replaced stays unread, as in Node"],
  [/Extract a MIME type with clone/, "the test gives its headers to the Blob"],
  [/accept-header|user-agent|referrer|referer/i, "which headers are added is for the host to decide"],
  [/get_host_info|\{\{|\.sub\./, "needs the host names of the tests' own server"],
  [/\.py|\.h2\.|pipe=|RESOURCES_DIR|resources\//, "needs a program of the tests' own server"],
];

/** `about`: all there is to know of it, as text. */
export function findReason(about: string): string | null {
  return REASONS.find(([pattern]) => pattern.test(about))?.[1] ?? null;
}

/** Why no file of a folder of fetch/api is taken. */
export const FOLDER_REASONS: Readonly<Record<string, string>> = {
  "fetch/api/cors": "there is no CORS: a script has no origin, and rules say what it may reach",
  "fetch/api/crashtests": "they are documents that a browser must survive",
  "fetch/api/credentials": "a script has no cookies and no passwords: rules attach what a server asks for",
  "fetch/api/policies": "policies of referrers and of contents come with documents, which a script is not in",
  "fetch/api/redirect":
    "the host follows redirects, as the rule says; they need programs and host names of the tests' own server",
  "fetch/api/resources": "it has no tests, but what those of the other folders name",
};
