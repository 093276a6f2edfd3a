import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { AppError } from "#api/errors.ts";
import { measureDepth } from "#kernel/json-depth.ts";
import { createSharedRoom, type SharedRoom } from "#runner/shared-room.ts";
import { isJsonObject, parseExactJson } from "#sdk";
import type { App } from "../app-type.ts";
import { createLargeJson, MAX_BODY_DEPTH } from "./large.ts";

export const MAX_BODY_BYTES = 1024 * 1024;
/**
 * Limit for routes that accept an input (1 MiB) and more, still parsed on this thread. Larger limits use `large.ts`.
 */
export const MAX_BODY_WITH_INPUT_BYTES = 2 * MAX_BODY_BYTES;

/** Maximum number of members, because validating more would block other requests. */
const MAX_MEMBERS = 1000;
const MAX_INNER_MEMBERS = 5000;
/** Members with caller data, which our schemas do not inspect. */
const CALLER_DATA = new Set(["input", "parameters", "data"]);

/** RFC 6902 registers `application/json-patch+json` for a JSON Patch. */
const JSON_TYPES = ["application/json", "application/json-patch+json"];

type BodyDone = (failure: Error | null, body?: unknown) => void;

/** Overhead of a chunk in memory, because a client may send each byte as its own chunk. */
const PIECE_BYTES = 256;
const RETRY_AFTER_SECONDS = 2;

/**
 * Replaces fastify's parsers. A missing body is read as `{}`, so that a schema can name missing members.
 * `maxPendingBytes` limits all bodies being received; one key may use half of it.
 */
export function registerJsonBody(app: App, maxPendingBytes: number): void {
  const room = createSharedRoom(maxPendingBytes, maxPendingBytes / 2);
  const parseJson = app.getDefaultJsonParser("error", "error");
  const large = createLargeJson();
  app.addHook("onClose", () => large[Symbol.asyncDispose]());
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(JSON_TYPES, (request, body, done: BodyDone) => {
    receiveBody(request, body, room, (failure, bytes) => {
      if (failure !== null) return done(failure);
      if (bytes.length === 0) return done(null, undefined);
      if (bytes.length > MAX_BODY_BYTES && request.routeOptions.bodyLimit !== MAX_BODY_WITH_INPUT_BYTES) {
        void large.parse(bytes).then((value) => done(null, value), done);
        return;
      }
      let text: string;
      try {
        text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      } catch {
        return done(new AppError("invalid_json", "The request body is not valid UTF-8."));
      }
      if (measureDepth(bytes, MAX_BODY_DEPTH) > MAX_BODY_DEPTH) {
        return done(
          new AppError("invalid_json", `The request body is nested deeper than ${MAX_BODY_DEPTH} levels.`),
        );
      }
      void parseJson(request, text, (error, value) => {
        if (error) return done(new AppError("invalid_json", describeProblem(text)));
        const problem = findExcess(value);
        if (problem !== null) return done(new AppError("invalid_json", problem));
        done(null, request.routeOptions.config.keepsIntegers ? parseExactJson(text) : value);
      });
    });
  });
  // Rejects compressed bodies, after every check of the caller. Covers file uploads too, which would otherwise be
  // stored compressed.
  app.addHook("preParsing", (request, reply, payload, done) => {
    if (/^(identity)?$/i.test(request.headers["content-encoding"] ?? "")) return done(null, payload);
    reply.header("accept-encoding", "identity");
    done(
      new AppError(
        "unsupported_media_type",
        "The request body is compressed, and Content-Encoding is not supported. Send it uncompressed.",
      ),
    );
  });
  app.addHook("preValidation", async (request) => {
    if (request.body === undefined && ["POST", "PUT", "PATCH"].includes(request.method)) request.body = {};
  });
}

/**
 * Calls `done` once, with the complete body or an error, after releasing its memory. A body that arrives as a single
 * chunk is not counted.
 */
function receiveBody(
  { headers, routeOptions, caller, ip }: FastifyRequest,
  body: IncomingMessage,
  room: SharedRoom,
  done: (failure: Error | null, bytes: Buffer) => void,
): void {
  const maxBytes = routeOptions.bodyLimit ?? MAX_BODY_BYTES;
  const declaredBytes = Number(headers["content-length"]);
  if (declaredBytes > maxBytes) {
    done(tooLarge(maxBytes), Buffer.alloc(0));
    return;
  }
  const key = caller?.id ?? ip;
  const pieces: Buffer[] = [];
  let bytes = 0;
  let held = 0;
  const end = (failure: Error | null) => {
    body.off("data", take).off("end", finish).off("error", end).off("close", leave);
    if (held > 0) room.give(key, held);
    done(failure, failure === null ? Buffer.concat(pieces, bytes) : Buffer.alloc(0));
  };
  const take = (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > maxBytes) return end(tooLarge(maxBytes));
    pieces.push(piece);
    if (bytes === declaredBytes) return;
    const refusal = room.take(key, piece.length + PIECE_BYTES);
    if (refusal !== null) return end(refusal === "share" ? tooManyBodies(room.heldBy(key)) : busy(room.max));
    held += piece.length + PIECE_BYTES;
  };
  const finish = () => {
    const isWhole = Number.isNaN(declaredBytes) || bytes === declaredBytes;
    end(isWhole ? null : new AppError("invalid_request", WRONG_LENGTH));
  };
  const leave = () =>
    end(new AppError("invalid_request", "The connection ended before the body was complete."));
  body.on("data", take).on("end", finish).on("error", end).on("close", leave);
}

const WRONG_LENGTH = "The request body is not as long as its Content-Length header says.";

function tooLarge(maxBytes: number): AppError {
  return new AppError(
    "body_too_large",
    `The request body is too large: at most ${maxBytes / 1024 ** 2} MiB (${maxBytes} bytes) is accepted.`,
  );
}

function tooManyBodies(held: number): AppError {
  return new AppError(
    "too_many_bodies",
    `Unfinished requests of this key use ${held} bytes, its share of the memory for them (CYRNEL_MAX_PENDING_BODY_BYTES). Send fewer at once.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}

function busy(max: number): AppError {
  return new AppError(
    "server_busy",
    `Unfinished requests use all of the ${max} bytes reserved for them (CYRNEL_MAX_PENDING_BODY_BYTES). Try again shortly.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}

/**
 * Locates the syntax error in invalid JSON. Omits V8's quote of the surrounding text, which may contain a script or a
 * secret.
 */
function describeProblem(text: string): string {
  try {
    JSON.parse(text);
    return "The request body has a key that is not allowed (__proto__ or constructor).";
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    return `The request body is not valid JSON${position === undefined ? "" : `: unexpected input at position ${position}`}.`;
  }
}

/** Returns why the body has too many members to validate in time, or null. */
function findExcess(body: unknown): string | null {
  if (!isJsonObject(body)) return null;
  const names = Object.keys(body);
  if (names.length > MAX_MEMBERS) return `The request body has more than ${MAX_MEMBERS} members.`;
  const excess = names.find((name) => !CALLER_DATA.has(name) && isCrowded(body[name]));
  return excess === undefined ? null : `${excess} has more than ${MAX_INNER_MEMBERS} members.`;
}

function isCrowded(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length > MAX_INNER_MEMBERS;
}
