/**
 * Runs our own scripts in a new isolate, so that the functions they call are compiled and stored in the code cache of
 * all later isolates.
 */
import type { StartParams } from "#runner/wire/protocol.ts";
import type { PreparedIsolate } from "./isolate.ts";

const MAX_ENTRY_MS = 10_000;

/** Uses what most scripts use, but no library: every run pays for this cache. */
const COMMON = `(async () => {
  console.log("text", 1, true);
  console.error("text");
  cyrnel.output({ done: 1 });
  tools.service.tool({});
  await tools.service.tool({ text: "a", list: [1, 2], flag: true });
  setTimeout(() => {}, 1);
  return { items: [{ id: 1, name: "a", price: 1.5, active: false, note: null }] };
})`;

const LIBRARIES = `(async () => {
  console.log({ name: "a", list: [1, "b", null], nested: { deep: {} } }, [1, 2], new Map([[1, { a: 1 }]]), new Set([1]), new Date(0), /a/);
  console.error(new Error("e"));
  console.table([{ a: 1 }, { a: 2 }]);
  const url = new URL("https://user@example.org:8080/path?query=1#hash");
  url.searchParams.append("b", "c d");
  String(url);
  new TextDecoder().decode(new TextEncoder().encode("text \u00e9"));
  structuredClone({ a: [1, new Date(0), new Map([[1, 2]])] });
  atob(btoa("text"));
  crypto.randomUUID();
  crypto.getRandomValues(new Uint8Array(8));
  await crypto.subtle.digest("SHA-256", new Uint8Array(8));
  const key = await crypto.subtle.importKey("raw", new Uint8Array(8), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
  await crypto.subtle.verify("HMAC", key, await crypto.subtle.sign("HMAC", key, new Uint8Array(8)), new Uint8Array(8));
  performance.now();
  const controller = new AbortController();
  controller.signal.addEventListener("abort", () => {});
  controller.abort();
  new URL("https://m\u00fcnchen.example/");
  const form = new FormData();
  form.append("a", new File(["b"], "c"));
  new Headers({ a: "b" }).entries();
  const response = await fetch(new Request("https://example.org/a", { method: "POST", body: "text" }), { headers: { a: "b" } });
  response.headers.get("a");
  await response.clone().json();
  await response.text();
  await new Response(form).formData();
  for await (const chunk of new Response("text").body) chunk.at(0);
  for await (const chunk of ReadableStream.from(["a"]).pipeThrough(new TransformStream())) chunk.at(0);
  return new Error("e").stack;
})`;

/** Reply to the request of the second script. */
const ANSWER = `{"answer":{"status":200,"statusText":"OK","headers":[["a","b"]],"url":"https://example.org/a","redirected":false,"body":{"text":"{}"}},"size":null}`;

/** Runs a script that uses what most scripts use, or the realm's libraries. Discards its messages. */
export function warmUp(isolate: PreparedIsolate, libraries: boolean): void {
  const code = libraries ? LIBRARIES : COMMON;
  const params: StartParams = {
    code,
    mappings: "AAAA",
    process: { id: 1, ref: null },
    seed: Buffer.alloc(32).toString("base64"),
    randomSeed: [1, 2, 3, 4],
    readsWideClocks: false,
    limits: {
      maxConcurrentCalls: 2,
      maxCalls: 2,
      maxMessageBytes: 65_536,
      maxStdoutBytes: 65_536,
      maxStderrBytes: 65_536,
      maxOutputBytes: 65_536,
      maxResultBytes: 65_536,
    },
  };
  isolate.start(JSON.stringify({ jsonrpc: "2.0", method: "start", params }), code, MAX_ENTRY_MS);
  for (const id of libraries ? [1] : [1, 2]) {
    isolate.receive(
      `{"jsonrpc":"2.0","id":${id},"result":${libraries ? ANSWER : '{"items":[1]}'}}`,
      MAX_ENTRY_MS,
    );
  }
}
