import type { FastifyReply } from "fastify";

export function clientGone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}

/** Sends JSON text unchanged, without validating it; tests check such responses against their schemas. */
export function sendJson(reply: FastifyReply, json: string): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(json);
}

export function sendText(reply: FastifyReply, text: string | Buffer): FastifyReply {
  return reply.type("text/plain; charset=utf-8").send(text);
}
