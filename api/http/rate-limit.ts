/** Requests per client and window: off unless configured. Counts before a key is refused, so guessing is limited too. */
import rateLimit from "@fastify/rate-limit";
import type { FastifyRequest } from "fastify";
import { AppError } from "../errors.ts";
import type { App } from "./app-type.ts";

/** A client is a key from one address, or an address. Health checks and other replicas are not counted. */
export async function registerRateLimit(
  app: App,
  limit: { max: number; windowMs: number } | null,
): Promise<void> {
  if (limit === null) return;
  await app.register(rateLimit, {
    global: false,
    max: limit.max,
    timeWindow: limit.windowMs,
    keyGenerator: nameClient,
  });
  const count = app.createRateLimit();
  app.addHook("onRequest", async (request, reply) => {
    if (/^\/(health|internal)\b/.test(request.routeOptions.url ?? "")) return;
    const result = await count(request);
    if (result.isAllowed) return;
    // https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ (the three-header form most clients read)
    reply.header("ratelimit-limit", result.max);
    reply.header("ratelimit-remaining", result.remaining);
    reply.header("ratelimit-reset", result.ttlInSeconds);
    if (!result.isExceeded) return;
    throw new AppError(
      "rate_limited",
      `Too many requests: at most ${result.max} in ${limit.windowMs} ms. Wait and try again.`,
      {
        retryAfterSeconds: Math.max(1, result.ttlInSeconds),
      },
    );
  });
}

function nameClient(request: FastifyRequest): string {
  return `${request.caller?.id ?? ""}@${request.ip}`;
}
