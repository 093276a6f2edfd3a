/**
 * Gives an installation process its only network access: packuments, tarballs and advisories of one registry, through
 * this server's guarded fetch, over pipes passed to the process at start. Everything else is refused.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { ADVISORIES_PATH, type InstallLimits, REGISTRY_HOST, TARBALL_PATH } from "./messages.ts";

export interface Registry {
  url: string;
  /** Token sent only to the registry's own origin. */
  token: string | null;
  /** URL of the advisory source, or null if advisory checks are switched off. */
  advisoriesUrl: string | null;
}

export interface RegistryProxy extends AsyncDisposable {
  serve(pipe: Duplex): void;
  readonly downloadedBytes: number;
  readonly problem: string | null;
}

export interface ProxyOptions {
  fetch: typeof globalThis.fetch;
  registry: Registry;
  limits: Pick<InstallLimits, "maxTarballBytes" | "maxDownloadBytes" | "maxPackumentBytes">;
  idleMs: number;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;
/** Host that mirrors leave in package metadata. npm replaces it too. */
const PUBLIC_HOST = "registry.npmjs.org";
const PACKUMENT_PATH = /^\/(?:@[a-z0-9~!'()*._-]+%2f)?[a-z0-9~!'()*._-]+$/i;
const MAX_ADVISORY_BYTES = 8 * 1024 * 1024;
const MAX_QUESTION_BYTES = 1024 * 1024;

interface Upstream extends ProxyOptions {
  base: URL;
}

interface Wanted {
  target: URL;
  maxBytes: number;
  what: string;
  body?: Buffer;
}

class Refused extends Error {}

export function openRegistryProxy(options: ProxyOptions): RegistryProxy {
  const { registry, limits, idleMs } = options;
  const base = new URL(registry.url.endsWith("/") ? registry.url : `${registry.url}/`);
  const upstream: Upstream = { ...options, base };
  const stopped = new AbortController();
  let downloadedBytes = 0;
  let problem: string | null = null;

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      problem ??= describe(error);
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { "content-type": "application/json" }).end('{"error":"refused"}');
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const wanted = await readRequest(request, upstream);
    const { maxBytes, what } = wanted;
    const signal = AbortSignal.any([stopped.signal, abortOnClose(response)]);
    const watch = watchSilence(signal, idleMs);
    try {
      const found = await follow(wanted, upstream, watch, request.headers.accept);
      response.writeHead(found.status, {
        "content-type": found.headers.get("content-type") ?? "application/octet-stream",
      });
      let bytes = 0;
      for await (const chunk of found.body ?? []) {
        watch.renew();
        bytes += chunk.length;
        downloadedBytes += chunk.length;
        if (bytes > maxBytes) throw new Refused(`${what} is larger than ${maxBytes} bytes.`);
        if (downloadedBytes > limits.maxDownloadBytes) {
          throw new Refused(
            `The installation needs more than ${limits.maxDownloadBytes} bytes of downloads.`,
          );
        }
        if (!response.write(chunk)) await untilDrained(response, watch.signal);
      }
      response.end();
    } finally {
      watch[Symbol.dispose]();
    }
  }

  // The process has only these pipes and reuses idle ones, so they must never time out.
  server.keepAliveTimeout = 0;
  const pipes = new Set<Duplex>();
  return {
    serve(pipe) {
      pipes.add(pipe);
      pipe.on("error", () => {});
      server.emit("connection", pipe);
    },
    get downloadedBytes() {
      return downloadedBytes;
    },
    get problem() {
      return problem;
    },
    async [Symbol.asyncDispose]() {
      stopped.abort();
      for (const pipe of pipes) pipe.destroy();
    },
  };
}

/** Parses a request from npm. Throws Refused for anything that registries do not serve. */
async function readRequest(request: IncomingMessage, { base, registry, limits }: Upstream): Promise<Wanted> {
  const { pathname, searchParams } = new URL(request.url ?? "/", `http://${REGISTRY_HOST}`);
  if (request.method === "POST" && pathname === ADVISORIES_PATH && registry.advisoriesUrl !== null) {
    const question = await readQuestion(request);
    const target = new URL(registry.advisoriesUrl);
    return { target, maxBytes: MAX_ADVISORY_BYTES, what: "The list of advisories", body: question };
  }
  if (request.method === "GET" && pathname === TARBALL_PATH) {
    const target = placeOfTarball(searchParams.get("url") ?? "", base);
    const what = `The tarball ${target.pathname.slice(0, 200)}`;
    return { target, maxBytes: limits.maxTarballBytes, what };
  }
  if (request.method === "GET" && PACKUMENT_PATH.test(pathname) && !pathname.includes("..")) {
    const target = new URL(`.${pathname}`, base);
    const what = `The description of ${decodeURIComponent(pathname.slice(1)).slice(0, 200)}`;
    return { target, maxBytes: limits.maxPackumentBytes, what };
  }
  throw new Refused(
    `${request.method} ${pathname.slice(0, 200)} is not a request for a package, tarball or advisory.`,
  );
}

async function follow(
  { target, what, body }: Wanted,
  { base, registry, fetch }: Upstream,
  watch: SilenceWatch,
  accept?: string,
): Promise<Response> {
  let url = target;
  let hasLeft = false;
  for (let redirects = 0; ; redirects += 1) {
    // Another server may redirect back to an address of its choice; that request must not carry the token.
    hasLeft ||= url.origin !== base.origin;
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      redirect: "manual",
      signal: watch.signal,
      headers: {
        "user-agent": "cyrnel",
        ...(accept !== undefined && { accept }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(!hasLeft && registry.token !== null && { authorization: `Bearer ${registry.token}` }),
      },
      ...(body !== undefined && { body: new Uint8Array(body) }),
    });
    watch.renew();
    if (!REDIRECTS.has(response.status)) return response;
    await response.body?.cancel().catch(() => {});
    const location = response.headers.get("location");
    if (location === null || !URL.canParse(location, url)) {
      throw new Refused(`${what} is redirected to an invalid address.`);
    }
    if (redirects === MAX_REDIRECTS) {
      throw new Refused(`${what} is redirected more than ${MAX_REDIRECTS} times.`);
    }
    const next = new URL(location, url);
    if (url.protocol === "https:" && next.protocol !== "https:") {
      throw new Refused(`${what} is redirected from https to ${next.protocol.slice(0, 20)}.`);
    }
    url = next;
  }
}

/** Returns a tarball's URL on the registry itself, because mirrors leave the public registry's name in metadata. */
function placeOfTarball(text: string, base: URL): URL {
  if (!URL.canParse(text)) throw new Refused("A package does not say where its tarball is.");
  const url = new URL(text);
  const isHttp = url.protocol === "http:" || url.protocol === "https:";
  const isPublic = url.host === PUBLIC_HOST && base.host !== PUBLIC_HOST;
  if (!isHttp || url.username !== "" || url.password !== "" || (url.host !== base.host && !isPublic)) {
    const place = isHttp ? url.host : url.protocol;
    throw new Refused(
      `A tarball is at ${place.slice(0, 200)}; only tarballs of the registry itself (${base.host}) are installed.`,
    );
  }
  return isPublic ? new URL(`.${url.pathname}`, base) : new URL(url.pathname + url.search, base);
}

interface SilenceWatch extends Disposable {
  readonly signal: AbortSignal;
  renew(): void;
}

function watchSilence(signal: AbortSignal, idleMs: number): SilenceWatch {
  const silent = new AbortController();
  const timer = setTimeout(
    () => silent.abort(new Refused(`The registry did not answer within ${idleMs} ms.`)),
    idleMs,
  );
  return {
    signal: AbortSignal.any([signal, silent.signal]),
    renew: () => timer.refresh(),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

function abortOnClose(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return gone.signal;
}

function untilDrained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      response.off("drain", settle);
      signal.removeEventListener("abort", settle);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve();
    };
    response.on("drain", settle);
    signal.addEventListener("abort", settle);
    if (signal.aborted) settle();
  });
}

async function readQuestion(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY) > MAX_QUESTION_BYTES) {
    throw new Refused("The request for advisories is too long.");
  }
  return buffer(request);
}

/** Returns the message of an egress error; fetch puts other failures into a cause. */
function describe(error: unknown): string {
  if (error instanceof Refused) return error.message;
  const causes: unknown[] = [error];
  for (let at = 0; at < 5; at += 1) {
    const last = causes.at(-1);
    if (last instanceof Refused) return last.message;
    if (!(last instanceof Error) || last.cause === undefined) break;
    causes.push(last.cause);
  }
  const last = causes.findLast((one) => one instanceof Error && one.message !== "");
  return `Could not reach the registry: ${last instanceof Error ? last.message.slice(0, 300).replace(/\.$/, "") : "the connection failed"}.`;
}
