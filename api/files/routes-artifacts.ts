/**
 * Files passed to runs and artifacts left by them. For every route below /processes/:id, a hook checks whether the
 * caller may see the process.
 */
import { pipeline } from "node:stream/promises";
import { pack } from "tar-stream";
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { errorResponses } from "#api/http/responses.ts";
import {
  artifactListSchema,
  artifactParamsSchema,
  artifactsParamsSchema,
  contentHeadersSchema,
} from "./model.ts";
import { contentResponses } from "./routes.ts";
import { openStream, sendContent, setDownloadHeaders } from "./send-content.ts";
import type { Files } from "./service.ts";

const read = { onRequest: requireScope("processes:read") };
const tags = ["processes"];
const FILE_MODE = 0o644;

/** Call after registering the process routes. */
export function registerArtifactRoutes(app: App, files: Files): void {
  app.get(
    "/processes/:id/artifacts",
    {
      ...read,
      schema: {
        tags,
        operationId: "listProcessArtifacts",
        summary: "List the artifacts of the last run",
        description: "Artifacts are the files that the run wrote to its workspace.",
        params: artifactsParamsSchema,
        response: { 200: artifactListSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async (request) => ({ artifacts: await files.listArtifacts(request.params.id) }),
  );

  app.get(
    "/processes/:id/artifacts/*",
    {
      ...read,
      schema: {
        tags,
        operationId: "downloadProcessArtifact",
        summary: "Download an artifact of the last run",
        description: "Returns the content as a download. `Range` and `If-None-Match` are supported.",
        params: artifactParamsSchema,
        headers: contentHeadersSchema,
        response: {
          ...contentResponses,
          ...errorResponses(
            "invalid_request",
            "not_found",
            "process_not_idle",
            "range_not_satisfiable",
            "storage_unavailable",
          ),
        },
      },
    },
    async (request, reply) =>
      sendContent(
        request,
        reply,
        await files.openArtifact(request.params.id, request.params["*"], request.caller?.id),
      ),
  );

  app.get(
    "/processes/:id/files/*",
    {
      ...read,
      schema: {
        tags,
        operationId: "downloadProcessFile",
        summary: "Download a file that the process was given",
        description: "Returns the content as a download. `Range` and `If-None-Match` are supported.",
        params: artifactParamsSchema,
        headers: contentHeadersSchema,
        response: {
          ...contentResponses,
          ...errorResponses("invalid_request", "not_found", "range_not_satisfiable", "storage_unavailable"),
        },
      },
    },
    async (request, reply) =>
      sendContent(
        request,
        reply,
        await files.openGiven(request.params.id, request.params["*"], request.caller?.id),
      ),
  );

  app.get(
    "/processes/:id/artifacts.tar",
    {
      ...read,
      exposeHeadRoute: false,
      schema: {
        tags,
        operationId: "downloadProcessArtifacts",
        summary: "Download all artifacts of the last run as a tar archive",
        description: "The archive is written while it is sent; its length is not known in advance.",
        params: artifactsParamsSchema,
        response: {
          200: {
            description: "The archive.",
            content: { "application/x-tar": { schema: z.string().meta({ format: "binary" }) } },
          },
          ...errorResponses("invalid_request", "not_found", "process_not_idle", "storage_unavailable"),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const archive = await openArchive(files, id, request.caller?.id);
      setDownloadHeaders(reply, "application/x-tar", `process-${id}-artifacts.tar`);
      return reply.send((await openStream(archive, reply)) as never);
    },
  );
}

/** Creates an archive of the artifacts. Workspace names cannot escape the folder where it is unpacked. */
async function openArchive(files: Files, processId: number, key?: string): Promise<AsyncIterable<Buffer>> {
  const { completedAt, artifacts } = await files.openAllArtifacts(processId, key);
  const archive = pack();
  const write = async () => {
    for (const { name, size, open } of artifacts) {
      const { content } = await open();
      const entry = archive.entry({ name, size, mode: FILE_MODE, mtime: completedAt });
      await pipeline(content.stream(0, size), entry);
    }
    archive.finalize();
  };
  write().catch((error: Error) => archive.destroy(error));
  return archive as unknown as AsyncIterable<Buffer>;
}
