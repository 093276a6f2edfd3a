/** Connects `fetch` and its classes to the realm's core. Each library is loaded on first use. */

import type { FetchHost } from "../fetch/host.ts";
import {
  isSearchParams,
  isSignal,
  loadAbort,
  loadBlobs,
  loadEncoding,
  loadStreams,
  loadUrl,
  streamsIfLoaded,
} from "../globals/loaders.ts";
import { encodeJson } from "../json/encode.ts";
import { MAX_VALUE_DEPTH, run } from "../limits.ts";
import { parseAndWarn } from "../parse-json.ts";
import { own, RealmError, StringOf } from "../primordials.ts";
import { sendCancel } from "../sending.ts";
import { makeCallPromise, recordFailure, recordResult, startCall } from "../unawaited.ts";
import { callForFile, loadedFiles, loadFiles } from "./call-files.ts";
import { invokeFetch } from "./tools.ts";

type FetchClasses = ReturnType<typeof import("../fetch/fetch.ts")["createFetchClasses"]>;

const ENVELOPE_BYTES = 2048;

let classes: FetchClasses | undefined;

/** Creates the promise of a request, which is a call like a tool's. */
const makeFetchPromise: FetchHost["makePromise"] = (run) => {
  const started = startCall("fetch", new RealmError());
  let refuse: ((reason: unknown, wasAborted: boolean) => void) | null = null;
  const promise = makeCallPromise((resolve, reject) => {
    let isSettled = false;
    run(
      (value) => {
        resolve(value);
        if (!isSettled) recordResult(started);
        isSettled = true;
      },
      (reason, wasAborted = false) => {
        if (!isSettled) refuse?.(reason, wasAborted);
        isSettled = true;
        reject(reason);
      },
    );
  }, started);
  refuse = (reason, wasAborted) => recordFailure(started, promise, reason, wasAborted);
  return promise;
};

export function loadFetch(): FetchClasses {
  if (classes !== undefined) return classes;
  const { createFetchClasses } = require("../fetch/fetch.ts") as typeof import("../fetch/fetch.ts");
  classes = createFetchClasses(
    {
      loadEncoding,
      loadStreams,
      streamsIfLoaded,
      loadUrl,
      isSearchParams,
      loadAbort: loadAbort as unknown as () => { AbortSignal: typeof AbortSignal },
      isSignal,
      digest: (name, data) =>
        (require("../web-crypto/crypto.ts") as typeof import("../web-crypto/crypto.ts")).digest(name, data),
      send: invokeFetch,
      makePromise: makeFetchPromise,
      fits: (request) => {
        const maxBytes = run.limits.maxMessageBytes - ENVELOPE_BYTES;
        return !encodeJson(request, { name: "request", maxDepth: MAX_VALUE_DEPTH, maxBytes }).tooLarge;
      },
      readBody: async (call) => {
        const reply = (await callForFile("readBody", `{"call":${StringOf(call)}}`, null)) as object | null;
        return reply === null ? null : (own(reply, "base64") as string);
      },
      closeBody: sendCancel,
      parseJson: parseAndWarn,
      listFiles: () => (loadedFiles()?.access.list() ?? run.files ?? []).map(({ name }) => name),
      readFile: (name, offset, length) => loadFiles().access.read(name, offset, length),
      readText: (name) => (loadFiles().files as { text(name: string): Promise<string> }).text(name),
      writeFile: (name, data, mode) => loadFiles().access.write(name, data, mode),
      removeFile: (name) =>
        loadFiles()
          .access.change({ do: "remove", name })
          .catch(() => {}),
    },
    loadBlobs(),
  );
  return classes;
}
