/** What a script writes to its two streams, without secrets: kept up to a limit, and counted as it came. */
import type { ByteStreamRedactor, Redactor } from "#api/secrets/redactor.ts";
import { StreamCapture } from "./capture.ts";

export type StreamName = "stdout" | "stderr";

export class RunStreams {
  readonly stdout: StreamCapture;
  readonly stderr: StreamCapture;
  readonly #maxBytes: Record<StreamName, number>;
  readonly #redactors: Record<StreamName, ByteStreamRedactor>;
  readonly #received = { stdout: 0, stderr: 0 };

  constructor(maxBytes: Record<StreamName, number>, redactor: Redactor) {
    this.#maxBytes = maxBytes;
    this.stdout = new StreamCapture("stdout", maxBytes.stdout);
    this.stderr = new StreamCapture("stderr", maxBytes.stderr);
    this.#redactors = { stdout: redactor.createByteStream(), stderr: redactor.createByteStream() };
  }

  /** Whether any of it was taken. */
  write(stream: StreamName, data: Buffer): boolean {
    if (this[stream].truncated) return false;
    this[stream].write(this.#redactors[stream].push(data));
    // Counted as it came: what an environment drops is not made good by secrets that took less room afterwards.
    this.#received[stream] += data.length;
    if (this.#received[stream] > this.#maxBytes[stream]) {
      this[stream].write(this.#redactors[stream].cut());
      this[stream].truncate();
    }
    return true;
  }

  /** Nothing follows. */
  end(): void {
    for (const stream of ["stdout", "stderr"] as const) {
      this[stream].write(this.#redactors[stream].end());
      this[stream].end();
    }
  }

  /** All that is kept, and of which stream something is missing. */
  read() {
    return {
      stdout: this.stdout.bytes(),
      stderr: this.stderr.bytes(),
      truncated: { stdout: this.stdout.truncated, stderr: this.stderr.truncated },
    };
  }
}
