/** What a child writes at once, most often one frame, and what it says to a person. */
import { type Json, render } from "./wire-json.ts";

/** Something sent at once; usually one frame. `text` tells a person what it is. */
export interface Step {
  text: string;
  bytes: Buffer;
}

export function toStep(message: Json): Step {
  const text = render(message);
  return { text: clip(text), bytes: frame(Buffer.from(text)) };
}

export const FRAME_HEADER_BYTES = 4;
/** Written down a second time: nothing here shares it with the code under test. */
const HAS_ATTACHMENT = 0x80000000;

/** A payload as it should be sent. */
export function frame(payload: Buffer, attachment: Buffer | null = null): Buffer {
  return attachment === null
    ? Buffer.concat([uint32(payload.length), payload])
    : Buffer.concat([announce(payload.length, attachment.length), payload, attachment]);
}

/** The header of a frame with an attachment. */
export function announce(payloadBytes: number, attachmentBytes: number): Buffer {
  return Buffer.concat([uint32(payloadBytes + HAS_ATTACHMENT), uint32(attachmentBytes)]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES);
  bytes.writeUInt32BE(value % 2 ** 32);
  return bytes;
}

const MAX_SHOWN_CHARS = 160;
export const clip = (text: string) =>
  text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}… (${text.length})` : text;
