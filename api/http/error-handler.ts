/**
 * Turns errors into HTTP responses: `{error, code, requestId, issues?}`. From status 500, the cause appears only in
 * the log. Responses never contain a stack, a secret or script source.
 */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { finished } from "node:stream/promises";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { hasZodFastifySchemaValidationErrors } from "fastify-type-provider-zod";
import { isDatabaseUnavailable } from "../db/pool.ts";
import { AppError, type ErrorCode, type ErrorIssue } from "../errors.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { App } from "./app-type.ts";

const DATABASE_RETRY_SECONDS = 2;
const MAX_ISSUES = 50;
/** Time after which a client still sending its request is disconnected, once it was sent an error. */
const LINGER_MS = 2000;
const PLACES: Record<string, string> = { querystring: "query" };

export interface ErrorBody {
  error: string;
  code: ErrorCode;
  requestId: string;
  issues?: ErrorIssue[];
}

export type ErrorRedactor = Pick<Redactor, "text">;

export function registerErrorHandler(app: App, redactor: ErrorRedactor): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => answerError(error, request, reply, redactor));
  app.setNotFoundHandler(async (request) => {
    throw new AppError("not_found", `There is no ${request.method} ${pathOf(request.url)} here. See /docs.`);
  });
}

export function answerError(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
  redactor: ErrorRedactor,
): FastifyReply {
  const left = hasLeft(error, request);
  if (left) request.log.debug("the client left before its request was complete");
  const known = left ? CLIENT_LEFT : describeError(error);
  // A 503 without a cause is deliberate, like errors below 500: the request's own log line has its status.
  const isRefusal = known.status === 503 && known.cause === undefined;
  if (isRefusal) request.log.debug({ code: known.code }, "request refused");
  else if (known.status >= 500)
    request.log.error(
      { err: known.code === "internal_error" ? error : (known.cause ?? known) },
      "request failed",
    );
  if (known.retryAfterSeconds !== undefined) void reply.header("retry-after", known.retryAfterSeconds);
  const body: ErrorBody = { error: redactor.text(known.message), code: known.code, requestId: request.id };
  if (known.issues !== undefined) {
    body.issues = known.issues.map(({ path, message }) => ({
      path: redactor.text(path),
      message: redactor.text(message),
    }));
  }
  outlastRequest(request, reply);
  return reply
    .status(known.status)
    .type("application/json; charset=utf-8")
    .serializer(String)
    .send(JSON.stringify(body));
}

/**
 * Sends an error while the request is still arriving, for example when its body is too large. Closing the connection
 * now would reset it, and the client might never read the reason, so the rest is read and discarded for a while. A
 * server that is shutting down closes its connections anyway.
 */
function outlastRequest({ raw: body }: FastifyRequest, reply: FastifyReply): void {
  if (body.complete || body.destroyed) return;
  const answer = reply.removeHeader("connection").raw;
  const isLast = !answer.shouldKeepAlive;
  // Node would otherwise close the connection at the end of the response.
  answer.shouldKeepAlive = true;
  const late = setTimeout(() => body.destroy(), LINGER_MS);
  body.once("close", async () => {
    clearTimeout(late);
    if (!isLast) return;
    await finished(answer).catch(() => {});
    body.socket.end();
  });
  body.unpipe();
  body.resume();
}

/** True if the connection ended in the middle of the body. Node's error for that looks like a lost database. */
function hasLeft(error: FastifyError | Error, request: FastifyRequest): boolean {
  return request.raw.readableAborted && "code" in error && error.code === "ECONNRESET";
}

/** Counted by the metrics; no client receives it. */
const CLIENT_LEFT = new AppError("invalid_request", "The connection ended before the request was complete.");

export function describeError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (isDatabaseUnavailable(error)) {
    return new AppError(
      "database_unavailable",
      "The database cannot be used at the moment. Try again shortly.",
      {
        cause: error,
        retryAfterSeconds: DATABASE_RETRY_SECONDS,
      },
    );
  }
  if (hasZodFastifySchemaValidationErrors(error)) return describeInvalidRequest(error);
  return (
    describeFrameworkError(error as FastifyError) ??
    new AppError(
      "internal_error",
      "Something went wrong inside the server. Its log has the cause under this request id.",
      {
        cause: error,
      },
    )
  );
}

function describeInvalidRequest(error: {
  validation: { instancePath: string; message?: string; params: Record<string, unknown> }[];
  validationContext?: string | undefined;
}): AppError {
  const place = error.validationContext ?? "body";
  const issues = error.validation.slice(0, MAX_ISSUES).map((issue) => ({
    path: [PLACES[place] ?? place, ...issue.instancePath.split("/").filter((part) => part !== "")].join("."),
    message: issue.message ?? "invalid",
  }));
  const [first] = issues;
  const rest = error.validation.length > 1 ? ` (and ${error.validation.length - 1} more)` : "";
  return new AppError(
    "invalid_request",
    `The request is not valid: ${first?.path}: ${first?.message}${rest}`,
    { issues },
  );
}

function describeFrameworkError(error: FastifyError): AppError | null {
  switch (error.code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new AppError(
        "unsupported_media_type",
        "The request body must be JSON: send the header Content-Type: application/json.",
      );
    case "FST_ERR_CTP_INVALID_JSON_BODY":
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return new AppError("invalid_json", "The request body is not valid JSON.");
    case "FST_ERR_BAD_URL":
      return new AppError(
        "invalid_request",
        "The path of the request is not valid: it has a broken percent encoding.",
      );
    case "FST_ERR_MAX_PARAM_LENGTH":
      return new AppError("not_found", "There is nothing at this path: a part of it is too long.");
  }
  if (error.statusCode === 404) return new AppError("not_found", "There is nothing at this path.");
  if (error.statusCode === 413) return new AppError("body_too_large", "The request body is too large.");
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return new AppError("invalid_request", "The request is not valid.", { cause: error });
  }
  return null;
}

/** Answers requests that cannot be parsed as HTTP and so have neither a request nor a reply object. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const body = JSON.stringify({
    error: `The request is not valid HTTP: ${STATUS_CODES[status]}.`,
    code: "invalid_request",
    requestId: "",
  });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  // A client that does not close its side would otherwise keep its data in memory.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function pathOf(url: string): string {
  return (url.split("?")[0] ?? "").slice(0, 200);
}
