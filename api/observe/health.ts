import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";

/** A readiness condition: resolves with null if it is met, otherwise with a sentence without secrets. */
export interface ReadinessCheck {
  name: string;
  check(): Promise<string | null> | string | null;
}

/** Limits each check, so that a response takes less than a second even if a check hangs. */
const CHECK_TIMEOUT_MS = 800;

const okSchema = z.object({ status: z.literal("ok") });
const notReadySchema = z.object({
  status: z.literal("unavailable"),
  failing: z.array(z.object({ check: z.string(), message: z.string() })),
});

export function registerHealthRoutes(app: App, checks: ReadinessCheck[]): void {
  const config = { public: true };
  const schema = { tags: ["health"], response: { 200: okSchema } };
  /** Names of the checks that threw the last time; the log contains the cause. */
  const broken = new Set<string>();
  app.get(
    "/health",
    {
      config,
      schema: {
        ...schema,
        operationId: "getHealth",
        summary: "Check that the server answers",
        description: "Answers 200 as long as the server accepts connections. Needs no key.",
      },
    },
    async () => ({
      status: "ok" as const,
    }),
  );
  app.get(
    "/health/live",
    {
      config,
      schema: {
        ...schema,
        operationId: "getLiveness",
        summary: "Check that the server is alive",
        description: "For liveness probes: says nothing about the database or the environment. Needs no key.",
      },
    },
    async () => ({
      status: "ok" as const,
    }),
  );
  app.get(
    "/health/ready",
    {
      config,
      schema: {
        tags: ["health"],
        operationId: "getReadiness",
        summary: "Check that the server accepts work",
        description:
          "For readiness probes: 503 lists what is missing, such as the database, or that the server is draining. Needs no key.",
        response: { 200: okSchema, 503: notReadySchema },
      },
    },
    async (request, reply) => {
      const results = await Promise.all(checks.map((check) => runCheck(check, request.log, broken)));
      const failing = results.filter((result) => result !== null);
      if (failing.length === 0) return { status: "ok" as const };
      return reply.status(503).send({ status: "unavailable" as const, failing });
    },
  );
}

async function runCheck(
  { name, check }: ReadinessCheck,
  log: FastifyBaseLogger,
  broken: Set<string>,
): Promise<{ check: string; message: string } | null> {
  const done = new AbortController();
  const late = sleep(CHECK_TIMEOUT_MS, `no answer within ${CHECK_TIMEOUT_MS} ms`, {
    signal: done.signal,
  }).catch(() => null);
  try {
    const message = await Promise.race([Promise.resolve().then(check), late]);
    broken.delete(name);
    return message === null ? null : { check: name, message };
  } catch (error) {
    // Warn only once, because anyone may send this request any number of times.
    log[broken.has(name) ? "debug" : "warn"]({ err: error, check: name }, "a check of readiness failed");
    broken.add(name);
    return { check: name, message: "the check failed; the log has the cause" };
  } finally {
    done.abort();
  }
}
