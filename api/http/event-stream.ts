import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

/** Time after which a client that reads nothing is disconnected. It can resume with `Last-Event-ID`. */
const MAX_STALL_MS = 30_000;
const MAX_BUFFER_BYTES = 64 * 1024;

/** Sets the headers and returns the body for `reply.send`. `events` yields complete events as text. */
export function openEventStream(reply: FastifyReply, events: AsyncGenerator<string, void>): Readable {
  reply
    .header("cache-control", "no-store, no-transform")
    .header("x-accel-buffering", "no")
    .type("text/event-stream");
  return Readable.from(
    cutOffStalled(events, () => reply.raw.destroy()),
    { objectMode: false, highWaterMark: MAX_BUFFER_BYTES },
  );
}

async function* cutOffStalled(
  events: AsyncGenerator<string, void>,
  cutOff: () => void,
): AsyncGenerator<string, void> {
  for await (const event of events) {
    const timer = setTimeout(cutOff, MAX_STALL_MS);
    try {
      yield event;
    } finally {
      clearTimeout(timer);
    }
  }
}
