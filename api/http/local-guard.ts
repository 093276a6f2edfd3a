/**
 * Protects a server without a key from web pages: any site may send a browser to 127.0.0.1 (cross-site requests), or
 * point its own name there (DNS rebinding). Programs like curl send neither a foreign Host nor an Origin.
 */
import type { FastifyRequest } from "fastify";
import { isLoopbackHost } from "../config.ts";
import { AppError } from "../errors.ts";
import type { App } from "./app-type.ts";

const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

/** Registers the checks; only for anonymous mode. A refused request answers 403 `forbidden`. */
export function registerLocalGuard(app: App): void {
  app.addHook("onRequest", async (request) => {
    const host = request.headers.host;
    if (host === undefined || !isLoopbackHost(hostNameOf(host))) {
      throw new AppError(
        "forbidden",
        "Without an API key this server answers only to the names localhost, 127.0.0.1 and [::1]. Use one of them, or set CYRNEL_API_KEY.",
      );
    }
    if (comesFromAnotherSite(request, host)) {
      throw new AppError(
        "forbidden",
        "Without an API key this server accepts no requests from web pages of other origins. Set CYRNEL_API_KEY, or call it from a program.",
      );
    }
  });
}

function comesFromAnotherSite(request: FastifyRequest, host: string): boolean {
  const { origin } = request.headers;
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) return true;
  const site = request.headers["sec-fetch-site"];
  const isWrite = !SAFE_METHODS.includes(request.method);
  return isWrite && site !== undefined && site !== "same-origin" && site !== "none";
}

/** `Host` without its port; brackets of an IPv6 address removed. */
function hostNameOf(host: string): string {
  const bracketed = /^\[([^\]]*)\](:\d+)?$/.exec(host);
  return bracketed?.[1] ?? host.replace(/:\d*$/, "");
}
