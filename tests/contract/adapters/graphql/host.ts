/** The GraphQL adapter as the host runs it, and real servers that it is tried on. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { instantiate } from "#modules/graphql/index.ts";
import { type HostedAdapter, type HostOptions, hostAdapter } from "../host.ts";

export const hostGraphql = (options?: HostOptions): Promise<HostedAdapter> =>
  hostAdapter(instantiate(), options);

export interface HttpServer extends AsyncDisposable {
  readonly url: string;
  /** Headers of every request so far. */
  readonly headers: IncomingMessage["headers"][];
}

/** Any request listener (a yoga server, or something hostile) on a free loopback port. */
export async function serve(listener: RequestListener): Promise<HttpServer> {
  const headers: IncomingMessage["headers"][] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers);
    response.on("error", () => {});
    void listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return {
    url: `http://127.0.0.1:${address.port}/graphql`,
    headers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
