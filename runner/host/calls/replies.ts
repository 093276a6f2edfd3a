/**
 * Replies to calls: their JSON text, limited in size and free of anything a script must not see, and the order in
 * which they are sent.
 */
import { writeExactJson } from "#sdk";
import type { Channel } from "../../wire/channel.ts";
import type { WireError } from "../../wire/protocol.ts";

/** Larger replies become an error that the script sees. */
const MAX_REPLY_CHARS = 16 * 1024 * 1024;
const MAX_NAME_CHARS = 200;
const MAX_MESSAGE_CHARS = 10_000;
const MAX_CODE_CHARS = 200;
const MAX_ERROR_DATA_CHARS = 64 * 1024;

/** Sends replies in order, each once the child has read enough of the earlier ones. */
export class ReplyQueue {
  readonly #channel: Channel;
  readonly #onSend: () => void;
  #last: Promise<void> = Promise.resolve();
  #frozen: PromiseWithResolvers<void> | null = null;
  #isOver = false;

  constructor(channel: Channel, onSend: () => void) {
    this.#channel = channel;
    this.#onSend = onSend;
  }

  /** Queues a reply. `encode` runs when it can be sent. */
  send(id: number, encode: () => string, attachment?: Uint8Array): void {
    this.#last = this.#last.then(async () => {
      await this.#channel.writable();
      while (this.#frozen !== null && !this.#isOver) await this.#frozen.promise;
      if (this.#isOver) return;
      this.#onSend();
      const text = `{"jsonrpc":"2.0","id":${id},${encode()}}`;
      if (!this.#channel.send(text, attachment) && !this.#channel.isClosed) this.#channel.close();
    });
  }

  /** Resolves when every reply that can be sent by now was sent. */
  sent(): Promise<void> {
    return this.#last;
  }

  freeze(): void {
    this.#frozen = Promise.withResolvers();
  }

  thaw(): void {
    this.#frozen?.resolve();
    this.#frozen = null;
  }

  end(): void {
    this.#isOver = true;
    this.#frozen?.resolve();
  }
}

/** Returns the members of a reply after its id. A value that is not JSON, or too large, becomes an error. */
export function encodeReply(body: { result: unknown } | { error: unknown }): string {
  let text = "";
  try {
    text = encodeMembers(body);
  } catch {
    // A cycle or a throwing `toJSON` is reported like a value that JSON cannot represent.
  }
  if (text === "") text = encodeMembers(toErrorReply(new Error("The result is not JSON data.")));
  if (text.length <= MAX_REPLY_CHARS) return text;
  const error = Object.assign(
    new Error(
      `The result is ${text.length} characters of JSON; at most ${MAX_REPLY_CHARS} are passed to a script.`,
    ),
    { code: "result_too_large" },
  );
  return encodeMembers(toErrorReply(error));
}

function encodeMembers(body: object): string {
  const { text = "", isExact } = writeExactJson(body);
  return `${text.slice(1, -1)}${isExact ? ',"exact":true' : ""}`;
}

export function toErrorReply(error: unknown): { error: unknown } {
  const data = toWireError(error);
  return { error: { code: -32000, message: data.message, data } };
}

/** Copies name, message, code, status and the members of `answer`; never a stack or a cause. Never throws. */
function toWireError(error: unknown): WireError {
  try {
    if (typeof error !== "object" || error === null) {
      return { name: "Error", message: String(error).slice(0, MAX_MESSAGE_CHARS) };
    }
    const { name, message, code, status, answer } = error as Record<string, unknown>;
    return {
      name: typeof name === "string" && name !== "" ? name.slice(0, MAX_NAME_CHARS) : "Error",
      message:
        typeof message === "string" ? message.slice(0, MAX_MESSAGE_CHARS) : "The host gave no message.",
      ...(typeof code === "string" && { code: code.slice(0, MAX_CODE_CHARS) }),
      ...(typeof status === "number" && Number.isInteger(status) && { status }),
      ...(typeof answer === "object" && answer !== null && { data: boundData(answer) }),
    };
  } catch {
    return { name: "Error", message: "The host failed in a way it could not describe." };
  }
}

/** Replaces a member that is too large with the start of its text and a note. */
function boundData(answer: object): Record<string, unknown> {
  let left = MAX_ERROR_DATA_CHARS;
  const bounded: [string, unknown][] = [];
  for (const [key, value] of Object.entries(answer)) {
    const text = JSON.stringify(value);
    if (text === undefined || key.length >= left) continue;
    left -= key.length;
    if (text.length <= left) {
      bounded.push([key, value]);
      left -= text.length;
      continue;
    }
    const whole = typeof value === "string" ? value : text;
    // Uses half of the room, because JSON may escape a character as two.
    bounded.push([
      key,
      `${whole.slice(0, left / 2).toWellFormed()}… [${whole.length} characters, truncated]`,
    ]);
    left = 0;
  }
  return Object.fromEntries(bounded);
}
