/**
 * `Request` of the Fetch standard. Members that only matter in browsers (mode, credentials, cache) are stored but
 * have no effect.
 */
import type { Bodies, Body } from "./body.ts";
import { fill, Headers, listOf } from "./headers.ts";
import type { FetchHost } from "./host.ts";
import { finishClass, needArguments, showAs, toUSVString } from "./interfaces.ts";
import { applyInit, createParts, type Parts, readInit } from "./request-init.ts";

export function createRequest(host: FetchHost, bodies: Bodies) {
  let insideOf: (request: Request) => {
    parts: Parts;
    headers: Headers;
    body: Body | null;
    signals: AbortSignal[];
  };
  let isRequest: (value: unknown) => value is Request;
  /** Requests to copy. If a key is passed as `init`, the constructor uses its parts. */
  const copies = new WeakMap<object, ReturnType<typeof insideOf>>();

  class Request {
    #parts: Parts;
    #headers: Headers;
    #body: Body | null;
    #signals: AbortSignal[];
    #signal: AbortSignal | null = null;

    static {
      insideOf = (request) => ({
        parts: request.#parts,
        headers: request.#headers,
        body: request.#body,
        signals: request.#signal === null ? request.#signals : [request.#signal],
      });
      isRequest = (value): value is Request => typeof value === "object" && value !== null && #parts in value;
    }

    constructor(input: unknown, init: unknown = {}) {
      const copied = copies.get(init as object);
      if (copied !== undefined) {
        this.#parts = copied.parts;
        this.#headers = copied.headers;
        this.#body = copied.body;
        this.#signals = copied.signals;
        return;
      }
      needArguments(arguments.length, 1, "Request");
      const from = isRequest(input) ? insideOf(input) : null;
      const address = from === null ? toUSVString(input) : "";
      const read = readInit(host, init);
      const parts: Parts = from === null ? createParts(host, address) : { ...from.parts };
      if (read.isGiven && parts.mode === "navigate") parts.mode = "same-origin";
      if (read.isGiven) Object.assign(parts, { referrer: "about:client", referrerPolicy: "" });
      applyInit(host, parts, read);
      this.#parts = parts;
      this.#signals =
        read.signal === undefined ? (from?.signals ?? []) : read.signal === null ? [] : [read.signal];
      this.#headers = new Headers();
      if (read.headers !== undefined) fill(this.#headers, read.headers);
      else if (isRequest(input)) fill(this.#headers, listOf(input.#headers));
      const given = read.body ?? null;
      if ((given !== null || from?.body) && ["GET", "HEAD"].includes(parts.method)) {
        throw new TypeError("Request with GET/HEAD method cannot have body.");
      }
      if (given !== null) {
        const { body, type } = bodies.extract(given);
        if (type !== null && !this.#headers.has("content-type")) this.#headers.append("content-type", type);
        if (body.content === null && read.duplex === undefined) {
          throw new TypeError("RequestInit: duplex option is required when sending a body.");
        }
        if (body.content === null && parts.keepalive)
          throw new TypeError("keepalive: a stream cannot be kept alive.");
        this.#body = body;
      } else if (from?.body) {
        if (bodies.isUnusable(from.body)) {
          throw new TypeError("Cannot construct a Request with a Request object that has already been used.");
        }
        this.#body = bodies.passOn(from.body);
      } else this.#body = null;
    }

    get method(): string {
      return this.#parts.method;
    }

    get url(): string {
      return this.#parts.url.href;
    }

    get headers(): Headers {
      return this.#headers;
    }

    get destination(): string {
      this.#check();
      return "";
    }

    get referrer(): string {
      const { referrer } = this.#parts;
      return referrer === "no-referrer" ? "" : referrer;
    }

    get referrerPolicy(): string {
      return this.#parts.referrerPolicy;
    }

    get mode(): string {
      return this.#parts.mode;
    }

    get credentials(): string {
      return this.#parts.credentials;
    }

    get cache(): string {
      return this.#parts.cache;
    }

    get redirect(): string {
      return this.#parts.redirect;
    }

    get integrity(): string {
      return this.#parts.integrity;
    }

    get keepalive(): boolean {
      return this.#parts.keepalive;
    }

    get isReloadNavigation(): boolean {
      this.#check();
      return false;
    }

    get isHistoryNavigation(): boolean {
      this.#check();
      return false;
    }

    get duplex(): string {
      this.#check();
      return "half";
    }

    /** Created on demand: most requests need no signal. */
    get signal(): AbortSignal {
      this.#signal ??= host.loadAbort().AbortSignal.any(this.#signals);
      return this.#signal;
    }

    /** Throws a TypeError for another receiver. */
    #check(): void {}

    clone(): Request {
      if (this.#body !== null && bodies.isUnusable(this.#body)) {
        throw new TypeError("Request.clone: Body has already been consumed.");
      }
      const headers = new Headers();
      fill(headers, listOf(this.#headers));
      const body = this.#body && bodies.clone(this.#body);
      const key = {};
      copies.set(key, { ...insideOf(this), parts: { ...this.#parts }, headers, body });
      return new Request("", key);
    }
  }

  bodies.addMembers(Request, (request) => insideOf(request).body);
  finishClass(Request, "Request", { length: 1 });
  showAs(Request, "Request", (request) => ({
    method: request.method,
    url: request.url,
    headers: request.headers,
    destination: request.destination,
    referrer: request.referrer,
    referrerPolicy: request.referrerPolicy,
    mode: request.mode,
    credentials: request.credentials,
    cache: request.cache,
    redirect: request.redirect,
    integrity: request.integrity,
    keepalive: request.keepalive,
    isReloadNavigation: request.isReloadNavigation,
    isHistoryNavigation: request.isHistoryNavigation,
    signal: request.signal,
  }));

  // biome-ignore lint/style/noNonNullAssertion: set by the class.
  return { Request, insideOf: insideOf! };
}
