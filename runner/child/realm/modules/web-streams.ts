/** `fromWeb` and `toWeb` of `node:stream`: wrap one kind of stream in the other, one chunk at a time. */
type Streams = typeof import("node:stream");
type Readable = InstanceType<Streams["Readable"]>;
type Writable = InstanceType<Streams["Writable"]>;
type Options = Record<string, unknown>;
type Pair<R, W> = { readable: R; writable: W };

export function addWebStreams({ Readable, Writable, Duplex }: Streams): void {
  function readFromWeb(stream: ReadableStream, options?: Options): Readable {
    const reader = stream.getReader();
    return new Readable({
      ...options,
      read() {
        reader.read().then(
          ({ done, value }) => this.push(done ? null : value),
          (error) => this.destroy(error),
        );
      },
      destroy(error, done) {
        settle(reader.cancel(error), () => done(error));
      },
    });
  }

  function readToWeb(readable: Readable, { strategy }: { strategy?: QueuingStrategy } = {}): ReadableStream {
    const chunks = readable[Symbol.asyncIterator]();
    // The next read reports the error.
    readable.on("error", ignore);
    return new ReadableStream(
      {
        async pull(controller) {
          const { done, value } = await chunks.next();
          if (done === true) controller.close();
          else controller.enqueue(toPlainBytes(value));
        },
        cancel(reason) {
          readable.destroy(reason);
        },
      },
      strategy ?? { highWaterMark: 0 },
    );
  }

  function writeFromWeb(stream: WritableStream, options?: Options): Writable {
    const writer = stream.getWriter();
    return new Writable({
      ...options,
      write(chunk, _encoding, done) {
        settle(
          writer.ready.then(() => writer.write(toPlainBytes(chunk))),
          done,
        );
      },
      final(done) {
        settle(writer.close(), done);
      },
      destroy(error, done) {
        settle(this.writableFinished ? Promise.resolve() : writer.abort(error), () => done(error));
      },
    });
  }

  function writeToWeb(writable: Writable): WritableStream {
    return new WritableStream({
      start(controller) {
        writable.on("error", (error) => controller.error(error));
        writable.on("close", () => {
          if (!writable.writableFinished)
            controller.error(new Error("The stream was closed before its end."));
        });
      },
      write: (chunk) => called((done) => writable.write(chunk, done)),
      close: () => called((done) => writable.end(done)),
      abort(reason) {
        writable.destroy(reason);
      },
    });
  }

  Object.assign(Readable, { fromWeb: readFromWeb, toWeb: readToWeb });
  Object.assign(Writable, { fromWeb: writeFromWeb, toWeb: writeToWeb });
  Object.assign(Duplex, {
    fromWeb: ({ readable, writable }: Pair<ReadableStream, WritableStream>, options?: Options) =>
      // Its types accept only a pair of web streams.
      Duplex.from({
        readable: readFromWeb(readable, options),
        writable: writeFromWeb(writable, options),
      } as never),
    toWeb: (duplex: Readable & Writable): Pair<ReadableStream, WritableStream> => ({
      readable: readToWeb(duplex),
      writable: writeToWeb(duplex),
    }),
  });
}

type Done = (error?: Error | null) => void;

function settle(promise: Promise<unknown>, done: Done): void {
  promise.then(() => done(), done);
}

function called(call: (done: Done) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error ? reject(error) : resolve()));
  });
}

function toPlainBytes(chunk: unknown): unknown {
  return chunk instanceof Uint8Array ? new Uint8Array(chunk) : chunk;
}

function ignore(): void {}
