/**
 * `fetch` and its classes, loaded on first use. A request is a call to the host, which finds the rule that allows it.
 * Large bodies are passed through workspace files.
 */
import type { Blobs } from "./blob.ts";
import { type Bodies, type Body, type BodyFile, createBodies } from "./body.ts";
import { guardHeaders, Headers, listOf } from "./headers.ts";
import type { FetchHost } from "./host.ts";
import { define } from "./interfaces.ts";
import { createRequest } from "./request.ts";
import { createResponse, NULL_BODY_STATUS } from "./response.ts";

type Requests = ReturnType<typeof createRequest>;
type Responses = ReturnType<typeof createResponse>;

/** The host's reply. A streaming body is read by the call's number. */
interface Answer {
  status: number;
  statusText: string;
  headers: [string, string][];
  url: string;
  redirected: boolean;
  body: null | { base64: string } | { text: string } | { file: string; size: number } | { stream: true };
}

type Sent = string | { base64: string } | { file: string };

const PIECE_BYTES = 256 * 1024;
const NO_CREDENTIALS = "the service adds its credentials";
const NOT_YOURS = "it belongs to the connection, which the host opens";
/** Why a script may not send a header, by its name in lower case. */
const FORBIDDEN: Record<string, string> = {
  authorization: NO_CREDENTIALS,
  cookie: NO_CREDENTIALS,
  cookie2: NO_CREDENTIALS,
  host: "it follows from the URL",
  "content-length": "it follows from the body",
  connection: NOT_YOURS,
  expect: NOT_YOURS,
  "keep-alive": NOT_YOURS,
  te: NOT_YOURS,
  trailer: NOT_YOURS,
  "transfer-encoding": NOT_YOURS,
  upgrade: NOT_YOURS,
};
const REDIRECT_STATUS = [301, 302, 303, 307, 308];

export function createFetchClasses(host: FetchHost, blobs: Blobs) {
  const bodies = createBodies(host, blobs);
  const requests = createRequest(host, bodies);
  const responses = createResponse(host, bodies);
  return {
    Headers,
    FormData: bodies.forms.FormData,
    Request: requests.Request,
    Response: responses.Response,
    fetch: createFetch(host, bodies, requests, responses),
  };
}

function createSender(host: FetchHost, bodies: Bodies) {
  let lastFile = 0;

  function nameFile(): string {
    const names = host.listFiles();
    let folder = "http";
    while (names.includes(folder)) folder += "_";
    do lastFile++;
    while (names.includes(`${folder}/${lastFile}`));
    return `${folder}/${lastFile}`;
  }

  async function writeStream(stream: ReadableStream<Uint8Array>, name: string): Promise<void> {
    const piece = new Uint8Array(PIECE_BYTES);
    let length = 0;
    let mode: "replace" | "append" = "replace";
    const flush = async () => {
      await host.writeFile(name, piece.subarray(0, length), mode);
      mode = "append";
      length = 0;
    };
    for await (const chunk of host.loadStreams().readChunks(stream)) {
      for (let at = 0; at < chunk.length; ) {
        const part = chunk.subarray(at, at + PIECE_BYTES - length);
        piece.set(part, length);
        length += part.length;
        at += part.length;
        if (length === PIECE_BYTES) await flush();
      }
    }
    if (length > 0 || mode === "replace") await flush();
  }

  /**
   * Stores a large body in a file. `others` is the rest of the request, which shares a message with an inline body.
   */
  async function sendable(body: Body, others: object): Promise<{ sent: Sent; file: string | null }> {
    const content = typeof body.content === "string" ? body.content : null;
    if (content !== null) {
      bodies.take(body);
      if (host.fits({ ...others, body: content })) return { sent: content, file: null };
      const name = nameFile();
      await host.writeFile(name, content, "replace");
      return { sent: { file: name }, file: name };
    }
    if (body.content === null || "users" in (body.content as object)) {
      const name = nameFile();
      await writeStream(bodies.streamOf(body), name);
      return { sent: { file: name }, file: name };
    }
    const bytes = await bodies.readAll(body);
    const inline = { base64: (bytes as Uint8Array & { toBase64(): string }).toBase64() };
    if (host.fits({ ...others, body: inline })) return { sent: inline, file: null };
    const name = nameFile();
    await host.writeFile(name, bytes, "replace");
    return { sent: { file: name }, file: name };
  }

  return { nameFile, sendable };
}

/** Checks a body by Subresource Integrity: a digest of the strongest algorithm given has to match. */
async function hasIntegrity(
  host: FetchHost,
  bodies: Bodies,
  body: Body | null,
  integrity: string,
): Promise<boolean> {
  const given = [...integrity.matchAll(/(?:^|\s)sha(256|384|512)-([\w+/-]+={0,2})(?=\?|\s|$)/g)];
  const strongest = given
    .map(([, bits = ""]) => bits)
    .sort()
    .at(-1);
  if (strongest === undefined) return true;
  const bytes = body === null ? new Uint8Array() : await bodies.readAll(bodies.clone(body));
  const digest = new Uint8Array(await host.digest(`SHA-${strongest}`, bytes)) as Uint8Array & {
    toBase64(options: object): string;
  };
  const expected = digest.toBase64({ alphabet: "base64url", omitPadding: true });
  return given.some(
    ([, bits, text = ""]) =>
      bits === strongest && text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "") === expected,
  );
}

function createReceiver(host: FetchHost, bodies: Bodies, { makeResponse }: Responses) {
  function toStream(call: number): ReadableStream<Uint8Array> {
    return host.loadStreams().streamOf({
      async next() {
        const piece = await host.readBody(call);
        return piece === null ? { done: true, value: undefined } : { done: false, value: fromBase64(piece) };
      },
      async return() {
        host.closeBody(call);
        return { done: true, value: undefined };
      },
    });
  }

  function toBody({ status, body }: Answer, call: number): Body | null {
    if (body === null || body === undefined || NULL_BODY_STATUS.includes(status)) return null;
    if ("text" in body) return bodies.makeBody(body.text);
    if ("file" in body) return bodies.makeBody({ name: body.file, size: body.size, users: 1 } as BodyFile);
    if ("stream" in body) return bodies.makeBody(null, toStream(call));
    return bodies.makeBody([fromBase64(body.base64)]);
  }

  function toResponse(
    answer: Answer,
    call: number,
  ): { response: InstanceType<Responses["Response"]>; body: Body | null } {
    const { status, statusText, url, redirected } = answer ?? {};
    if (typeof status !== "number") throw new TypeError("The host did not answer with a response.");
    const headers = new Headers(answer.headers);
    guardHeaders(headers);
    const body = toBody(answer, call);
    return {
      response: makeResponse({ type: "basic", status, statusText, url, redirected, headers, body }),
      body,
    };
  }

  return toResponse;
}

function createFetch(host: FetchHost, bodies: Bodies, { Request, insideOf }: Requests, responses: Responses) {
  const { nameFile, sendable } = createSender(host, bodies);
  const toResponse = createReceiver(host, bodies, responses);

  /** Returns null if the request ended before there was a response. `failure` is the error to reject with. */
  async function carryOut(
    request: InstanceType<typeof Request>,
    failure: Error,
    isOver: () => boolean,
    onMade: (cancel: () => void) => void,
  ) {
    const { parts, headers: list, body } = insideOf(request);
    const { url, method, redirect, integrity } = parts;
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new TypeError(`fetch supports http: and https: URLs; found ${url.protocol}`);
    }
    const headers = listOf(list).map(([name, value]) => [name, checkHeader(name, value)]);
    const [address] = url.href.split("#");
    const plain = { url: address, method, headers, ...(redirect !== "follow" && { redirect }) };
    let file: string | null = null;
    let answer: Answer;
    let made: ReturnType<typeof toResponse>;
    let close = () => {};
    try {
      let sent: Sent | undefined;
      if (body !== null) ({ sent, file } = await sendable(body, plain));
      if (isOver()) return null;
      const whole = sent === undefined ? plain : { ...plain, body: sent };
      const sending = await host.send(whole, nameFile(), onMade);
      answer = sending.answer as Answer;
      made = toResponse(answer, sending.call);
      if (made.body !== null && made.body.stream !== null) {
        close = () => host.closeBody(sending.call);
        onMade(close);
      }
    } catch (cause) {
      throw completeError(
        failure,
        cause instanceof Error ? cause.message : "The body could not be read.",
        cause,
      );
    } finally {
      if (file !== null) await host.removeFile(file);
    }
    let wrong = isOver() ? "" : findRedirect(redirect, answer);
    if (wrong === null && integrity !== "" && !(await hasIntegrity(host, bodies, made.body, integrity))) {
      wrong = "The body does not match the request's integrity.";
    }
    if (wrong === null) return made;
    if (made.body !== null) bodies.fail(made.body, undefined);
    close();
    if (wrong === "") return null;
    throw completeError(failure, wrong);
  }

  return function fetch(input: unknown, init: unknown = undefined): Promise<unknown> {
    return host.makePromise((resolve, reject) => {
      const request = new Request(input, init);
      const { signals, body } = insideOf(request);
      let isAborted = false;
      let cancel = () => {};
      let received: Body | null = null;
      const abort = (signal: AbortSignal) => {
        if (isAborted) return;
        isAborted = true;
        reject(signal.reason, true);
        if (body !== null) bodies.fail(body, signal.reason);
        if (received !== null) bodies.fail(received, signal.reason);
        cancel();
      };
      for (const signal of signals) {
        if (signal.aborted) return abort(signal);
        signal.addEventListener("abort", () => abort(signal), { once: true });
      }
      // Created here so that its stack shows the script's line.
      const failure = new TypeError();
      const onMade = (give: () => void) => {
        cancel = give;
      };
      carryOut(request, failure, () => isAborted, onMade).then((made) => {
        if (made === null) return;
        received = made.body;
        resolve(made.response);
      }, reject);
    });
  };
}

function fromBase64(text: string): Uint8Array {
  const { fromBase64: decode } = Uint8Array as unknown as { fromBase64(text: string): Uint8Array };
  return Reflect.apply(decode, Uint8Array, [text]);
}

function completeError(failure: Error, message: string, cause?: unknown): Error {
  define(failure, "message", message);
  if (cause !== undefined) define(failure, "cause", cause);
  return failure;
}

function checkHeader(name: string, value: string): string {
  const key = name.toLowerCase();
  const isPrefixed = key.startsWith("proxy-") || key.startsWith("sec-");
  const why = isPrefixed ? NOT_YOURS : Object.hasOwn(FORBIDDEN, key) ? FORBIDDEN[key] : undefined;
  if (why === undefined) return value;
  throw new TypeError(`The header ${name} cannot be set by a script: ${why}.`);
}

/** Returns why the response violates the request's redirect mode, or null. */
function findRedirect(mode: string, { status, redirected, url }: Answer): string | null {
  if (mode === "error" && (redirected || REDIRECT_STATUS.includes(status))) {
    return `unexpected redirect: the server answered ${redirected ? `from ${url}` : `with status ${status}`}, and the request does not allow redirects (redirect: "error").`;
  }
  if (mode === "manual" && redirected) {
    return 'The rule of this URL follows redirects itself, so redirect: "manual" is not supported.';
  }
  return null;
}
