/**
 * Routes on which other replicas ask about runs on this server. They are not part of the API: each requires the token
 * that this server stored in the database.
 */
import { timingSafeEqual } from "node:crypto";
import { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { TrailCall } from "#api/processes/model/calls.ts";
import type { WaitUntil } from "#api/processes/model/peers.ts";
import type { ProcessView } from "#api/processes/model/records.ts";
import { AppError } from "../errors.ts";
import { clientGone } from "../http/answers.ts";
import type { App } from "../http/app-type.ts";
import { writeView } from "./wire.ts";

/** Runs on this server. Methods return null for other processes. */
export interface HeldRuns {
  view(
    id: number,
    wait: { until: WaitUntil; maxMs: number },
    signal: AbortSignal,
  ): Promise<ProcessView | null>;
  calls(id: number): readonly TrailCall[] | null;
  follow(id: number, lastEventId: string | null, signal: AbortSignal): AsyncGenerator<string, void> | null;
}

export interface ReplicaRoutesDeps {
  token: Buffer;
  held: HeldRuns;
}

const MAX_WAIT_MS = 60_000;
const params = z.object({
  id: z
    .string()
    .regex(/^[1-9][0-9]{0,14}$/)
    .transform(Number),
});
const waitQuery = z.strictObject({
  until: z.enum(["idle", "settled"]),
  maxMs: z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number),
});
const followQuery = z.strictObject({ after: z.string().max(200).optional() });
/** Hidden from clients. Works without the database, because the data is in memory. */
const config = { public: true, withoutDatabase: true };

export function registerReplicaRoutes(app: App, { token, held }: ReplicaRoutesDeps): void {
  const onRequest = async (request: FastifyRequest): Promise<void> => {
    const given = Buffer.from(request.headers.authorization?.replace(/^Bearer /, "") ?? "", "base64url");
    if (given.length === token.length && timingSafeEqual(given, token)) return;
    throw new AppError("unauthorized", "Unauthorized");
  };

  app.get(
    "/internal/runs/:id",
    { config, onRequest, exposeHeadRoute: false, schema: { hide: true, params, querystring: waitQuery } },
    async (request, reply) => {
      const { until, maxMs } = request.query;
      const wait = { until, maxMs: Math.min(maxMs, MAX_WAIT_MS) };
      const view = await held.view(request.params.id, wait, clientGone(reply));
      return reply
        .type("application/json")
        .serializer(String)
        .send(view === null ? "null" : writeView(view));
    },
  );

  app.get(
    "/internal/runs/:id/calls",
    { config, onRequest, exposeHeadRoute: false, schema: { hide: true, params } },
    async (request, reply) => {
      const calls = held.calls(request.params.id);
      return reply.type("application/json").serializer(String).send(JSON.stringify(calls));
    },
  );

  app.get(
    "/internal/runs/:id/events",
    { config, onRequest, exposeHeadRoute: false, schema: { hide: true, params, querystring: followQuery } },
    async (request, reply) => {
      const events = held.follow(request.params.id, request.query.after ?? null, clientGone(reply));
      if (events === null) return reply.status(204).send();
      return reply.type("text/event-stream").send(Readable.from(events, { objectMode: false }));
    },
  );
}
