/**
 * One conversation of a hostile child, made from its seed alone: what it sends, cut how, at which pace, whether it reads,
 * how it goes away, and, where that is certain, what the host must make of it.
 */
import { hash } from "node:crypto";
import type { ChannelLimits } from "#runner/wire/channel.ts";
import { DEFAULT_SESSION_LIMITS, PROTOCOL_LIMITS, type SessionLimits } from "#runner/wire/protocol.ts";
import { hostileName } from "../name-fuzz/names.ts";
import { clip, FRAME_HEADER_BYTES, frame, type Step, toStep } from "./frame.ts";
import {
  createAttachment,
  createBodyRead,
  createFileCall,
  createMessage,
  createToolCall,
  type MessageKind,
  READY,
} from "./messages.ts";
import { lieAboutLength, mutateBytes, mutateDocument, mutateText } from "./mutations.ts";
import { createPoison } from "./poison.ts";
import { createPrng, type Prng } from "./prng.ts";
import { type Json, render } from "./wire-json.ts";
import { GIVEN_NAMES } from "./workspace.ts";

/** What must have come of a conversation: everything before the end, in order, and how it ended. */
export interface Expectation {
  events: ExpectedEvent[];
  end: { kind: "end"; params: unknown } | { kind: "violation" };
}
export type ExpectedEvent =
  | ["stdout" | "stderr", string]
  | ["output", unknown]
  /** The last is the SHA-256 of what was attached. */
  | ["call", string, unknown, string | null];

export interface Conversation {
  seed: number;
  kind: ConversationKind;
  session: SessionLimits;
  channel: ChannelLimits;
  steps: Step[];
  /** Sent before the run, and taken by another listener: what a child says while it starts. */
  greeting: Step | null;
  cut: "whole" | "frames" | "pieces" | "crumbs";
  pace: "sync" | "microtask" | "immediate";
  /** Reaction of the child to the host's messages. */
  reading: "all" | "slow" | "never" | "breaks";
  /** How the child goes away once it has said everything; `silence`: it does not. */
  leaving: "end" | "destroy" | "error" | "silence";
  /** The host gives up (a time-out, a kill) after so many chunks. */
  abortAfterChunks: number | null;
  handlers: "echo" | "mixed" | "never" | "workspace" | "bodies";
  expected: Expectation | null;
}

const KINDS = {
  polite: 10,
  poisoned: 25,
  tardy: 2,
  spoilt: 43,
  broken: 14,
  flood: 2,
  mute: 4,
  files: 12,
  bodies: 8,
} as const;
export type ConversationKind = keyof typeof KINDS;

/** What must come of these is known. */
const CERTAIN: ReadonlySet<ConversationKind> = new Set(["polite", "poisoned", "tardy"]);

const DEFAULT_CHANNEL: ChannelLimits = {
  maxFrameBytes: PROTOCOL_LIMITS.maxEndBytes,
  maxAttachmentBytes: PROTOCOL_LIMITS.maxFilePieceBytes,
  maxDepth: PROTOCOL_LIMITS.maxResultDepth + 2,
  maxQueuedBytes: 64 * 1024 * 1024,
};
const DEFAULTS = { session: DEFAULT_SESSION_LIMITS, channel: DEFAULT_CHANNEL };
const PROFILES: readonly { session: SessionLimits; channel: ChannelLimits }[] = [
  DEFAULTS,
  {
    session: {
      ...DEFAULT_SESSION_LIMITS,
      maxConcurrentCalls: 2,
      maxCalls: 12,
      maxMessageBytes: 4_000,
      maxEndBytes: 8_000,
      maxTotalBytes: 40_000,
      maxStdoutBytes: 50,
      maxStderrBytes: 10,
    },
    channel: {
      maxFrameBytes: 8_000,
      maxAttachmentBytes: 10_000,
      maxDepth: DEFAULT_CHANNEL.maxDepth,
      maxQueuedBytes: 20_000,
    },
  },
  {
    session: {
      ...DEFAULT_SESSION_LIMITS,
      maxCalls: 0,
      maxMessageBytes: 300,
      maxEndBytes: 600,
      maxTotalBytes: 5_000,
    },
    channel: { maxFrameBytes: 600, maxAttachmentBytes: 1, maxDepth: 20, maxQueuedBytes: 2_000 },
  },
];

/** The same seed makes the same conversation. */
export function createConversation(seed: number): Conversation {
  const prng = createPrng(seed);
  const kind = prng.weighted(KINDS);
  const { session, channel } = CERTAIN.has(kind) ? DEFAULTS : prng.pick(PROFILES);
  const conversation: Conversation = {
    seed,
    kind,
    session,
    channel,
    steps: [],
    greeting: prng.chance(0.3) ? toStep(READY) : null,
    cut: prng.weighted({ whole: 4, frames: 3, pieces: 3, crumbs: 0.5 }),
    pace: prng.weighted({ sync: 5, microtask: 3, immediate: 1 }),
    reading: prng.weighted({ all: 6, slow: 1, never: 2, breaks: 1 }),
    leaving: prng.weighted({ end: 4, destroy: 2, error: 1, silence: 1 }),
    abortAfterChunks: !CERTAIN.has(kind) && prng.chance(0.08) ? prng.int(6) : null,
    // A workspace ends the run that fills it.
    handlers: prng.weighted({ echo: 3, mixed: 3, never: 1, workspace: CERTAIN.has(kind) ? 0 : 2, bodies: 1 }),
    expected: null,
  };
  FILL[kind](prng, conversation);
  return conversation;
}

/** How likely a message is spoilt, and how many there are: the run ends soon after the first that is. */
const SPOILT_RATES = [
  [0.01, 200],
  [0.05, 60],
  [0.3, 12],
  [1, 3],
] as const;
const MAX_FLOOD_BYTES = 2 * 1024 * 1024;

const FILL: Record<ConversationKind, (prng: Prng, conversation: Conversation) => void> = {
  polite(prng, conversation) {
    const { events } = speakPolitely(prng, conversation, prng.int(30));
    const last = say(conversation, createMessage(prng, prng.chance(0.8) ? "end" : "failure", 0));
    conversation.expected = { events, end: { kind: "end", params: parse(last).params } };
  },
  poisoned(prng, conversation) {
    const { events, lastId } = speakPolitely(prng, conversation, prng.int(12));
    const at = conversation.steps.length;
    conversation.steps.push(createPoison(prng, conversation.channel, lastId));
    speakPolitely(prng, conversation, prng.int(5));
    say(conversation, createMessage(prng, "end", 0));
    conversation.expected = { events, end: { kind: "violation" } };
    if (prng.chance(0.1)) allowAllBut(conversation, at);
  },
  tardy(prng, conversation) {
    const end = toStep(createMessage(prng, "end", 0));
    const more = prng.chance(0.5)
      ? toStep(createMessage(prng, prng.pick(["stdout", "call", "end"]), 1))
      : { bytes: Buffer.from([0]) };
    conversation.steps.push({
      text: "something after the end",
      bytes: Buffer.concat([end.bytes, more.bytes]),
    });
    conversation.cut = "whole";
    conversation.expected = { events: [], end: { kind: "violation" } };
  },
  spoilt(prng, conversation) {
    const [rate, messages] = prng.pick(SPOILT_RATES);
    let id = 0;
    for (let count = messages; count > 0; count--) {
      const kind: MessageKind = prng.weighted({
        stdout: 4,
        stderr: 2,
        output: 3,
        call: 6,
        cancel: 1,
        end: 0.3,
        failure: 0.1,
      });
      if (kind === "call")
        id = prng.chance(rate * 0.2) ? prng.pick([id, id - 1, 0, -id, id + 1e8]) : id + prng.between(1, 3);
      const message = createMessage(prng, kind, id);
      if (prng.chance(rate))
        conversation.steps.push(spoil(prng, message, conversation.channel.maxFrameBytes));
      else say(conversation, message, createAttachment(prng, render(message)));
    }
    if (prng.chance(0.7)) say(conversation, createMessage(prng, "end", 0));
  },
  broken(prng, conversation) {
    for (let count = prng.between(1, 6); count > 0; count--) {
      const message = Buffer.from(render(createMessage(prng, prng.pick(["stdout", "call", "end"]), count)));
      const [text, bytes] = lieAboutLength(prng, message, conversation.channel.maxFrameBytes);
      conversation.steps.push({ text: `frame ${text}`, bytes });
    }
  },
  flood(prng, conversation) {
    const kind: MessageKind = prng.weighted({ stdout: 4, output: 2, call: 3, end: 0.5 });
    const same = kind === "call" ? null : toStep(createMessage(prng, kind, 0));
    const count = Math.min(
      prng.pick([500, 2_000, 6_000]),
      Math.ceil(MAX_FLOOD_BYTES / (same?.bytes.length ?? 1)),
    );
    for (let id = 1; id <= count; id++)
      conversation.steps.push(same ?? toStep(createMessage(prng, "call", id)));
  },
  mute() {},
  files(prng, conversation) {
    conversation.handlers = "workspace";
    // A child that counts no calls is stopped at once: most conversations let it go on.
    if (prng.chance(0.8)) conversation.session = { ...conversation.session, maxConcurrentCalls: 1_000 };
    const names = [...GIVEN_NAMES, "a", "a/b", ...Array.from({ length: 4 }, () => hostileName(prng))];
    let id = 0;
    for (let count = prng.pick([5, 40, 150]); count > 0; count--) {
      id += prng.between(1, 3);
      const call = createFileCall(
        prng,
        id,
        names.filter(({ length }) => length > 0),
      );
      say(conversation, call, createAttachment(prng, render(call)));
    }
    if (prng.chance(0.5)) say(conversation, createMessage(prng, "end", 0));
  },
  bodies(prng, conversation) {
    conversation.handlers = "bodies";
    if (prng.chance(0.8)) conversation.session = { ...conversation.session, maxConcurrentCalls: 1_000 };
    const opened: number[] = [];
    let id = 0;
    for (let count = prng.pick([5, 40, 150]); count > 0; count--) {
      const kind = prng.weighted({ invoke: 3, readBody: 6, cancel: 1 });
      const known = prng.chance(0.9) ? (opened.at(-1 - prng.int(4)) ?? 1) : id + 1;
      if (kind === "cancel") {
        say(conversation, createMessage(prng, "cancel", known));
        continue;
      }
      id += prng.between(1, 3);
      if (kind === "invoke") opened.push(id);
      say(conversation, kind === "invoke" ? createToolCall(id) : createBodyRead(id, known));
    }
    if (prng.chance(0.5)) say(conversation, createMessage(prng, "end", 0));
  },
};

/** Valid messages only, and no more calls than may be in flight at once. Call ids go up in tens. */
function speakPolitely(
  prng: Prng,
  conversation: Conversation,
  count: number,
): { events: ExpectedEvent[]; lastId: number } {
  const events: ExpectedEvent[] = [];
  let calls = 0;
  let lastId = 0;
  for (let index = 0; index < count; index++) {
    const kind: MessageKind = prng.weighted({ stdout: 4, stderr: 2, output: 3, call: 4 });
    if (kind === "call" && ++calls > conversation.session.maxConcurrentCalls) continue;
    const id = 10 * (index + 1);
    const json = createMessage(prng, kind, id);
    const attachment = createAttachment(prng, render(json));
    const message = parse(say(conversation, json, attachment));
    if (kind === "stdout" || kind === "stderr") events.push([kind, message.params.text as string]);
    else if (kind === "output") events.push([kind, message.params.value]);
    else {
      const digest = attachment === null ? null : hash("sha256", attachment);
      // No handler is asked for the piece of a body.
      if (message.method !== "readBody") events.push(["call", message.method, message.params, digest]);
      lastId = id;
    }
  }
  return { events, lastId };
}

/** Makes the total of bytes a limit that the step at `index` is the first to break, whatever else is wrong with it. */
function allowAllBut(conversation: Conversation, index: number): void {
  const payloadBytes = conversation.steps
    .slice(0, index + 1)
    // Pieces of files do not count.
    .map(({ bytes }) => (bytes.includes('"method":"writeFile"') ? 0 : bytes.length - FRAME_HEADER_BYTES));
  const [last = 0] = payloadBytes.splice(-1);
  if (last < 1 && !conversation.steps[index]?.bytes.includes('"method":"writeFile"')) return;
  conversation.steps[index] = toStep(createMessage(createPrng(conversation.seed), "stdout", 0));
  const own = (conversation.steps[index] as Step).bytes.length - FRAME_HEADER_BYTES;
  const maxTotalBytes = payloadBytes.reduce((sum, bytes) => sum + bytes, 0) + own - 1;
  conversation.session = { ...conversation.session, maxTotalBytes };
}

function spoil(prng: Prng, message: Json, maxFrameBytes: number): Step {
  const layer = prng.weighted({ document: 14, text: 1, bytes: 3, frame: 2 });
  if (layer === "document") {
    const done = Array.from({ length: prng.pick([1, 1, 1, 2, 5]) }, () => mutateDocument(prng, message));
    const step = toStep(message);
    // An attachment of a message that takes none, or none of one that takes it.
    const attachment = prng.chance(0.1) ? Buffer.alloc(prng.pick([1, 50, 5_000]), "a") : null;
    const bytes = attachment === null ? step.bytes : frame(Buffer.from(render(message)), attachment);
    return { bytes, text: `${done.join(", ")}: ${step.text}` };
  }
  const text = render(message);
  if (layer === "text") {
    const bytes = Buffer.from(mutateText(prng, text));
    return { text: `text: ${clip(bytes.toString())}`, bytes: frame(bytes) };
  }
  if (layer === "bytes") {
    const [done, bytes] = mutateBytes(prng, Buffer.from(text));
    return { text: `bytes ${done}: ${clip(bytes.toString("latin1"))}`, bytes: frame(bytes) };
  }
  const [done, bytes] = lieAboutLength(prng, Buffer.from(text), maxFrameBytes);
  return { text: `frame ${done}: ${clip(text)}`, bytes };
}

function say(conversation: Conversation, message: Json, attachment: Buffer | null = null): string {
  const text = render(message);
  const attached = attachment === null ? "" : ` with ${attachment.length} bytes`;
  conversation.steps.push({ text: `${clip(text)}${attached}`, bytes: frame(Buffer.from(text), attachment) });
  return text;
}

interface Message {
  method: string;
  params: Record<string, unknown>;
}

/** What TypeScript does not know of JSON yet. */
const digits = JSON as unknown as {
  rawJSON(text: string): unknown;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): Message;
};

/** Large integers of a call, as a realm begins it, are their digits to the host. */
function parse(text: string): Message {
  if (!text.startsWith('{"jsonrpc":"2.0","id":')) return JSON.parse(text);
  return digits.parse(text, (_key, value, { source = "" }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d{16,1000}$/.test(source)
      ? digits.rawJSON(source)
      : value,
  );
}

const PIPE_BYTES = 64 * 1024;
const MAX_CRUMBLED_BYTES = 4_000;

/** The bytes as they arrive: never more at once than a pipe hands out. */
export function cutIntoChunks(conversation: Conversation): Buffer[] {
  const prng = createPrng(conversation.seed ^ 0x5bd1e995);
  const { cut, greeting } = conversation;
  const steps = greeting === null ? conversation.steps : [greeting, ...conversation.steps];
  const pieces =
    cut === "frames" ? steps.map(({ bytes }) => bytes) : [Buffer.concat(steps.map(({ bytes }) => bytes))];
  const chunks: Buffer[] = [];
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const isCrumbled = cut === "crumbs" && at < MAX_CRUMBLED_BYTES;
      const size = isCrumbled
        ? prng.between(1, 7)
        : cut === "pieces"
          ? prng.between(1, PIPE_BYTES)
          : PIPE_BYTES;
      chunks.push(piece.subarray(at, at + size));
      at += size;
    }
  }
  return chunks;
}
