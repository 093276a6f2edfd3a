/**
 * Sends a stored content: completely, in part (RFC 9110, "Range Requests"), or not at all if the client already has
 * it. A client or script chose its type and name, so browsers must only ever save it.
 */
import { Readable } from "node:stream";
import { create as contentDisposition } from "content-disposition";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../errors.ts";
import type { OpenFile } from "./service.ts";

/** Time after which a client that reads nothing is disconnected. */
const MAX_STALL_MS = 30_000;

function savedAs(name: string | null): string | undefined {
  return name?.split("/").at(-1);
}

/** Keeps browsers from rendering the response, whatever its type. */
export function setDownloadHeaders(reply: FastifyReply, contentType: string, name: string | null): void {
  reply.headers({
    "content-type": contentType,
    "content-disposition": contentDisposition(savedAs(name)),
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "cache-control": "private, no-cache",
  });
}

/** Request destinations (Fetch standard) for which a browser would execute or apply the content. */
const APPLIED = new Set([
  "script",
  "worker",
  "sharedworker",
  "serviceworker",
  "audioworklet",
  "paintworklet",
  "style",
  "xslt",
  "manifest",
]);

export async function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  { name, digest, contentType, content }: OpenFile,
): Promise<FastifyReply> {
  if (APPLIED.has(String(request.headers["sec-fetch-dest"] ?? ""))) {
    throw new AppError(
      "forbidden",
      "A stored file can be downloaded or shown as data, not loaded into a page as code.",
    );
  }
  const { size } = content;
  const tag = `"${digest}"`;
  const { range, "if-range": ifRange, "if-none-match": known } = request.headers;
  setDownloadHeaders(reply, contentType, name);
  reply.headers({ etag: tag, "accept-ranges": "bytes" });
  if (known !== undefined && isKnown(known, tag)) return reply.status(304).send();
  const isRanged = range !== undefined && (ifRange === undefined || ifRange === tag);
  const part = isRanged && request.method === "GET" ? parseRange(range, size) : "whole";
  if (part === "unsatisfiable") {
    reply.header("content-range", `bytes */${size}`).removeHeader("content-disposition");
    throw new AppError(
      "range_not_satisfiable",
      `The file has ${size} bytes; the range begins after its end.`,
    );
  }
  const { from, length } = part === "whole" ? { from: 0, length: size } : part;
  if (part !== "whole") {
    reply.status(206).header("content-range", `bytes ${from}-${from + length - 1}/${size}`);
  }
  reply.header("content-length", length);
  if (request.method === "HEAD") return reply.send(Readable.from([]));
  return reply.send(await openStream(content.stream(from, length), reply));
}

/**
 * Reads the first bytes before the response starts, so that a missing content causes an error instead of a broken
 * response.
 */
export async function openStream(bytes: AsyncIterable<Buffer>, reply: FastifyReply): Promise<Readable> {
  const pieces = bytes[Symbol.asyncIterator]();
  const first = await pieces.next();
  return Readable.from(
    cutOffStalled(first, pieces, () => reply.raw.destroy()),
    { objectMode: false },
  );
}

async function* cutOffStalled(
  first: IteratorResult<Buffer>,
  pieces: AsyncIterator<Buffer>,
  cutOff: () => void,
): AsyncGenerator<Buffer> {
  try {
    for (let next = first; !next.done; next = await pieces.next()) {
      const timer = setTimeout(cutOff, MAX_STALL_MS);
      try {
        yield next.value;
      } finally {
        clearTimeout(timer);
      }
    }
  } finally {
    await pieces.return?.();
  }
}

function isKnown(header: string, tag: string): boolean {
  return header.split(",").some((one) => ["*", tag, `W/${tag}`].includes(one.trim()));
}

type Part = { from: number; length: number } | "whole" | "unsatisfiable";

/** Parses a single range. For anything else the complete content is sent, as the RFC allows. */
function parseRange(header: string, size: number): Part {
  const found = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header.trim());
  const [, first = "", last = ""] = found ?? [];
  if (first === "" && last === "") return "whole";
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { from: size - length, length };
  }
  const from = Number(first);
  const to = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < from) return "whole";
  return from >= size ? "unsatisfiable" : { from, length: to - from + 1 };
}
