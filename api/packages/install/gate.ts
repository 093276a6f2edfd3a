/**
 * What an installing process reaches of the network: descriptions and tarballs of one registry, and its advisories, by way of
 * this server's guarded fetch. It answers over pipes that the process was started with, for one installation; everything else
 * is refused.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { ADVISORIES_PATH, type InstallLimits, REGISTRY_HOST, TARBALL_PATH } from "./messages.ts";

/** Where packages come from. */
export interface Registry {
  url: string;
  /** Sent to the registry's own origin alone. */
  token: string | null;
  /** Where advisories are asked for; null: at no place. */
  advisoriesUrl: string | null;
}

export interface RegistryGate extends AsyncDisposable {
  /** Answers requests of HTTP that come over it. */
  serve(pipe: Duplex): void;
  readonly downloadedBytes: number;
  /** The first thing that was refused or failed, as a sentence. */
  readonly problem: string | null;
}

export interface GateOptions {
  fetch: typeof globalThis.fetch;
  registry: Registry;
  limits: Pick<InstallLimits, "maxTarballBytes" | "maxDownloadBytes" | "maxPackumentBytes">;
  /** Longest silence of the registry. */
  idleMs: number;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;
/** The host in descriptions that a mirror hands on as they are: npm replaces it too. */
const PUBLIC_HOST = "registry.npmjs.org";
/** `name` or `@scope%2fname`. */
const PACKUMENT_PATH = /^\/(?:@[a-z0-9~!'()*._-]+%2f)?[a-z0-9~!'()*._-]+$/i;
const MAX_ADVISORY_BYTES = 8 * 1024 * 1024;
const MAX_QUESTION_BYTES = 1024 * 1024;

class Refused extends Error {}

export function openRegistryGate(options: GateOptions): RegistryGate {
  const { fetch, registry, limits, idleMs } = options;
  const base = new URL(registry.url.endsWith("/") ? registry.url : `${registry.url}/`);
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
    const { target, maxBytes, what, body } = await readRequest(request);
    const signal = AbortSignal.any([stopped.signal, abortOnClose(response)]);
    const watch = watchSilence(signal, idleMs);
    try {
      const found = await follow(target, what, watch, request.headers.accept, body);
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
          throw new Refused(`More than ${limits.maxDownloadBytes} bytes were to be downloaded.`);
        }
        if (!response.write(chunk)) await untilDrained(response, watch.signal);
      }
      response.end();
    } finally {
      watch[Symbol.dispose]();
    }
  }

  async function readRequest(request: IncomingMessage) {
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
    throw new Refused(`${request.method} ${pathname.slice(0, 200)} is nothing that a registry is asked for.`);
  }

  async function follow(start: URL, what: string, watch: SilenceWatch, accept?: string, body?: Buffer) {
    let url = start;
    let hasLeft = false;
    for (let redirects = 0; ; redirects += 1) {
      // Another server may send a request back, to an address of its choice: what it gets there, it gets without the token.
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
        throw new Refused(`${what} is redirected to no address.`);
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

  // There are no more pipes than the process was given: one that is idle is needed again.
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

/**
 * Where a tarball is fetched from: what its description says, as long as that is the registry itself. The public registry's
 * host is replaced, because mirrors hand its descriptions on. Throws for any other place.
 */
function placeOfTarball(text: string, base: URL): URL {
  if (!URL.canParse(text)) throw new Refused("A package names no address of its tarball.");
  const url = new URL(text);
  const isHttp = url.protocol === "http:" || url.protocol === "https:";
  const isPublic = url.host === PUBLIC_HOST && base.host !== PUBLIC_HOST;
  if (!isHttp || url.username !== "" || url.password !== "" || (url.host !== base.host && !isPublic)) {
    const place = isHttp ? url.host : url.protocol;
    throw new Refused(
      `A tarball is said to lie at ${place.slice(0, 200)}, and only those of the registry itself (${base.host}) are taken.`,
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
    throw new Refused("The question for advisories is too long.");
  }
  return buffer(request);
}

/** The egress rules say themselves what they refuse; fetch says what failed in a cause. */
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
  return `The registry could not be asked: ${last instanceof Error ? last.message.slice(0, 300).replace(/\.$/, "") : "the connection failed"}.`;
}
