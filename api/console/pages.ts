/**
 * Serves the console with a strict content security policy. Only existing files have routes, so the API handles all
 * other paths.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyPluginAsync } from "fastify";
import type { App } from "../http/app-type.ts";

export interface ConsoleOptions {
  directory: string;
  /** True if the page must ask for a key. */
  needsKey: boolean;
}

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
const NONCE_BYTES = 16;
const NOT_BUILT =
  "The console has not been built: run `npm run build` and start the server again. The API works without it: see /docs.\n";

/**
 * Allows styles with the nonce, because the editor writes them at run time. Text must never become script or markup.
 */
function policyFor(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    // Allows previews of artifacts that the page has inspected.
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

/**
 * Registers `GET /` and `GET /console/*`, which need no key. Call before the check that routes declare their access.
 */
export async function registerConsole(app: App, options: ConsoleOptions): Promise<void> {
  await app.register(pages, options);
}

const pages: FastifyPluginAsync<ConsoleOptions> = async (scope, { directory, needsKey }) => {
  scope.addHook("onRoute", (route) => {
    route.config = { ...route.config, public: true };
  });
  const page = await readFile(path.join(directory, "index.html"), "utf8").catch(() => null);
  scope.get("/", { schema: { hide: true } }, async (_request, reply) => {
    if (page === null) return reply.status(404).type("text/plain; charset=utf-8").send(NOT_BUILT);
    const nonce = randomBytes(NONCE_BYTES).toString("base64url");
    return reply
      .header("content-security-policy", policyFor(nonce))
      .type("text/html; charset=utf-8")
      .send(page.replaceAll("__NONCE__", nonce).replaceAll("__ACCESS__", needsKey ? "key" : "open"));
  });
  const assets = path.join(directory, "console");
  if (!existsSync(assets)) return;
  await scope.register(fastifyStatic, {
    root: assets,
    prefix: "/console/",
    wildcard: false,
    index: false,
    decorateReply: false,
    preCompressed: true,
    globIgnore: ["**/*.br", "**/*.gz"],
    // File names contain a content hash.
    immutable: true,
    maxAge: YEAR_MS,
  });
};
