/** Cases: requests of a script by `fetch`, to a web server of the test behind a host that has one rule. */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";
import { WEB } from "../web.ts";

const MEBIBYTE = 1024 * 1024;

export const fetchCases: EnvironmentCase[] = [
  {
    id: "fetch.get",
    sentence: "fetch answers a response with status, headers, address and body",
    async check({ run }) {
      const { result, calls, error } = await run(`
        const response = await fetch("${WEB}/text?a=b#part");
        const { status, statusText, ok, url, redirected, type, bodyUsed } = response;
        return { status, statusText, ok, url, redirected, type, bodyUsed, text: await response.text(), used: response.bodyUsed,
          list: response.headers.get("X-List"), cookies: response.headers.getSetCookie(), is: response instanceof Response };`);
      expect(error).toBeUndefined();
      expect(result).toEqual({
        status: 200,
        statusText: "OK",
        ok: true,
        url: `${WEB}/text?a=b`,
        redirected: false,
        type: "basic",
        bodyUsed: false,
        text: "grüße",
        used: true,
        list: "a, b",
        cookies: ["a=1", "b=2"],
        is: true,
      });
      expect(calls).toMatchObject([
        {
          serviceId: "fetch",
          toolId: "",
          parameters: { url: `${WEB}/text?a=b`, method: "GET", headers: [] },
        },
      ]);
    },
  },
  {
    id: "fetch.status",
    sentence: "an answer that says that something failed is a response as well",
    async check({ run }) {
      const { result } = await run(`
        const read = async (code) => { const response = await fetch("${WEB}/status/" + code); return [response.status, response.ok, response.statusText, await response.text()]; };
        return Promise.all([read(404), read(500), read(204)]);`);
      expect(result).toEqual([
        [404, false, "As Asked", "refused"],
        [500, false, "As Asked", "refused"],
        [204, true, "As Asked", ""],
      ]);
    },
  },
  {
    id: "fetch.bodies",
    sentence:
      "a request carries text, bytes, forms, files and streams, each with the type that follows from it",
    async check({ run }) {
      const { result, error } = await run(`
        const send = async (body, init = {}) => {
          const { method, headers, body: sent } = await (await fetch("${WEB}/echo", { method: "post", body, ...init })).json();
          return [method, headers["content-type"] ?? null, new TextDecoder().decode(Uint8Array.fromBase64(sent))];
        };
        const form = new FormData();
        form.append("a", "ä\\n");
        form.append("f", new File(["content"], 'x"y.txt', { type: "text/plain" }));
        const stream = new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("in ")); c.enqueue(new TextEncoder().encode("parts")); c.close(); } });
        const [method, type, multipart] = await send(form);
        const boundary = type.split("boundary=")[1];
        return {
          form: [method, type.split(";")[0], multipart.replaceAll(boundary, "B")],
          text: await send("text ü"), bytes: await send(new Uint8Array([65, 66])), buffer: await send(new Uint8Array([67]).buffer),
          params: await send(new URLSearchParams({ a: "b c" })), blob: await send(new Blob(["b"], { type: "Text/X" })),
          stream: await send(stream, { duplex: "half" }), none: await send(null), own: await send("{}", { headers: { "Content-Type": "application/json" } }),
          request: await (await fetch(new Request("${WEB}/echo", { method: "PUT", body: "r" }))).json().then(({ method, body }) => [method, atob(body)]),
        };`);
      expect(error).toBeUndefined();
      expect(result).toEqual({
        form: [
          "POST",
          "multipart/form-data",
          '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nä\r\n\r\n--B\r\nContent-Disposition: form-data; name="f"; filename="x%22y.txt"\r\nContent-Type: text/plain\r\n\r\ncontent\r\n--B--\r\n',
        ],
        text: ["POST", "text/plain;charset=UTF-8", "text ü"],
        bytes: ["POST", null, "AB"],
        buffer: ["POST", null, "C"],
        params: ["POST", "application/x-www-form-urlencoded;charset=UTF-8", "a=b+c"],
        blob: ["POST", "text/x", "b"],
        stream: ["POST", null, "in parts"],
        none: ["POST", null, ""],
        own: ["POST", "application/json", "{}"],
        request: ["PUT", "r"],
      });
    },
  },
  {
    id: "fetch.form",
    sentence: "a form that comes back is read as one",
    async check({ run }) {
      const { result } = await run(`
        const form = new FormData();
        form.append("a", "1"); form.append("a", "2 ü");
        form.append("file", new Blob([new Uint8Array([0, 13, 10, 255])], { type: "image/png" }), "p.png");
        const back = await (await fetch("${WEB}/form", { method: "POST", body: form })).formData();
        const file = back.get("file");
        return [back.getAll("a"), [...back.keys()], file.name, file.type, [...await file.bytes()], file instanceof File];`);
      expect(result).toEqual([
        ["1", "2 ü"],
        ["a", "a", "file"],
        "p.png",
        "image/png",
        [0, 13, 10, 255],
        true,
      ]);
    },
  },
  {
    id: "fetch.large",
    sentence: "bodies above a mebibyte go through files of the workspace, of which nothing is left",
    async check({ run }) {
      const { result, artifacts, calls, error } = await run(`
        const size = 3 * ${MEBIBYTE} + 1;
        const bytes = await (await fetch("${WEB}/bytes/" + size)).bytes();
        const text = await (await fetch("${WEB}/bytes/" + size + "?fill=t")).text();
        const unread = await fetch("${WEB}/bytes/" + size);
        const copy = await fetch("${WEB}/bytes/" + size);
        const twin = copy.clone();
        const both = [(await copy.blob()).size, (await twin.arrayBuffer()).byteLength];
        const sent = await Promise.all([bytes, "x".repeat(size), new Blob([bytes, "a"])].map(async (body) => (await fetch("${WEB}/size", { method: "POST", body })).text()));
        return [bytes.length, bytes.every((byte) => byte === 255), text.length, /^t+$/.test(text), unread.status, both, sent];`);
      expect(error).toBeUndefined();
      const size = 3 * MEBIBYTE + 1;
      const sent = [size, size, size + 1].map(String);
      expect(result).toEqual([size, true, size, true, 200, [size, size], sent]);
      expect(calls.slice(-3).map(({ parameters }) => parameters.body)).toEqual([
        { file: expect.stringMatching(/^http\/\d+$/) },
        { file: expect.stringMatching(/^http\/\d+$/) },
        { file: expect.stringMatching(/^http\/\d+$/) },
      ]);
      expect(Object.keys(artifacts)).toEqual([]);
    },
  },
  {
    id: "fetch.streaming",
    sentence: "30 MiB are read and sent as streams in a run of 64 MB",
    async check({ run }) {
      const { result, error, artifacts } = await run(
        `
        const size = 30 * ${MEBIBYTE};
        const response = await fetch("${WEB}/bytes/" + size);
        let read = 0;
        for await (const chunk of response.body) read += chunk.length;
        let left = size / 65536;
        const body = new ReadableStream({ pull(controller) { if (left-- > 0) controller.enqueue(new Uint8Array(65536)); else controller.close(); } });
        const sent = await (await fetch("${WEB}/size", { method: "POST", body, duplex: "half" })).text();
        const through = (await fetch("${WEB}/bytes/" + size)).body;
        const passed = await (await fetch("${WEB}/size", { method: "POST", body: through, duplex: "half" })).text();
        return [read, Number(sent), Number(passed)];`,
        { memoryMb: 64, maxWorkspaceBytes: 64 * MEBIBYTE },
      );
      expect(error).toBeUndefined();
      expect(result).toEqual([30 * MEBIBYTE, 30 * MEBIBYTE, 30 * MEBIBYTE]);
      expect(Object.keys(artifacts)).toEqual([]);
    },
  },
  {
    id: "fetch.own-files",
    sentence: "files of the script's own are not taken for those of bodies",
    async check({ run }) {
      const { result, artifacts } = await run(
        `
        await cyrnel.files.write("http_/1", "mine");
        const text = await (await fetch("${WEB}/bytes/${2 * MEBIBYTE}?fill=a")).text();
        return [text.length, (await cyrnel.files.list()).map(({ name }) => name)];`,
        { files: { http: "given" } },
      );
      expect(result).toEqual([2 * MEBIBYTE, ["http", "http_/1"]]);
      expect(artifacts).toEqual({ "http_/1": Buffer.from("mine") });
      const later = await run(`
        for (const name of ["http/1", "http/2"]) {
          await (await fetch("${WEB}/bytes/10?fill=a")).text();
          await cyrnel.files.write(name, "mine");
        }`);
      expect(Object.keys(later.artifacts)).toEqual(["http/1", "http/2"]);
    },
  },
  {
    id: "fetch.refused",
    sentence:
      "what the host refuses is a TypeError with its sentence, its code as the cause, and the line of the call",
    async check({ run }) {
      const { result } = await run(`
        const error = await fetch("https://example.com/a").catch((error) => error);
        return [error instanceof TypeError, error.name, error.message, error.cause instanceof Error, error.cause.code, error.cause.status];`);
      const message = `No rule allows GET https://example.com/a. There is web: GET, POST and PUT of ${WEB}.`;
      expect(result).toEqual([true, "TypeError", message, true, "no_rule", 404]);
      const { error } = await run('const a = 1;\n\nawait fetch("https://example.com/a");');
      expect(error).toMatchObject({ name: "TypeError", message, line: 3, reason: "script_error" });
    },
  },
  {
    id: "fetch.headers",
    sentence:
      "headers that belong to a connection or to a service are refused by name, before anything is sent",
    async check({ run }) {
      const names =
        "Authorization,COOKIE,Host,Content-Length,Connection,Keep-Alive,TE,Trailer,Transfer-Encoding,Upgrade,Expect,Proxy-Authorization,Sec-Fetch-Mode".split(
          ",",
        );
      const { result, calls } = await run(`
        const names = ${JSON.stringify(names)};
        return Promise.all(names.map((name) => fetch("${WEB}/echo", { headers: { [name]: "a" } }).then(() => "sent", (error) => [error instanceof TypeError, error.message])));`);
      for (const [index, name] of names.entries()) {
        expect(result[index]).toEqual([
          true,
          expect.stringMatching(new RegExp(`^The header ${name} cannot be set by a script: `, "i")),
        ]);
      }
      expect(result[0][1]).toContain("the service adds its credentials");
      expect(calls).toEqual([]);
    },
  },
  {
    id: "fetch.addresses",
    sentence: "an address that is none, has credentials or another scheme is refused before anything is sent",
    async check({ run }) {
      const { result, calls } = await run(`
        const addresses = ["/relative", "", "http://user:secret@web.test/", "data:text/plain,a", "file:///etc/passwd", "blob:x", "ftp://web.test/"];
        return Promise.all(addresses.map((address) => fetch(address).then(() => "sent", (error) => [error.name, error.message])));`);
      expect(new Set(result.map(([name]: string[]) => name))).toEqual(new Set(["TypeError"]));
      expect(result[2][1]).not.toContain("secret");
      expect(calls).toEqual([]);
    },
  },
  {
    id: "fetch.redirects",
    sentence: "redirect: follow, manual and error do as they say",
    async check({ run }) {
      const { result } = await run(`
        const followed = await fetch("${WEB}/redirect");
        const manual = await fetch("${WEB}/redirect", { redirect: "manual" });
        const error = await fetch("${WEB}/redirect", { redirect: "error" }).catch((error) => error);
        return [followed.status, followed.redirected, followed.url, manual.status, manual.headers.get("location"), manual.redirected, error.name];`);
      expect(result).toEqual([200, true, `${WEB}/text`, 302, "/text", false, "TypeError"]);
    },
  },
  {
    id: "fetch.integrity",
    sentence: "a body that is not what integrity says is refused",
    async check({ run }) {
      const { result } = await run(`
        const digest = (name) => crypto.subtle.digest(name, new TextEncoder().encode("grüße")).then((bytes) => new Uint8Array(bytes).toBase64());
        const ask = (integrity) => fetch("${WEB}/text", { integrity }).then((response) => response.text(), (error) => error.name + ": " + error.message);
        return [await ask("sha256-" + await digest("SHA-256")), await ask("sha256-AAAA sha512-" + await digest("SHA-512")), await ask("sha384-AAAA"), await ask("md5-AAAA")];`);
      expect(result).toEqual([
        "grüße",
        "grüße",
        "TypeError: The body does not match the request's integrity.",
        "grüße",
      ]);
    },
  },
  {
    id: "fetch.abort",
    sentence: "a signal ends the waiting for an answer, and the reading of a body",
    async check({ run }) {
      const { result } = await run(`
        const named = (promise) => promise.then(() => "came", (error) => error.name ?? error);
        const controller = new AbortController();
        const waiting = named(fetch("${WEB}/hang", { signal: controller.signal }));
        setTimeout(() => controller.abort("enough"), 5);
        const response = await fetch("${WEB}/bytes/${2 * MEBIBYTE}", { signal: AbortSignal.any([new AbortController().signal]) });
        const late = new AbortController();
        const begun = await fetch("${WEB}/bytes/${2 * MEBIBYTE}", { signal: late.signal });
        const reader = begun.body.getReader();
        await reader.read();
        late.abort();
        return [await waiting, await named(fetch("${WEB}/hang", { signal: AbortSignal.timeout(5) })), await named(fetch("${WEB}/text", { signal: AbortSignal.abort() })),
          (await response.bytes()).length, await named(reader.read()), await named(fetch(new Request("${WEB}/hang", { signal: AbortSignal.timeout(5) })))];`);
      expect(result).toEqual([
        "enough",
        "TimeoutError",
        "AbortError",
        2 * MEBIBYTE,
        "AbortError",
        "TimeoutError",
      ]);
    },
  },
  {
    id: "fetch.changed-prototypes",
    sentence: "what a script did to its own objects reaches nothing but its own requests",
    async check({ run }) {
      const { state, result, calls } = await run(`
        for (const target of [Array.prototype, Object.prototype, String.prototype, Promise.prototype, Map.prototype, Headers.prototype, Response.prototype, Uint8Array.prototype])
          for (const key of Object.getOwnPropertyNames(target)) {
            if (["constructor", "then", "catch"].includes(key)) continue;
            try { Object.defineProperty(target, key, { get() { throw new Error("changed"); }, configurable: true }); } catch {}
          }
        Object.prototype.toJSON = () => ({ url: "http://other.test/", serviceId: "forged" });
        let outcome = "none";
        try { outcome = (await fetch("${WEB}/text")).status; } catch (error) { outcome = "failed"; }
        return outcome;`);
      // Whatever became of the request: the host was sent nothing malformed, and the run ended as any other.
      expect(["success", "failed"]).toContain(state);
      if (state === "success") expect(["failed", 200, "none"]).toContain(result);
      for (const { serviceId } of calls) expect(serviceId).toBe("fetch");
    },
  },
];
