/** Errors that are answered while their request still comes, such as a body that is too large. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import type { App } from "./app-type.ts";

/** A client that sends on is cut off then. */
const LINGER_MS = 2000;

/**
 * A connection that is closed while its client still sends is reset, and the client may never read why. So the rest is read and
 * thrown away, for a while. Registered after what closes connections with an answer.
 */
export function registerEarlyAnswers(app: App): void {
  app.addHook("onSend", (request, reply, _payload, done) => {
    if (reply.statusCode >= 400 && !request.raw.complete) {
      reply.removeHeader("connection");
      outlast(request.raw, reply.raw);
    }
    done();
  });
}

function outlast(body: IncomingMessage, answer: ServerResponse): void {
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
