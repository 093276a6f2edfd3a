/** A service of the adapter in front of servers of the test, over TLS where a rule sends a credential. */
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Agent } from "undici";
import { instantiate } from "#modules/http/index.ts";
import type { CallFiles, InvokeInput } from "#sdk";
import { SELF_SIGNED } from "#tests/integration/harness/self-signed.ts";
import { hostAdapter } from "../host.ts";

export interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface Target extends AsyncDisposable {
  origin: string;
  received: Received[];
  /** Connections that ended before their answer did. */
  abandoned: number;
}

export type Respond = (request: Received, response: ServerResponse) => void;

const answerOk: Respond = (_request, response) => void response.end("ok");

export async function startTarget(respond: Respond = answerOk, scheme = "http"): Promise<Target> {
  const handle: RequestListener = (incoming, response) => {
    response.on("error", () => {});
    response.on("close", () => {
      if (!response.writableFinished) started.abandoned += 1;
    });
    void buffer(incoming).then(
      (body) => {
        const { method = "", url = "", headers } = incoming;
        const request = { method, url, headers, body };
        started.received.push(request);
        respond(request, response);
      },
      () => {},
    );
  };
  const server = scheme === "https" ? createTlsServer(SELF_SIGNED, handle) : createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const started: Target = {
    origin: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    abandoned: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return started;
}

export interface Answer {
  status: number;
  statusText: string;
  headers: [string, string][];
  url: string;
  redirected: boolean;
  body: null | { text?: string; base64?: string; file?: string; size?: number };
}

export interface ServiceOptions {
  secrets?: Record<string, unknown>;
  config?: Record<string, unknown>;
}

/** With the first of `rules` as the tool that is called, unless the call names another. */
export async function startService(rules: object[], options: ServiceOptions = {}) {
  const agent = new Agent({ connect: { ca: SELF_SIGNED.cert } });
  const host = await hostAdapter(instantiate(), {
    fetch: ((input: string, init: object) =>
      fetch(input, { ...init, dispatcher: agent } as RequestInit)) as typeof fetch,
  });
  const definition = await host.install("web", { rules }, { config: { timeoutMs: 5000 }, ...options });
  return {
    definition,
    call: (parameters: object, more: Partial<InvokeInput> = {}) =>
      host.adapter.invoke({
        serviceId: "web",
        toolId: definition.tools[0]?.id ?? "",
        parameters: parameters as Record<string, unknown>,
        ...more,
      }) as Promise<Answer>,
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await agent.destroy();
    },
  };
}

/** Files of a workspace. */
export function filesOf(contents: Record<string, Uint8Array>): CallFiles {
  return {
    async open(name) {
      const bytes = contents[name];
      if (bytes === undefined)
        throw Object.assign(new Error("There is no such file."), { code: "file_not_found" });
      return {
        size: bytes.length,
        contentType: "application/octet-stream",
        async *stream() {
          for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
        },
      };
    },
  };
}
