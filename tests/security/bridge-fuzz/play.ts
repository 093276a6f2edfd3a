/**
 * Plays one conversation against the host's channel and session, as the supervisor would, and answers which of the
 * invariants broke: no exception, bounded buffers, exactly one end, nothing after it, nothing illegitimate handed out.
 */
import { isDeepStrictEqual } from "node:util";
import { Session, type SessionEnd } from "#runner/host/session.ts";
import { type Channel, type ChannelListener, createChannel } from "#runner/wire/channel.ts";
import type { StartParams } from "#runner/wire/protocol.ts";
import { type Conversation, cutIntoChunks, type ExpectedEvent } from "./conversation.ts";
import { createHost, type Host } from "./host.ts";
import { findFaultInEnd } from "./legitimate.ts";
import { createReceived, createSent, type Received } from "./peer.ts";
import { createPrng } from "./prng.ts";

export interface Played {
  /** Frames the host judged. */
  frames: number;
  /** How it ended, as `kind` or `kind reason`. */
  end: string;
  /** Which invariants broke; empty is good. */
  faults: string[];
}

const PIPE_BYTES = 64 * 1024;
/**
 * The chunk being cut into frames, one that came when nothing listened any more, and what the stream reads ahead: up to its mark
 * and one chunk beyond.
 */
const MAX_CHUNKS_HELD = 4;
/** One reply at most is queued beyond what the peer takes: 16 Mi characters, each up to three bytes. */
const MAX_REPLY_BYTES = 3 * 16 * 1024 * 1024;
const MAX_TURNS = 5_000;
const MAX_WAIT_MS = 20_000;

/** What the host begins every conversation with; no script is behind it. */
export const START: StartParams = {
  code: "async()=>1",
  mappings: "",
  process: { id: 7, ref: null },
  seed: "",
  randomSeed: [1, 2, 3, 4],
  readsWideClocks: false,
  limits: {
    maxConcurrentCalls: 1,
    maxCalls: 1,
    maxMessageBytes: 1,
    maxStdoutBytes: 1,
    maxStderrBytes: 1,
    maxOutputBytes: 1,
    maxResultBytes: 1,
  },
};

export async function play(conversation: Conversation): Promise<Played> {
  const { session: limits, channel: bounds, expected } = conversation;
  const faults: string[] = [];
  const sent = createSent(cutIntoChunks(conversation), conversation.pace, (stream) => {
    if (conversation.leaving === "end") stream.push(null);
    else if (conversation.leaving === "destroy") stream.destroy();
    else if (conversation.leaving === "error") stream.destroy(new Error("read ECONNRESET"));
  });
  const received = createReceived(conversation.reading);
  const channel = createChannel(sent.stream, received.stream, bounds);
  const host = createHost(createPrng(~conversation.seed), conversation.handlers, limits, expected !== null);
  const stop = new AbortController();
  let frames = 0;
  let bodyReads = 0;

  function checkBuffers(): void {
    const maxBuffered = bounds.maxFrameBytes + bounds.maxAttachmentBytes + 8 + MAX_CHUNKS_HELD * PIPE_BYTES;
    if (channel.bufferedBytes > maxBuffered) faults.push(`${channel.bufferedBytes} bytes buffered`);
    const maxQueued = Math.min(
      bounds.maxQueuedBytes,
      received.stream.writableHighWaterMark + MAX_REPLY_BYTES,
    );
    if (channel.queuedBytes > maxQueued) faults.push(`${channel.queuedBytes} bytes queued`);
  }

  const counted = countFrames(channel, (value) => {
    frames++;
    if ((value as { method?: unknown } | null)?.method === "readBody") bodyReads++;
    checkBuffers();
  });
  if (conversation.greeting) await takeGreeting(channel);
  let ends = 0;
  const { end: session } = new Session({
    channel: counted,
    start: START,
    openCalls: () => host.calls,
    events: host.events,
    limits,
    signal: stop.signal,
  });
  let end: SessionEnd | null = null;
  session.then(
    (value) => {
      ends++;
      end = value;
    },
    (error) => faults.push(`the session rejected: ${error}`),
  );

  const givesUpAfter = conversation.abortAfterChunks;
  const startedAt = performance.now();
  for (let turn = 0; end === null && faults.length === 0; turn++) {
    await nextTurn();
    checkBuffers();
    const isSilent = sent.isDone && conversation.leaving === "silence";
    if (!stop.signal.aborted && (isSilent || (givesUpAfter !== null && sent.taken >= givesUpAfter))) {
      stop.abort();
      // The supervisor kills the child: its pipe ends, and so does the channel within a bounded time.
      channel.close();
    }
    if (turn > MAX_TURNS && performance.now() - startedAt > MAX_WAIT_MS) {
      faults.push(`did not end within ${MAX_TURNS} turns`);
    }
  }
  const queuedAtEnd = received.messages.length;
  const finished = host.finish();
  channel.close();
  await nextTurn();
  await nextTurn();
  await finished;
  if (ends !== 1 && faults.length === 0) faults.push(`${ends} ends`);
  if (received.messages.length > queuedAtEnd + 1) faults.push("replies were sent after the end");
  if (end !== null) faults.push(...judgeEnd(end, conversation), ...judgeReplies(received, host, bodyReads));
  if (expected !== null && end !== null) faults.push(...compare(conversation, expected, end, host));
  return {
    frames: frames + (isParseFailure(end) ? 1 : 0),
    end: nameEnd(end),
    faults: [...faults, ...host.faults],
  };
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** As the spawner does: takes one message and stops listening. What the child says meanwhile waits. */
function takeGreeting(channel: Channel): Promise<void> {
  return new Promise((resolve) => {
    const detach = channel.attach({
      message() {
        detach();
        setImmediate(resolve);
      },
      closed: () => resolve(),
    });
  });
}

/** The same channel, telling of each frame before its listener does. */
function countFrames(channel: Channel, onFrame: (value: unknown) => void): Channel {
  const attach = channel.attach.bind(channel);
  return Object.assign(channel, {
    attach: (listener: ChannelListener) =>
      attach({
        message(frame) {
          onFrame(frame.value);
          listener.message(frame);
        },
        closed: (close) => listener.closed(close),
      }),
  });
}

/** Frames that were refused before they were a message are counted here, for the listener never saw them. */
function isParseFailure(end: SessionEnd | null): boolean {
  return (
    end?.kind === "violation" && /^(a frame|an attachment|an empty|a message is nested)/.test(end.message)
  );
}

function nameEnd(end: SessionEnd | null): string {
  if (end === null) return "none";
  if (end.kind === "violation") return `violation ${end.reason}`;
  if (end.kind === "end") return end.end.ok ? "end ok" : `end ${end.end.reason}`;
  return end.kind === "closed" ? `closed ${end.close.kind}` : end.kind;
}

function judgeEnd(end: SessionEnd, conversation: Conversation): string[] {
  if (end.kind === "host_error")
    return [`the host failed: ${String((end.error as Error)?.stack ?? end.error)}`];
  if (end.kind === "end") {
    const fault = findFaultInEnd(end.end);
    return fault === null ? [] : [fault];
  }
  if (end.kind === "violation" && (end.message === "" || end.message.length > 1_000))
    return ["a violation without a sentence"];
  if (end.kind === "aborted" && conversation.abortAfterChunks === null && conversation.leaving !== "silence")
    return ["aborted by nobody"];
  return [];
}

/**
 * Every message the child got is well-formed, `start` came first, no id was answered twice, and no body was asked for more than the child
 * read and the host may hold. No handler is asked for a piece of a body.
 */
function judgeReplies({ messages }: Received, host: Host, bodyReads: number): string[] {
  const answered = new Set<unknown>();
  let readBytes = 0;
  for (const [index, text] of messages.entries()) {
    const message = JSON.parse(text) as { id?: unknown; method?: unknown; result?: { base64?: unknown } };
    if (index === 0 ? message.method !== "start" : typeof message.id !== "number")
      return [`the host sent ${text.slice(0, 100)}`];
    if (index > 0 && answered.has(message.id)) return [`call ${message.id} was answered twice`];
    answered.add(message.id);
    const piece = message.result?.base64;
    if (typeof piece === "string") readBytes += Buffer.byteLength(piece, "base64");
    else if (/secret|\.ts:\d/.test(text)) return ["a reply tells more than it may"];
  }
  if (answered.size > host.handled + bodyReads + 1) return ["more answers than calls"];
  const { pulledBytes } = host.bodies;
  const maxBytes = host.bodies.maxPulledBytes(readBytes, Math.max(0, bodyReads - answered.size + 1));
  return pulledBytes > maxBytes
    ? [`${pulledBytes} bytes of bodies were asked for, ${maxBytes} at most are read or held`]
    : [];
}

/** For a conversation whose outcome is certain. */
function compare(
  conversation: Conversation,
  expected: NonNullable<Conversation["expected"]>,
  end: SessionEnd,
  host: Host,
): string[] {
  const faults: string[] = [];
  // A peer that goes away at once, or breaks its own end, may cut a conversation short, never change it.
  const mayBeCutShort = conversation.leaving !== "end" || conversation.reading === "breaks";
  const isCutShort = mayBeCutShort && (end.kind === "closed" || end.kind === "aborted");
  if (!isCutShort && end.kind !== expected.end.kind)
    faults.push(`ended by ${end.kind}, not by ${expected.end.kind}`);
  if (end.kind === "end" && expected.end.kind === "end" && !isDeepStrictEqual(end.end, expected.end.params)) {
    faults.push("another end than was sent");
  }
  const got = normalise(host.heard);
  const want = normalise(expected.events).slice(0, isCutShort ? got.length : undefined);
  if (!isDeepStrictEqual(got, want)) faults.push(describeDifference(want, got));
  return faults;
}

/** Text as it is after its way through UTF-8, empty text left out. */
function normalise(events: ExpectedEvent[]): ExpectedEvent[] {
  return events.flatMap((event): ExpectedEvent[] => {
    if (event[0] !== "stdout" && event[0] !== "stderr") return [event];
    return event[1] === "" ? [] : [[event[0], Buffer.from(event[1]).toString()]];
  });
}

function describeDifference(want: ExpectedEvent[], got: ExpectedEvent[]): string {
  const at = want.findIndex((event, index) => !isDeepStrictEqual(event, got[index]));
  const index = at < 0 ? want.length : at;
  const show = (event: ExpectedEvent | undefined) => JSON.stringify(event)?.slice(0, 200) ?? "nothing";
  return `event ${index}: ${show(want[index])} was sent, ${show(got[index])} was heard`;
}
