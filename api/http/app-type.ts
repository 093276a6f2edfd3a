/** The fastify instance every feature registers its routes on: zod schemas type its handlers. */
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
    /** Answered without a key: health and the documentation. */
    public?: boolean;
    /** Set by `requireScope` through the route's hooks; read by the OpenAPI document. */
    scope?: string;
    /**
     * A POST, PUT, PATCH or DELETE that is still accepted while the server shuts down; `elsewhere`: as long as other servers
     * can do it.
     */
    whileDraining?: true | "elsewhere";
    /** Large integers of its body are RawIntegers. */
    keepsIntegers?: boolean;
    /** Answered while the database cannot be reached. */
    withoutDatabase?: boolean;
  }
}
