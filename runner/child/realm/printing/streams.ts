/**
 * stdout and stderr of a script: pushed as they are written, in messages the host accepts, up to the stream's cap.
 * The first byte beyond the cap is still sent, so that the host knows that something is missing; then it is silent.
 */
import { quote, sendNotification } from "../frames.ts";
import { run } from "../limits.ts";
import { MathTrunc, slice } from "../primordials.ts";
import { cutAt, utf8Length } from "../text.ts";

/** One UTF-16 unit is at most six bytes of JSON text (`\u0000`). */
const MAX_BYTES_PER_UNIT = 6;
const ENVELOPE_BYTES = 100;

const sent = { stdout: 0, stderr: 0 };

export function writeStream(stream: "stdout" | "stderr", text: string): void {
  const maxBytes = stream === "stdout" ? run.limits.maxStdoutBytes : run.limits.maxStderrBytes;
  const left = maxBytes - sent[stream];
  if (left < 0 || text === "") return;
  // Every unit is at least one byte, so this keeps more than `left` bytes of a text that has them.
  let rest = cutAt(text, left + 2);
  sent[stream] += utf8Length(rest);
  const maxUnits = MathTrunc((run.limits.maxMessageBytes - ENVELOPE_BYTES) / MAX_BYTES_PER_UNIT);
  while (rest !== "") {
    const piece = cutAt(rest, maxUnits);
    sendNotification(stream, `{"text":${quote(piece)}}`);
    rest = slice(rest, piece.length);
  }
}
