/** The keys over HTTP. A caller that may create keys may give them any scope. */
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
    list: { summary: "API keys that are not revoked, newest first", answer: keyListSchema },
    create: {
      summary: "Make an API key; it is shown in this answer only",
      body: createKeyBodySchema,
      answer: createdKeySchema,
      errors: ["limit_reached"],
    },
    remove: {
      summary: "Revoke an API key, at once",
      description:
        "Requests with it answer 401 from now on, its open streams end, and scripts it submitted see and call no tools any more.",
      done: "Revoked.",
      errors: [],
    },
  });
}
