/** Streams response bodies to the script of one run. A body is received only as far as there is room, however slowly the script reads. */

const MAX_OPEN_BODIES = 16;
/** Limit for what one body holds unread, and for one chunk. */
const MAX_HELD_BYTES = 256 * 1024;

interface Body {
  chunks: Uint8Array[];
  heldBytes: number;
  /** Set when the call of the body has ended; `error` if it failed. */
  end: { error?: unknown } | null;
  isClosed: boolean;
  isRead: boolean;
  /** Resolves with the next change of the other members. */
  changed: PromiseWithResolvers<void>;
}

export interface Bodies {
  /** Returns false if the run has its maximum of open bodies. */
  open(id: number): boolean;
  /** Receives the body. Resolves when all of it has arrived or the body is closed; rejects if `bytes` does. */
  take(id: number, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** Waits for the next piece; null at the end. Rejects if the call of the body failed. */
  read(id: number): Promise<{ base64: string } | null>;
  /** Records that the call of the body has ended. */
  end(id: number, end: { error?: unknown }): void;
  /** Drops what is unread; nothing more is received. */
  close(id: number): void;
}

export function createBodies(): Bodies {
  const bodies = new Map<number, Body>();

  function notify(body: Body): void {
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
          notify(body);
          while (body.heldBytes >= MAX_HELD_BYTES && !body.isClosed) await body.changed.promise;
          if (body.isClosed) return;
        }
      }
    },
    async read(id) {
      const body = bodies.get(id);
      if (body === undefined) throw bodyLost();
      if (body.isRead) throw new Error("Another read of this body is in progress. Await it first.");
      body.isRead = true;
      while (body.heldBytes === 0 && body.end === null && !body.isClosed) await body.changed.promise;
      body.isRead = false;
      if (body.isClosed) throw bodyLost();
      if (body.heldBytes > 0) {
        const piece = Buffer.concat(body.chunks);
        body.chunks = [];
        body.heldBytes = 0;
        notify(body);
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
      notify(body);
    },
    close(id) {
      const body = bodies.get(id);
      if (body === undefined) return;
      bodies.delete(id);
      body.isClosed = true;
      body.chunks = [];
      notify(body);
    },
  };
}

function bodyLost(): Error {
  const message =
    "The body of this response is no longer open: it was canceled, or the run was paused and replayed since. Read a body to its end before the script waits for an approver.";
  return Object.assign(new Error(message), { code: "body_lost" });
}
