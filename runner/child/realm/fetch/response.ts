import type { Bodies, Body } from "./body.ts";
import { fill, guardHeaders, Headers, listOf } from "./headers.ts";
import type { FetchHost } from "./host.ts";
import { finishClass, needArguments, showAs, toByteString, toDictionary, toUSVString } from "./interfaces.ts";
import { parseUrl } from "./request-init.ts";

export const NULL_BODY_STATUS = [101, 103, 204, 205, 304];
const REDIRECT_STATUS = [301, 302, 303, 307, 308];
const REASON = /^[\t\x20-\x7e\x80-\xff]*$/;

interface Parts {
  type: "default" | "basic" | "error";
  status: number;
  statusText: string;
  url: string;
  redirected: boolean;
  headers: Headers;
  body: Body | null;
}

export function createResponse(host: FetchHost, bodies: Bodies) {
  let partsOf: (response: Response) => Parts;
  let makeResponse: (parts: Partial<Parts>) => Response;

  class Response {
    #parts: Parts = {
      type: "default",
      status: 200,
      statusText: "",
      url: "",
      redirected: false,
      headers: new Headers(),
      body: null,
    };

    static {
      partsOf = (response) => response.#parts;
      makeResponse = (parts) => {
        const response = new Response();
        Object.assign(response.#parts, parts);
        return response;
      };
    }

    static error(): Response {
      const response = makeResponse({ type: "error", status: 0 });
      guardHeaders(response.headers);
      return response;
    }

    static json(data: unknown, init: unknown = {}): Response {
      needArguments(arguments.length, 1, "Response.json");
      const text = JSON.stringify(data);
      if (text === undefined) throw new TypeError("The value is not JSON serializable");
      const response = new Response();
      initialize(response.#parts, init, {
        body: bodies.makeBody(text.toWellFormed()),
        type: "application/json",
      });
      return response;
    }

    static redirect(url: unknown, status: unknown = 302): Response {
      needArguments(arguments.length, 1, "Response.redirect");
      const { href } = parseUrl(host, toUSVString(url));
      const code = toStatus(status);
      if (!REDIRECT_STATUS.includes(code)) throw new RangeError(`Invalid status code ${code}`);
      const headers = new Headers([["location", href]]);
      guardHeaders(headers);
      return makeResponse({ status: code, headers });
    }

    constructor(body: unknown = null, init: unknown = {}) {
      const extracted = body === null || body === undefined ? null : bodies.extract(body);
      initialize(this.#parts, init, extracted);
    }

    get type(): string {
      return this.#parts.type;
    }

    get url(): string {
      return this.#parts.url;
    }

    get redirected(): boolean {
      return this.#parts.redirected;
    }

    get status(): number {
      return this.#parts.status;
    }

    get ok(): boolean {
      return this.#parts.status >= 200 && this.#parts.status <= 299;
    }

    get statusText(): string {
      return this.#parts.statusText;
    }

    get headers(): Headers {
      return this.#parts.headers;
    }

    clone(): Response {
      const { headers: own, body, ...rest } = this.#parts;
      const headers = new Headers(listOf(own));
      if (rest.type !== "default") guardHeaders(headers);
      return makeResponse({ ...rest, headers, body: body && bodies.clone(body) });
    }
  }

  function initialize(
    parts: Parts,
    given: unknown,
    extracted: { body: Body; type: string | null } | null,
  ): void {
    const { headers, status = 200, statusText = "" } = toDictionary(given, "ResponseInit");
    const code = toStatus(status);
    const reason = toByteString(statusText, "statusText");
    if (code < 200 || code > 599) {
      throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
    }
    if (!REASON.test(reason)) throw new TypeError("Invalid statusText");
    parts.status = code;
    parts.statusText = reason;
    if (headers !== undefined) fill(parts.headers, headers);
    if (extracted === null) return;
    if (NULL_BODY_STATUS.includes(code))
      throw new TypeError(`Response with status ${code} cannot have a body.`);
    parts.body = extracted.body;
    if (extracted.type !== null && !parts.headers.has("content-type")) {
      parts.headers.append("content-type", extracted.type);
    }
  }

  bodies.addMembers(Response, (response) => partsOf(response).body);
  finishClass(Response, "Response");
  showAs(Response, "Response", (response) => {
    const { status, statusText, headers, body, bodyUsed, ok, redirected, type, url } =
      response as unknown as globalThis.Response;
    return { status, statusText, headers, body, bodyUsed, ok, redirected, type, url };
  });

  // biome-ignore lint/style/noNonNullAssertion: set by the class.
  return { Response, makeResponse: makeResponse! };
}

/** Converts to an unsigned short, as Web IDL does. */
function toStatus(value: unknown): number {
  return Number(value) & 0xffff;
}
