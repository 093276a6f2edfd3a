import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { clientGone, sendJson, sendText } from "#api/http/answers.ts";
import type { App } from "#api/http/app-type.ts";
import { type Caller, guardRoutes, requireScope } from "#api/http/auth.ts";
import { decodeCursor, encodeCursor } from "#api/http/cursor.ts";
import { MAX_BODY_WITH_INPUT_BYTES } from "#api/http/json/body.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import { callTrailSchema } from "./model/event-schemas.ts";
import type { ProcessCreator, ProcessView } from "./model/records.ts";
import {
  createdSchema,
  createProcessBodySchema,
  createProcessHeadersSchema,
  listQuerySchema,
  processIdParamsSchema,
  processListSchema,
  processSchema,
  runSignalBodySchema,
  signaledSchema,
  waitQuerySchema,
} from "./model/schemas.ts";
import { renderCalls, renderList, renderRecord, renderSummary } from "./operations/render.ts";
import type { ProcessService } from "./service.ts";

const CURSOR_KIND = "processes";
const cursorSchema = z.int().positive();
const read = { onRequest: requireScope("processes:read") };
const write = { onRequest: requireScope("processes:write") };
const tags = ["processes"];
const textSchema = z.string();
const params = processIdParamsSchema;

declare module "fastify" {
  interface FastifyRequest {
    /** JSON body of a submission as the client wrote it. */
    sentBody: unknown;
  }
}

export function registerProcessRoutes(
  app: App,
  service: ProcessService,
  config: { maxCodeSizeBytes: number },
): void {
  app.decorateRequest("sentBody", null);
  guardRoutes(app, "/processes/:id", (request) =>
    service.requireVisible((request.params as { id: number }).id, callerOf(request)),
  );

  app.post(
    "/processes",
    {
      ...write,
      config: { whileDraining: "elsewhere", keepsIntegers: true },
      bodyLimit: MAX_BODY_WITH_INPUT_BYTES,
      // Captured before validation adds defaults, so that any version recognizes the same request.
      preValidation: async (request) => {
        request.sentBody = request.body;
      },
      schema: {
        tags,
        operationId: "createProcess",
        summary: "Submit a script and run it",
        description:
          "Stores the script as a process and, unless `autorun` is false, runs it. With `block` the response waits for the end of the run. An `Idempotency-Key` makes a repeated submission return the first process.",
        headers: createProcessHeadersSchema,
        body: createProcessBodySchema(config.maxCodeSizeBytes),
        response: {
          201: createdSchema,
          ...errorResponses(
            ...BODY_ERRORS,
            "storage_full",
            "ref_taken",
            "idempotency_mismatch",
            "too_many_processes",
            "no_environment",
            "limit_reached",
          ),
        },
      },
    },
    async (request, reply) => {
      const key = request.headers["idempotency-key"];
      const { id, view } = await service.create({
        body: request.body,
        creator: creatorOf(callerOf(request)),
        seesAll: callerOf(request).scopes.has("processes:all"),
        idempotency: key === undefined ? null : { key, sent: request.sentBody },
        signal: clientGone(reply),
      });
      reply.status(201).header("location", `/processes/${id}`);
      return sendJson(reply, view ? renderRecord(view) : `{"id":${id}}`);
    },
  );

  app.get(
    "/processes",
    {
      ...read,
      schema: {
        tags,
        operationId: "listProcesses",
        summary: "List processes, newest first",
        description:
          "Lists the processes this key submitted; all of them with `processes:all`. Filters can be combined.",
        querystring: listQuerySchema,
        response: { 200: processListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request, reply) => {
      const { cursor } = request.query;
      const before = cursor === undefined ? null : decodeCursor(CURSOR_KIND, cursorSchema, cursor);
      const page = await service.list(request.query, before, callerOf(request));
      const items = page.processes.map(({ row, results, queue }) => renderSummary(row, results, queue));
      const nextCursor = page.nextBefore === null ? null : encodeCursor(CURSOR_KIND, page.nextBefore);
      return sendJson(reply, renderList(items, nextCursor));
    },
  );

  app.get(
    "/processes/:id",
    {
      ...read,
      schema: {
        tags,
        operationId: "getProcess",
        summary: "Read a process, or wait until it is idle or paused",
        description:
          "Returns the state and the results of a process. With `wait` the response is held until the run ends or pauses, or that many milliseconds have passed.",
        params,
        querystring: waitQuerySchema,
        response: { 200: processSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async (request, reply) => {
      const { wait } = request.query;
      const view = await service.get(request.params.id, wait ?? 0, wait ? clientGone(reply) : NEVER);
      return sendJson(reply, renderRecord(view));
    },
  );

  app.delete(
    "/processes/:id",
    {
      ...write,
      schema: {
        tags,
        operationId: "deleteProcess",
        summary: "Delete an idle process",
        description:
          "Deletes the process with its results, call trail and artifacts. A process that is not idle has to be killed first.",
        params,
        response: {
          204: z.null().describe("Deleted."),
          ...errorResponses("invalid_request", "not_found", "process_not_idle", "shutting_down"),
        },
      },
    },
    async (request, reply) => {
      await service.remove(request.params.id);
      return reply.status(204).send(null);
    },
  );

  app.post(
    "/processes/:id/signals/run",
    {
      ...write,
      config: { whileDraining: "elsewhere", keepsIntegers: true },
      bodyLimit: MAX_BODY_WITH_INPUT_BYTES,
      schema: {
        tags,
        operationId: "runProcess",
        summary: "Run an idle process",
        description:
          "Runs the stored script again. With `force` the results of an earlier run are cleared first; without it such a process is refused. An `input` in the body replaces that of the process.",
        params,
        body: runSignalBodySchema,
        response: {
          200: signaledSchema,
          ...errorResponses(
            ...BODY_ERRORS,
            "not_found",
            "process_has_outputs",
            "process_not_idle",
            "too_many_processes",
            "no_environment",
            "limit_reached",
          ),
        },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const view = await service.run(request.params.id, request.body, caller.id, clientGone(reply));
      return sendJson(reply, renderSignaled(view, caller));
    },
  );

  app.post(
    "/processes/:id/signals/kill",
    {
      ...write,
      config: { whileDraining: true },
      schema: {
        tags,
        operationId: "killProcess",
        summary: "Kill a queued, running or paused process",
        description: "Ends the run. What it printed until then is kept.",
        params,
        response: { 200: signaledSchema, ...errorResponses("invalid_request", "not_found", "process_idle") },
      },
    },
    async (request, reply) =>
      sendJson(reply, renderSignaled(await service.kill(request.params.id), callerOf(request))),
  );

  registerPartRoutes(app, service);
}

function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === null) throw new Error("a process is asked about by a caller who is known");
  return caller;
}

function creatorOf({ kind, keyId }: Caller): ProcessCreator {
  return { kind, keyId: keyId ?? null };
}

/** A caller who may run or kill a process, but not read it, does not get its record. */
function renderSignaled(view: ProcessView, { scopes }: Caller): string {
  if (scopes.has("processes:read")) return renderRecord(view);
  const { id, state } = view.row;
  return JSON.stringify({ id, state });
}

function registerPartRoutes(app: App, service: ProcessService): void {
  app.get(
    "/processes/:id/code",
    {
      ...read,
      schema: {
        tags,
        operationId: "getProcessCode",
        summary: "Read the script of a process",
        description: "Returns the script exactly as it was submitted.",
        params,
        response: { 200: plainText("The script."), ...errorResponses("invalid_request", "not_found") },
      },
    },
    async (request, reply) => sendText(reply, await service.getCode(request.params.id)),
  );

  app.get(
    "/processes/:id/output",
    {
      ...read,
      schema: {
        tags,
        operationId: "getProcessOutput",
        summary: "Read the output of the last run",
        description:
          "Returns one object into which all objects that the script passed to `cyrnel.output` are merged.",
        params,
        response: {
          200: z.record(z.string(), z.unknown()),
          ...errorResponses("invalid_request", "not_found", "process_not_idle"),
        },
      },
    },
    async (request, reply) => sendJson(reply, await service.getOutput(request.params.id)),
  );

  for (const stream of ["stdout", "stderr"] as const) {
    app.get(
      `/processes/:id/${stream}`,
      {
        ...read,
        schema: {
          tags,
          operationId: `getProcess${stream === "stdout" ? "Stdout" : "Stderr"}`,
          summary: `Read the ${stream} of the last run`,
          description: `Returns the text that the script wrote to ${stream}, cut at the limit. Follow it live with \`GET /processes/{id}/events\`.`,
          params,
          response: {
            200: plainText(stream),
            ...errorResponses("invalid_request", "not_found", "process_not_idle"),
          },
        },
      },
      async (request, reply) => sendText(reply, await service.getStream(request.params.id, stream)),
    );
  }

  app.get(
    "/processes/:id/calls",
    {
      ...read,
      schema: {
        tags,
        operationId: "listProcessCalls",
        summary: "List the tool calls of the last run",
        description: "Returns the call trail in the order of the calls, parameters redacted.",
        params,
        response: { 200: callTrailSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async (request, reply) => sendJson(reply, renderCalls(await service.getCalls(request.params.id))),
  );
}

const NEVER = new AbortController().signal;

function plainText(description: string) {
  return { description, content: { "text/plain": { schema: textSchema } } };
}
