/**
 * Response bodies that a run's script reads as they arrive. Each is buffered up to a limit, however slowly the script
 * reads.
 */

const MAX_OPEN_BODIES = 16;
/** Buffer limit of one body, and size of the largest chunk. */
const MAX_HELD_BYTES = 256 * 1024;

interface Body {
  chunks: Uint8Array[];
  heldBytes: number;
  /** Set when the body's call has ended, with the error if it failed. */
  end: { error?: unknown } | null;
  isClosed: boolean;
  isRead: boolean;
  changed: PromiseWithResolvers<void>;
}

export interface Bodies {
  /** Opens a body. Returns false if the run has too many open. */
  open(id: number): boolean;
  /**
   * Reads the body into the buffer. Resolves when all of it has arrived or the body is closed. Rejects like `bytes`.
   */
  take(id: number, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** Waits for the next piece. Resolves with null at the end. Rejects if the body's call failed. */
  read(id: number): Promise<{ base64: string } | null>;
  end(id: number, end: { error?: unknown }): void;
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
    "The body of this response is not open any more: it was canceled, or the run was paused and replayed since it was opened. Read a body to its end before the script waits for an approver.";
  return Object.assign(new Error(message), { code: "body_lost" });
}
