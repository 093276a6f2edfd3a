/** Errors that are answered while their request still comes, such as a body that is too large. */
import { finished } from "node:stream/promises";
import type { FastifyReply, FastifyRequest } from "fastify";

/** A client that sends on is cut off then. */
const LINGER_MS = 2000;

/**
 * To be called before an error is sent. A connection that is closed while its client still sends is reset, and the client may
 * never read why: so the rest is read and thrown away, for a while. A server that is leaving closes its connections all the same.
 */
export function outlastRequest({ raw: body }: FastifyRequest, reply: FastifyReply): void {
  if (body.complete || body.destroyed) return;
  const answer = reply.removeHeader("connection").raw;
  const isLast = !answer.shouldKeepAlive;
  // Node would close the connection with the end of the answer.
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
