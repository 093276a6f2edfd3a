/** Answers that are text already, and how a client that has gone is noticed. */
import type { FastifyReply } from "fastify";

/** Aborts when the connection closes before the answer was sent. */
export function clientGone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}

/** JSON that is text already: sent as it is. Responses are checked against their schemas by tests. */
export function sendJson(reply: FastifyReply, json: string): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(json);
}

export function sendText(reply: FastifyReply, text: string | Buffer): FastifyReply {
  return reply.type("text/plain; charset=utf-8").send(text);
}
