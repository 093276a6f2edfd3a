/** Calls that read and write files. They have their own count and are limited by the size of their pieces. */
import type { CallMethod, PROTOCOL_LIMITS } from "../../../wire/protocol.ts";
import { blobsIfLoaded, loadEncoding, streamsIfLoaded } from "../globals/loaders.ts";
import { encodeJson } from "../json/encode.ts";
import { MAX_RESULT_DEPTH, run } from "../limits.ts";
import { parseAndWarn } from "../parse-json.ts";
import { JSONParse, own, RealmError, RealmPromise, RealmRangeError, StringOf } from "../primordials.ts";
import { awaitReply, callText, type Span } from "../sending.ts";
import { warnOfNull } from "../warnings.ts";
import { completeError, readError } from "./call-error.ts";
import { enqueue, sendWithSpan, takeBytes, takeId } from "./calls.ts";

/**
 * A literal, because importing it would bring a schema library into the realm. Its type keeps it equal to the host's.
 */
const MAX_FILE_CALLS: (typeof PROTOCOL_LIMITS)["maxFileCalls"] = 50_000;
/** Slightly less than V8's longest string. The workspace has its own limit. */
const MAX_FILE_JSON_BYTES = 500_000_000;

let fileCount = 0;

/** `params` is JSON text. `span` contains the bytes for `writeFile`, or receives those of `readFile`. */
export function callForFile(method: CallMethod, params: string, span: Span | null): Promise<unknown> {
  return new RealmPromise((resolve, reject) => {
    const failure = new RealmError();
    countFileCall();
    enqueue({ id: 0, method, params, span, resolve, reject, failure, next: null });
  });
}

/** Like `callForFile`, but blocks the script until the reply arrives. Other messages wait until then. */
export function callForFileSync(method: CallMethod, params: string, span: Span | null): unknown {
  const failure = new RealmError();
  countFileCall();
  const id = takeId();
  sendWithSpan(callText(id, method, params), method, span);
  const text = awaitReply(id);
  if (text === undefined) {
    throw new RealmError(
      "Synchronous functions for files cannot wait here while a timer is set: use those of cyrnel.files or node:fs/promises.",
    );
  }
  const message = JSONParse(text) as object;
  const error = own(message, "error");
  if (typeof error === "object" && error !== null) throw completeError(failure, readError(error));
  if (method === "readFile" && span !== null) takeBytes(span, message);
  return own(message, "result");
}

let fileLibrary: ReturnType<typeof import("./files.ts")["createFileLibrary"]> | undefined;

export function loadFiles() {
  fileLibrary ??= (require("./files.ts") as typeof import("./files.ts")).createFileLibrary(
    {
      call: callForFile,
      callSync: callForFileSync,
      blobsIfLoaded,
      streamsIfLoaded,
      loadEncoding,
      encodeFileJson,
      parseJson: parseAndWarn,
    },
    run.files,
  );
  return fileLibrary;
}

function encodeFileJson(data: unknown): string | undefined {
  const limits = {
    name: "data",
    maxDepth: MAX_RESULT_DEPTH,
    maxBytes: MAX_FILE_JSON_BYTES,
    onNull: warnOfNull,
  };
  const { text, tooLarge } = encodeJson(data, limits);
  if (tooLarge) throw new RealmRangeError("The JSON of this file would be larger than a text can be.");
  return text;
}

/** Returns undefined until something uses files. Until then, the files in `start` are current. */
export function loadedFiles(): typeof fileLibrary {
  return fileLibrary;
}

function countFileCall(): void {
  if (fileCount >= MAX_FILE_CALLS) {
    throw new RealmError(
      `This run has read or written files ${StringOf(MAX_FILE_CALLS)} times, the most a run may. Read and write larger pieces.`,
    );
  }
  fileCount++;
}
