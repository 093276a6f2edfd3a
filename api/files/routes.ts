/** Streams uploads, and downloads that browsers never execute. */
import multipart from "@fastify/multipart";
import type { FastifyError, FastifyPluginAsync, FastifyRequest } from "fastify";
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { type Caller, requireScope } from "#api/http/auth.ts";
import { createListing } from "#api/http/cursor.ts";
import { errorResponses } from "#api/http/responses.ts";
import { AppError, type ErrorCode } from "../errors.ts";
import {
  contentHeadersSchema,
  digestOf,
  fileListQuerySchema,
  fileListSchema,
  fileNameSchema,
  fileParamsSchema,
  filePositionSchema,
  fileSchema,
  isMediaType,
  typeOfUpload,
  uploadQuerySchema,
} from "./model.ts";
import { sendContent } from "./send-content.ts";
import type { Files, Upload } from "./service.ts";

const listing = createListing("files", filePositionSchema);
const read = { onRequest: requireScope("processes:read") };
const write = { onRequest: requireScope("processes:write") };
const tags = ["files"];
const params = fileParamsSchema;
const MAX_FIELDS = 10;
const MAX_FIELD_BYTES = 1024;
const NO_MEDIA_TYPE = "is not a media type. Leave it out, or send one such as text/csv.";
const REFUSALS: Readonly<Record<string, [code: ErrorCode, message: string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    "unsupported_media_type",
    `The Content-Type of the request ${NO_MEDIA_TYPE}`,
  ],
  FST_FILES_LIMIT: ["invalid_request", "The form contains more than one file. Send one at a time."],
  FST_FIELDS_LIMIT: [
    "invalid_request",
    `The form contains more than ${MAX_FIELDS} fields besides the file. Send the file alone.`,
  ],
};

export const contentResponses = {
  200: {
    description: "The content.",
    content: { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } },
  },
  206: {
    description: "The requested part.",
    content: { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } },
  },
  304: z.null().describe("The client already has it."),
};

export async function registerFileRoutes(app: App, files: Files): Promise<void> {
  const uploads: FastifyPluginAsync = async (scope) => registerUpload(scope as unknown as App, files);
  await app.register(uploads);

  app.get(
    "/files",
    {
      ...read,
      schema: {
        tags,
        operationId: "listFiles",
        summary: "List uploaded files, newest first",
        description: "Lists the files that this key uploaded and that have not expired.",
        querystring: fileListQuerySchema,
        response: { 200: fileListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) =>
      listing.answer(request.query, (page, filter) => files.list(callerOf(request), filter, page)),
  );

  app.get(
    "/files/:id",
    {
      ...read,
      schema: {
        tags,
        operationId: "getFile",
        summary: "Read the metadata of a file",
        description:
          "Returns name, size, type, digest and expiry; the content is at `GET /files/{id}/content`.",
        params,
        response: { 200: fileSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async (request) => files.get(callerOf(request), digestOf(request.params.id)),
  );

  app.delete(
    "/files/:id",
    {
      ...write,
      schema: {
        tags,
        operationId: "deleteFile",
        summary: "Delete a file",
        description: "Processes that were given the file keep its content.",
        params,
        response: {
          204: z.null().describe("Deleted."),
          ...errorResponses("invalid_request", "not_found", "shutting_down"),
        },
      },
    },
    async (request, reply) => {
      await files.remove(callerOf(request), digestOf(request.params.id));
      return reply.status(204).send(null);
    },
  );

  app.get(
    "/files/:id/content",
    {
      ...read,
      schema: {
        tags,
        operationId: "downloadFile",
        summary: "Download a file",
        description: "Returns the content as a download. `Range` and `If-None-Match` are supported.",
        params,
        headers: contentHeadersSchema,
        response: {
          ...contentResponses,
          ...errorResponses("invalid_request", "not_found", "range_not_satisfiable", "storage_unavailable"),
        },
      },
    },
    async (request, reply) =>
      sendContent(request, reply, await files.open(callerOf(request), digestOf(request.params.id))),
  );
}

/** Needs its own scope, because it accepts every content type and the route reads the body. */
async function registerUpload(app: App, files: Files): Promise<void> {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null, undefined));
  app.setErrorHandler<FastifyError>((error) => {
    const refusal = REFUSALS[error.code];
    throw refusal === undefined ? error : new AppError(...refusal);
  });
  await app.register(multipart, {
    throwFileSizeLimit: false,
    limits: { fileSize: Number.MAX_SAFE_INTEGER, files: 1, fields: MAX_FIELDS, fieldSize: MAX_FIELD_BYTES },
  });
  app.post(
    "/files",
    {
      ...write,
      schema: {
        tags,
        operationId: "uploadFile",
        summary: "Upload a file",
        description:
          "The body is the file with its Content-Type, or a form with one file. Uploading the same content again with the same key returns the same file and extends its expiry.",
        consumes: ["application/octet-stream", "multipart/form-data"],
        querystring: uploadQuerySchema,
        response: {
          200: fileSchema.describe("This key already has the file; its expiry was extended."),
          201: fileSchema,
          ...errorResponses(
            "invalid_request",
            "body_too_large",
            "storage_full",
            "unsupported_media_type",
            "too_many_uploads",
            "shutting_down",
            "storage_unavailable",
          ),
        },
      },
    },
    async (request, reply) => {
      const { name } = request.query;
      const takes = () => (request.isMultipart() ? takePart(request, name) : takeBody(request, name));
      const { record, isNew } = await files.upload(callerOf(request), declaredBytes(request), takes);
      // The audit trail records this instead of the bytes.
      request.body = record;
      return reply
        .status(isNew ? 201 : 200)
        .header("location", `/files/${record.id}`)
        .send(record);
    },
  );
}

/** Returns the declared size if the body is the file, or null for a form, which is larger than its file. */
function declaredBytes(request: FastifyRequest): number | null {
  const declared = request.headers["content-length"];
  return declared === undefined || request.isMultipart() ? null : Number(declared);
}

async function takeBody(request: FastifyRequest, name: string | undefined): Promise<Upload> {
  return {
    name: name ?? null,
    contentType: typeOfUpload(checkMediaType(request.headers["content-type"]), name),
    // Keep the request open after an abandoned read, because the client still needs a response.
    bytes: request.raw.iterator({ destroyOnReturn: false }),
  };
}

async function takePart(request: FastifyRequest, name: string | undefined): Promise<Upload> {
  const parts = request.files();
  const { value: part } = await parts.next().catch(explainForm);
  if (part === undefined) {
    throw new AppError("invalid_request", "The form contains no file. Send one part with a file name.");
  }
  const partName = name ?? (part.filename || undefined);
  const parsed = fileNameSchema.optional().safeParse(partName);
  if (!parsed.success) {
    part.file.resume();
    throw new AppError("invalid_request", parsed.error.issues[0]?.message ?? "The file name is not valid.");
  }
  return {
    name: partName ?? null,
    contentType: typeOfUpload(checkMediaType(part.mimetype), partName),
    bytes: untilTheEnd(request, part.file, parts),
  };
}

/** Throws if the form breaks off. Its file then looks complete; only the end of the form proves that it is. */
async function* untilTheEnd(
  request: FastifyRequest,
  file: AsyncIterable<Buffer>,
  parts: AsyncIterator<unknown>,
): AsyncGenerator<Buffer> {
  try {
    yield* file;
    await parts.next();
  } catch (error) {
    explainForm(error);
  }
  if (!request.raw.complete) {
    throw new AppError("invalid_request", "The connection ended before the form was complete.");
  }
}

/**
 * Errors without a code come from the form parser and mean an unreadable form; other errors come from the plugin or
 * the connection.
 */
function explainForm(error: unknown): never {
  if (error instanceof Error && "code" in error) throw error;
  throw new AppError(
    "invalid_request",
    "The form is not valid multipart/form-data: its boundary is missing, a part of it is malformed, or it ends too early.",
    { cause: error },
  );
}

function checkMediaType(type: string | undefined): string | undefined {
  if (type === undefined || isMediaType(type)) return type;
  throw new AppError("unsupported_media_type", `The Content-Type of the file ${NO_MEDIA_TYPE}`);
}

function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === null) throw new Error("a file request has no caller");
  return caller;
}
