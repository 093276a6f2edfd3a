/** A caller who may create keys may give them any scope. */
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { registerCollection } from "../collection.ts";
import { createdKeySchema, createKeyBodySchema, keyListSchema, keyParamsSchema } from "./model.ts";
import type { Keys } from "./service.ts";

export function registerKeyRoutes(app: App, keys: Keys): void {
  registerCollection(app, {
    name: "keys",
    position: z.int().positive(),
    params: keyParamsSchema,
    service: keys,
    list: {
      operationId: "listKeys",
      summary: "List API keys, newest first",
      description: "Revoked keys are not listed. A key itself is never shown again.",
      answer: keyListSchema,
    },
    create: {
      operationId: "createKey",
      summary: "Create an API key",
      description: "The key is in this response only; the server stores its hash.",
      body: createKeyBodySchema,
      answer: createdKeySchema,
      errors: ["limit_reached"],
    },
    remove: {
      operationId: "revokeKey",
      summary: "Revoke an API key",
      description:
        "Takes effect at once: requests with the key get 401, its open streams end, and scripts it submitted can no longer see or call tools.",
      done: "Revoked.",
      errors: [],
    },
  });
}
