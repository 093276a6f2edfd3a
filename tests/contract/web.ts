/** A web server of this machine, and what stands in for rules of the host: scripts reach it as http://web.test. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { answerFetch } from "#client/local/fetch.ts";
import type { Workspace } from "#runner/workspace/workspace.ts";
import type { CallFiles, SavedAnswer } from "#sdk";

export const WEB = "http://web.test";

interface Parameters {
  url: string;
  method: string;
  headers: [string, string][];
  body?: string | { base64: string } | { file: string };
  redirect?: RequestRedirect;
}

export interface Web extends AsyncDisposable {
  /** Carries out a request of a script. */
  request(parameters: Record<string, unknown>, files: CallFiles, signal?: AbortSignal): Promise<Response>;
  /** The same as a host does it. */
  fetch(
    parameters: Record<string, unknown>,
    workspace: Workspace,
    saveAs: string,
    signal?: AbortSignal,
  ): Promise<SavedAnswer>;
}

/** `given`: carries requests out in place of the server. */
export async function openWeb(given?: Web["request"]): Promise<Web> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask: Web["request"] = async (parameters, files, signal) => {
    const { url, method, headers, body, redirect } = parameters as unknown as Parameters;
    if (!url.startsWith(`${WEB}/`)) {
      const message = `No rule allows ${method} ${url}. There is web: GET, POST and PUT of ${WEB}.`;
      throw Object.assign(new Error(message), { name: "ToolError", code: "no_rule", status: 404 });
    }
    const sent = await readBody(body, files);
    const answered = await fetch(origin + url.slice(WEB.length), {
      method,
      headers,
      ...(sent !== undefined && { body: sent, duplex: "half" }),
      redirect: redirect ?? "follow",
      ...(signal !== undefined && { signal }),
    } as RequestInit);
    return Object.defineProperty(answered, "url", { value: WEB + answered.url.slice(origin.length) });
  };
  const request = given ?? ask;
  return {
    request,
    async fetch(parameters, workspace, saveAs, signal) {
      return answerFetch(workspace, { saveAs }, await request(parameters, workspace.snapshot(), signal));
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(body: Parameters["body"], files: CallFiles): Promise<BodyInit | undefined> {
  if (body === undefined || typeof body === "string") return body;
  if ("base64" in body) return Buffer.from(body.base64, "base64");
  return Readable.toWeb(Readable.from((await files.open(body.file)).stream())) as unknown as BodyInit;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", WEB);
  const [, route, value] = pathname.split("/");
  switch (route) {
    case "echo": {
      const body = (await buffer(request)).toString("base64");
      const { method, url, headers } = request;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ method, url, headers, body }));
      return;
    }
    case "size": {
      let size = 0;
      for await (const chunk of request) size += chunk.length;
      response.end(String(size));
      return;
    }
    case "text":
      response.setHeader("content-type", "text/plain; charset=utf-8");
      response.setHeader("x-list", ["a", "b"]);
      response.setHeader("set-cookie", ["a=1", "b=2"]);
      response.end("grüße");
      return;
    case "bytes": {
      let left = Number(value);
      const piece = Buffer.alloc(64 * 1024, searchParams.get("fill") ?? "\xff", "latin1");
      response.setHeader("content-type", "application/octet-stream");
      Readable.from(
        (function* () {
          for (; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, piece.length));
        })(),
      ).pipe(response);
      return;
    }
    case "form":
      response.setHeader("content-type", request.headers["content-type"] ?? "text/plain");
      request.pipe(response);
      return;
    case "redirect":
      response.writeHead(302, { location: "/text" }).end();
      return;
    case "status":
      response.writeHead(Number(value), "As Asked").end(Number(value) === 204 ? undefined : "refused");
      return;
    default:
      // Nothing: the request hangs.
      return;
  }
}
