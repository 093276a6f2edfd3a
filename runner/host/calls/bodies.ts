/** Bodies of answers that the script of one run reads while they come. Each is taken in as far as there is room, however slowly it is read. */

/** Bodies of one run that stream at once. */
const MAX_OPEN_BODIES = 16;
/** Of one body, waiting to be read; also the most of one chunk. */
const MAX_HELD_BYTES = 256 * 1024;

interface Body {
  chunks: Uint8Array[];
  heldBytes: number;
  /** Its call is over, and this is why where it failed. */
  end: { error?: unknown } | null;
  isClosed: boolean;
  isRead: boolean;
  /** Resolves with the next change of the others. */
  changed: PromiseWithResolvers<void>;
}

export interface Bodies {
  /** False: as many are open as a run may have. */
  open(id: number): boolean;
  /** Takes the body in. Resolves when all of it has come, or no one wants more. Rejects as `bytes`. */
  take(id: number, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** The next piece, waited for; null at the end. Rejects as the call of the body. */
  read(id: number): Promise<{ base64: string } | null>;
  /** The call of the body is over. */
  end(id: number, end: { error?: unknown }): void;
  /** Nothing more is read of it: what it holds is dropped. */
  close(id: number): void;
}

export function createBodies(): Bodies {
  const bodies = new Map<number, Body>();

  function tell(body: Body): void {
    body.changed.resolve();
    body.changed = Promise.withResolvers();
  }

  return {
    open(id) {
      if (bodies.size >= MAX_OPEN_BODIES) return false;
      const changed = Promise.withResolvers<void>();
      bodies.set(id, { chunks: [], heldBytes: 0, end: null, isClosed: false, isRead: false, changed });
      return true;
    },
    async take(id, bytes) {
      const body = bodies.get(id);
      if (body === undefined) return;
      for await (const chunk of bytes) {
        for (let at = 0; at < chunk.length; at += MAX_HELD_BYTES) {
          const piece = chunk.subarray(at, at + MAX_HELD_BYTES);
          body.chunks.push(piece);
          body.heldBytes += piece.length;
          tell(body);
          while (body.heldBytes >= MAX_HELD_BYTES && !body.isClosed) await body.changed.promise;
          if (body.isClosed) return;
        }
      }
    },
    async read(id) {
      const body = bodies.get(id);
      if (body === undefined) throw bodyLost();
      if (body.isRead) throw new Error("This body is being read already.");
      body.isRead = true;
      while (body.heldBytes === 0 && body.end === null && !body.isClosed) await body.changed.promise;
      body.isRead = false;
      if (body.isClosed) throw bodyLost();
      if (body.heldBytes > 0) {
        const piece = Buffer.concat(body.chunks);
        body.chunks = [];
        body.heldBytes = 0;
        tell(body);
        return { base64: piece.toString("base64") };
      }
      bodies.delete(id);
      if (body.end !== null && "error" in body.end) throw body.end.error;
      return null;
    },
    end(id, end) {
      const body = bodies.get(id);
      if (body === undefined) return;
      body.end = end;
      tell(body);
    },
    close(id) {
      const body = bodies.get(id);
      if (body === undefined) return;
      bodies.delete(id);
      body.isClosed = true;
      body.chunks = [];
      tell(body);
    },
  };
}

function bodyLost(): Error {
  const message =
    "The body of this response is not open any more: it was canceled, or the run was paused and repeated since it was opened. Read a body to its end before the script waits for a person.";
  return Object.assign(new Error(message), { code: "body_lost" });
}
