import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { AppError } from "#api/errors.ts";
import { clientGone } from "#api/http/answers.ts";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { openEventStream } from "#api/http/event-stream.ts";
import { errorResponses } from "#api/http/responses.ts";
import { eventHeadersSchema, processIdParamsSchema } from "./model/schemas.ts";
import type { ProcessService } from "./service.ts";

export function registerEventRoutes(app: App, service: ProcessService): void {
  app.get(
    "/processes/stream",
    {
      onRequest: requireScope("processes:read"),
      exposeHeadRoute: false,
      schema: {
        tags: ["processes"],
        operationId: "streamProcesses",
        summary: "Stream changes of the list of processes",
        description:
          "Server-sent events: `changed`, without data, at once and after changes, at most four times a second. It does not name the process that changed: read `GET /processes`. A key without `processes:all` gets it every two seconds, whether or not anything changed.",
        response: {
          200: { description: "The stream.", content: { "text/event-stream": { schema: z.string() } } },
          ...errorResponses("not_acceptable"),
        },
      },
    },
    async (request, reply) => {
      requireEventStream(request);
      const { caller } = request;
      if (caller === null) throw new Error("the list of processes is followed by a caller who is known");
      // The schema documents text, but fastify pipes a stream of it.
      return reply.send(openEventStream(reply, service.followList(caller, clientGone(reply))) as never);
    },
  );

  app.get(
    "/processes/:id/events",
    {
      onRequest: requireScope("processes:read"),
      exposeHeadRoute: false,
      schema: {
        tags: ["processes"],
        operationId: "streamProcessEvents",
        summary: "Stream the events of a process until its run ends",
        description:
          "Server-sent events: `state`, `stdout`, `stderr`, `output`, `call`, `approval`, `artifact`, `end`. `Last-Event-ID` resumes; 204 when nothing is missing.",
        params: processIdParamsSchema,
        headers: eventHeadersSchema,
        response: {
          200: { description: "The stream.", content: { "text/event-stream": { schema: z.string() } } },
          204: z.null().describe("The client has everything of a finished process: do not reconnect."),
          ...errorResponses("invalid_request", "not_found", "not_acceptable"),
        },
      },
    },
    async (request, reply) => {
      requireEventStream(request);
      const gone = clientGone(reply);
      const events = await service.follow(request.params.id, request.headers["last-event-id"] || null, gone);
      if (!events) return reply.status(204).send(null);
      // The schema documents text, but fastify pipes a stream of it.
      return reply.send(openEventStream(reply, events) as never);
    },
  );
}

function requireEventStream(request: FastifyRequest): void {
  const { accept } = request.headers;
  const ranges = (accept ?? "*/*").split(",").map((range) => range.trim().toLowerCase());
  const isAccepted = ranges.some((range) => {
    const [type = "", ...parameters] = range.split(/\s*;\s*/);
    return (
      ["text/event-stream", "text/*", "*/*"].includes(type) && !parameters.some((p) => /^q=0(\.0*)?$/.test(p))
    );
  });
  if (isAccepted) return;
  throw new AppError(
    "not_acceptable",
    "This answers with text/event-stream only. Send the header Accept: text/event-stream.",
  );
}
