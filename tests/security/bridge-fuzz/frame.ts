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

/** A payload as it should be sent. */
export function frame(payload: Buffer): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUInt32BE(payload.length);
  return Buffer.concat([header, payload]);
}

const MAX_SHOWN_CHARS = 160;
export const clip = (text: string) =>
  text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}… (${text.length})` : text;
