import { z } from "zod";
import type { App } from "../http/app-type.ts";
import { requireKey, rightsOf } from "../http/auth.ts";
import { errorResponses } from "../http/responses.ts";
import { environmentSchema } from "./model.ts";
import type { EnvironmentService } from "./service.ts";

const shared = { tags: ["environment"], security: [{ key: [] }] };

export function registerEnvironmentRoutes(app: App, environment: EnvironmentService): void {
  app.get(
    "/environment",
    {
      onRequest: requireKey(),
      schema: {
        ...shared,
        operationId: "getEnvironment",
        summary: "Read the active environment",
        description: "Returns its capacity, the isolation it obtained, and environments that are draining.",
        response: { 200: environmentSchema, ...errorResponses("no_environment") },
      },
    },
    async () => environment.describe(),
  );

  app.get(
    "/environment/docs",
    {
      onRequest: requireKey(),
      schema: {
        ...shared,
        operationId: "getEnvironmentDocs",
        summary: "Read how to write scripts",
        description: "Markdown for people and agents: globals, tools, packages, limits, errors, an example.",
        produces: ["text/markdown"],
        response: {
          200: z.string().describe("Markdown."),
          ...errorResponses("no_environment", "module_failed"),
        },
      },
    },
    async (request, reply) => {
      const docs = await environment.readDocs(rightsOf(request.caller));
      return reply.type("text/markdown; charset=utf-8").serializer(String).send(docs);
    },
  );
}
