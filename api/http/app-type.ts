import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";

export type App = FastifyInstance<
  Server,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

declare module "fastify" {
  interface FastifyContextConfig {
    public?: boolean;
    /** Scope set by `requireScope` and read by the OpenAPI document. */
    scope?: string;
    /**
     * Keeps accepting this POST, PUT, PATCH or DELETE while the server shuts down. `elsewhere` does so only if no
     * other server can handle it.
     */
    whileDraining?: true | "elsewhere";
    keepsIntegers?: boolean;
    withoutDatabase?: boolean;
  }
}
