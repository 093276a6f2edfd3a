import { AppError } from "../errors.ts";

const MAX_UPLOADS = 32;
const MAX_UPLOADS_PER_CALLER = 8;
const RETRY_AFTER_SECONDS = 2;

export function tooLarge(maxBytes: number): AppError {
  return new AppError(
    "body_too_large",
    `The file is too large: at most ${maxBytes} bytes are accepted (CYRNEL_MAX_FILE_BYTES).`,
  );
}

/** Throws body_too_large at the first byte beyond the limit. */
export async function* limitBytes(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  onBytes: (count: number) => void = () => {},
): AsyncGenerator<Uint8Array> {
  let taken = 0;
  for await (const piece of bytes) {
    taken += piece.length;
    if (taken > maxBytes) throw tooLarge(maxBytes);
    onBytes(piece.length);
    yield piece;
  }
}

/** Limits concurrent uploads per caller. `begin` throws too_many_uploads; disposing its result ends the upload. */
export function createUploadCount(): { begin(caller: string): Disposable } {
  const running = new Map<string, number>();
  let all = 0;
  return {
    begin(caller) {
      const own = running.get(caller) ?? 0;
      if (all >= MAX_UPLOADS || own >= MAX_UPLOADS_PER_CALLER) {
        throw new AppError(
          "too_many_uploads",
          `At most ${MAX_UPLOADS_PER_CALLER} uploads of a key and ${MAX_UPLOADS} in total may be in progress. Try again shortly.`,
          { retryAfterSeconds: RETRY_AFTER_SECONDS },
        );
      }
      all += 1;
      running.set(caller, own + 1);
      return {
        [Symbol.dispose]() {
          all -= 1;
          const left = (running.get(caller) ?? 1) - 1;
          if (left === 0) running.delete(caller);
          else running.set(caller, left);
        },
      };
    },
  };
}
