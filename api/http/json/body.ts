/**
 * Request bodies: JSON only, strict UTF-8, bounded in size (by fastify) and nesting. Other types answer 415.
 */
import { AppError } from "#api/errors.ts";
import { measureDepth } from "#runner/wire/frames.ts";
import type { App } from "../app-type.ts";
import { createLargeJson, MAX_BODY_DEPTH } from "./large.ts";

/** Of every route that does not say more (`bodyLimit`). */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Of routes that take an input (1 MiB) beside the rest: still parsed where it is used. Larger limits are for `large.ts`. */
export const MAX_BODY_WITH_INPUT_BYTES = 2 * MAX_BODY_BYTES;

/** `application/json-patch+json` is what RFC 6902 calls a JSON Patch. */
const JSON_TYPES = ["application/json", "application/json-patch+json"];

/** Replaces fastify's parsers. A missing body counts as `{}`, so that a schema can name what is missing in it. */
export function registerJsonBody(app: App): void {
  const parseJson = app.getDefaultJsonParser("error", "error");
  const large = createLargeJson();
  app.addHook("onClose", () => large[Symbol.asyncDispose]());
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    JSON_TYPES,
    { parseAs: "buffer", bodyLimit: MAX_BODY_BYTES },
    (request, bytes, done) => {
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
        done(null, value);
      });
    },
  );
  // Behind every refusal of the caller. A file that is sent compressed would be stored as something else than it is, too.
  app.addHook("preParsing", (request, reply, payload, done) => {
    if (/^(identity)?$/i.test(request.headers["content-encoding"] ?? "")) return done(null, payload);
    reply.header("accept-encoding", "identity");
    done(
      new AppError(
        "unsupported_media_type",
        "The request body is compressed, and Content-Encoding is not supported. Send it as it is.",
      ),
    );
  });
  app.addHook("preValidation", async (request) => {
    if (request.body === undefined && ["POST", "PUT", "PATCH"].includes(request.method)) request.body = {};
  });
}

/** Of a text that was refused: where the mistake is. V8 quotes the text around it: that is left out, a script or a secret may be in it. */
function describeProblem(text: string): string {
  try {
    JSON.parse(text);
    return "The request body has a key that is not allowed (__proto__ or constructor).";
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    return `The request body is not valid JSON${position === undefined ? "" : `: unexpected input at position ${position}`}.`;
  }
}
