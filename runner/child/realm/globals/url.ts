/** `URL` and `URLSearchParams` of whatwg-url, inspected as in Node. Loaded on first use. */
import { URL, URLSearchParams } from "whatwg-url";

type Inspect = (value: unknown, options: object) => string;

const CUSTOM = Symbol.for("nodejs.util.inspect.custom");
const FIELDS = [
  "href",
  "origin",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "searchParams",
  "hash",
] as const;

function define(
  target: object,
  show: (this: never, depth: number, options: object, inspect: Inspect) => string,
): void {
  Object.defineProperty(target, CUSTOM, { value: show, configurable: true, writable: true });
}

define(URL.prototype, function (this: URL, depth, options, inspect) {
  if (depth < 0) return "[URL]";
  const fields = Object.fromEntries(FIELDS.map((key) => [key, this[key]]));
  return `URL ${inspect(fields, options)}`;
});

define(URLSearchParams.prototype, function (this: URLSearchParams, depth, options, inspect) {
  if (depth < 0) return "[URLSearchParams]";
  const pairs = [...this].map(([key, value]) => `${inspect(key, options)} => ${inspect(value, options)}`);
  return pairs.length === 0 ? "URLSearchParams {}" : `URLSearchParams { ${pairs.join(", ")} }`;
});

export { URL, URLSearchParams };
