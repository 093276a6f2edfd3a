/**
 * Request and response bodies (Fetch standard, "Bodies"). A body gets a stream only when a script asks for one. Until
 * then its content stays as given, or in a workspace file.
 */
import { type Blobs, cutChunks, joinParts, viewBytes } from "./blob.ts";
import { createFormData, type Forms } from "./form-data.ts";
import type { FetchHost } from "./host.ts";
import { finishMethods, toUSVString } from "./interfaces.ts";
import { extractMime, serializeMime } from "./mime.ts";

type Stream = ReadableStream<Uint8Array>;

/** A file that only bodies use. It is removed when the last of them has been read. */
export interface BodyFile {
  name: string;
  size: number;
  users: number;
}

export type Content = string | readonly Uint8Array[] | BodyFile;

export interface Body {
  /** Null once the stream has the content. */
  content: Content | null;
  stream: Stream | null;
  /** True once the body was read. Only for a body without a stream. */
  isUsed: boolean;
  failure: { reason: unknown } | null;
}

interface Owner {
  readonly headers: { get(name: string): string | null };
}

const SPENT: readonly Uint8Array[] = [];
const FILE_PIECE_BYTES = 256 * 1024;

function makeBody(content: Content | null, stream: Stream | null = null): Body {
  return { content, stream, isUsed: false, failure: null };
}

type Encode = Blobs["encode"];

function createContents(host: FetchHost, encode: Encode) {
  function isDisturbed({ stream, isUsed }: Body): boolean {
    return stream === null ? isUsed : host.loadStreams().isDisturbed(stream);
  }

  function isUnusable(body: Body): boolean {
    return isDisturbed(body) || (body.stream !== null && host.loadStreams().isLocked(body.stream));
  }

  function streamOf(body: Body): Stream {
    const streams = host.loadStreams();
    if (body.stream === null) {
      const content = body.content ?? SPENT;
      body.content = null;
      body.stream = body.isUsed ? streams.createSpent() : streams.streamOf(piecesOf(content));
      if (body.failure !== null) streams.fail(body.stream, body.failure.reason);
    }
    return body.stream;
  }

  /** Returns the content in pieces, which the reader owns. */
  function piecesOf(content: Content): Iterator<Uint8Array> | AsyncIterator<Uint8Array> {
    if (typeof content === "string") return cutChunks([encode(content)]);
    return "users" in content ? readPieces(content) : cutChunks(content);
  }

  async function* readPieces(file: BodyFile): AsyncGenerator<Uint8Array> {
    try {
      for (let at = 0; at < file.size; at += FILE_PIECE_BYTES) {
        yield await host.readFile(file.name, at, FILE_PIECE_BYTES);
      }
    } finally {
      await release(file);
    }
  }

  async function release(content: Content | null): Promise<void> {
    if (content === null || typeof content === "string" || !("users" in content)) return;
    content.users--;
    if (content.users === 0) await host.removeFile(content.name);
  }

  function take(body: Body): Content | null {
    body.isUsed = true;
    const { content } = body;
    if (body.stream === null) body.content = SPENT;
    return content;
  }

  function clone(body: Body): Body {
    if (isUnusable(body)) throw new TypeError("Response.clone: Body has already been consumed.");
    const { content, failure } = body;
    if (content !== null) {
      if (typeof content !== "string" && "users" in content) content.users++;
      return { ...makeBody(content), failure };
    }
    const [first, second] = host.loadStreams().fork(body.stream as Stream);
    body.stream = first;
    return { ...makeBody(null, second), failure };
  }

  function passOn(body: Body): Body {
    if (body.stream !== null) return makeBody(null, host.loadStreams().passOn(body.stream));
    const taken = makeBody(take(body));
    return { ...taken, failure: body.failure };
  }

  /** Makes further reads reject. Does nothing once everything was read. */
  function fail(body: Body, reason: unknown): void {
    if (body.stream !== null) host.loadStreams().fail(body.stream, reason);
    else if (!body.isUsed) {
      body.failure = { reason };
      void release(body.content);
      body.content = SPENT;
    }
  }

  return { clone, fail, isDisturbed, isUnusable, passOn, release, streamOf, take };
}

function createReaders(
  host: FetchHost,
  encode: Encode,
  decode: (bytes: Uint8Array) => string,
  { release, take }: ReturnType<typeof createContents>,
) {
  async function readAll(body: Body | null): Promise<Uint8Array> {
    if (body === null) return new Uint8Array();
    const content = take(body);
    if (body.failure !== null) throw body.failure.reason;
    if (content === null) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of host.loadStreams().readChunks(body.stream as Stream)) chunks.push(chunk);
      return joinParts(chunks);
    }
    if (typeof content === "string") return encode(content);
    if (!("users" in content)) return joinParts(content);
    try {
      return await host.readFile(content.name, 0, content.size);
    } finally {
      await release(content);
    }
  }

  async function readText(body: Body | null): Promise<string> {
    const content = body?.content;
    if (body === null || content === null || content === undefined || body.failure !== null)
      return decode(await readAll(body));
    if (typeof content === "string") {
      take(body);
      return content.startsWith("\ufeff") ? content.slice(1) : content;
    }
    if (!("users" in content)) return decode(await readAll(body));
    take(body);
    try {
      return await host.readText(content.name);
    } finally {
      await release(content);
    }
  }

  return { readAll, readText };
}

function createDecoders(host: FetchHost) {
  let decoder: TextDecoder | null = null;
  let rawDecoder: TextDecoder | null = null;
  /** Decodes UTF-8 without a byte order mark. */
  const decode = (bytes: Uint8Array): string => {
    decoder ??= new (host.loadEncoding().TextDecoder)();
    return decoder.decode(bytes);
  };
  const decodeRaw = (bytes: Uint8Array): string => {
    rawDecoder ??= new (host.loadEncoding().TextDecoder)("utf-8", { ignoreBOM: true });
    return rawDecoder.decode(bytes);
  };
  return { decode, decodeRaw };
}

export function createBodies(host: FetchHost, blobs: Blobs) {
  const { encode, isBlob, makeBlob, partsOf } = blobs;
  const { decode, decodeRaw } = createDecoders(host);
  const forms: Forms = createFormData(blobs, decodeRaw);

  const contents = createContents(host, encode);
  const { clone, fail, isDisturbed, isUnusable, passOn, streamOf, take } = contents;
  const { readAll, readText } = createReaders(host, encode, decode, contents);

  /** Converts `BodyInit` to a body and its type. Copies bytes. */
  function extract(given: unknown): { body: Body; type: string | null } {
    const streams = host.streamsIfLoaded();
    if (streams?.isReadable(given)) {
      if (streams.isDisturbed(given) || streams.isLocked(given)) {
        throw new TypeError("Response body object should not be disturbed or locked");
      }
      return { body: makeBody(null, given), type: null };
    }
    if (isBlob(given)) return { body: makeBody(partsOf(given)), type: given.type === "" ? null : given.type };
    const bytes = viewBytes(given);
    if (bytes !== null) return { body: makeBody([bytes.slice()]), type: null };
    if (forms.isFormData(given)) {
      const { content, type } = forms.encodeForm(given);
      return { body: makeBody(content), type };
    }
    if (host.isSearchParams(given)) {
      const type = "application/x-www-form-urlencoded;charset=UTF-8";
      return { body: makeBody(String(given)), type };
    }
    if (typeof given === "object" && given !== null && Symbol.asyncIterator in given) {
      return { body: makeBody(null, host.loadStreams().from(given as AsyncIterable<unknown>)), type: null };
    }
    return { body: makeBody(toUSVString(given)), type: "text/plain;charset=UTF-8" };
  }

  /** Defines the members of `Body`. `bodyOf` throws if the receiver is not an instance. */
  function addMembers<T extends Owner>(target: { prototype: T }, bodyOf: (self: T) => Body | null): void {
    const open = (self: T): Body | null => {
      const body = bodyOf(self);
      if (body === null || !isUnusable(body)) return body;
      throw new TypeError("Body is unusable: Body has already been read");
    };
    const typeOf = (self: T) => extractMime(self.headers.get("content-type"));
    const members = {
      get body(): Stream | null {
        const body = bodyOf(this as unknown as T);
        return body === null ? null : streamOf(body);
      },
      get bodyUsed(): boolean {
        const body = bodyOf(this as unknown as T);
        return body !== null && isDisturbed(body);
      },
      async arrayBuffer(this: T) {
        return (await readAll(open(this))).buffer;
      },
      async blob(this: T) {
        const bytes = await readAll(open(this));
        const mime = typeOf(this);
        return makeBlob(
          bytes.length === 0 ? [] : [bytes],
          mime === null ? "" : serializeMime(mime).toLowerCase(),
        );
      },
      async bytes(this: T) {
        return readAll(open(this));
      },
      async formData(this: T) {
        const body = open(this);
        const mime = typeOf(this);
        const bytes = await readAll(body);
        if (mime?.essence === "multipart/form-data") return forms.parseMultipart(bytes, mime);
        if (mime?.essence !== "application/x-www-form-urlencoded") {
          throw new TypeError(
            `formData() needs the Content-Type multipart/form-data or application/x-www-form-urlencoded; found ${mime?.essence ?? "none"}.`,
          );
        }
        const form = new forms.FormData();
        const { URLSearchParams } = host.loadUrl();
        // The parser drops one leading question mark. One in the body is part of the first name.
        for (const [name, value] of new URLSearchParams(`?${decodeRaw(bytes)}`)) form.append(name, value);
        return form;
      },
      async json(this: T) {
        return host.parseJson(await readText(open(this)), "json()");
      },
      async text(this: T) {
        return readText(open(this));
      },
    };
    finishMethods(target.prototype, members);
  }

  return { addMembers, clone, extract, fail, forms, isUnusable, makeBody, passOn, readAll, streamOf, take };
}

export type Bodies = ReturnType<typeof createBodies>;
