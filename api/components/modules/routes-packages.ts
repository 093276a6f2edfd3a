/** HTTP of what brings modules in: packages, registries, and the folder that is read again. Needs `modules:admin`. */
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import { idAnswerSchema } from "../model.ts";
import {
  installBodySchema,
  installFromBodySchema,
  moduleParamsSchema,
  reloadAnswerSchema,
  updatedAnswerSchema,
} from "./model.ts";
import type { Modules } from "./service.ts";

const admin = { onRequest: requireScope("modules:admin") };
const tags = ["modules"];
const downloading = ["egress_refused", "download_failed", "payload_too_large", "invalid_package"] as const;
const asking = ["invalid_descriptor", "hash_mismatch"] as const;
const replacing = ["not_found", "builtin_module", "environments_draining", "module_failed"] as const;

export function registerModulePackageRoutes(app: App, modules: Modules): void {
  app.post(
    "/modules",
    {
      ...admin,
      schema: {
        tags,
        summary: "Install a module from a package",
        description:
          "A `.tar.zst` with `module.json` at its top or in its only folder. Nothing of it runs: the module starts disabled.",
        body: installBodySchema,
        response: {
          201: idAnswerSchema,
          ...errorResponses(...BODY_ERRORS, ...downloading, "not_found", "module_taken"),
        },
      },
    },
    async (request, reply) => {
      const id = await modules.install(request.body.url);
      return reply.status(201).header("location", `/modules/${id}`).send({ id });
    },
  );

  app.post(
    "/modules/install",
    {
      ...admin,
      schema: {
        tags,
        summary: "Install a module from a registry",
        body: installFromBodySchema,
        response: {
          201: idAnswerSchema,
          ...errorResponses(...BODY_ERRORS, ...downloading, ...asking, "not_found", "module_taken"),
        },
      },
    },
    async (request, reply) => {
      const id = await modules.installFrom(request.body.source);
      return reply.status(201).header("location", `/modules/${id}`).send({ id });
    },
  );

  app.post(
    "/modules/reload",
    {
      ...admin,
      schema: {
        tags,
        summary: "Read the folder of the modules again",
        description:
          "New modules appear disabled, gone ones are `missing`, enabled ones whose files have changed are started anew. One that does not start leaves the version before running.",
        body: z.strictObject({}).nullish().describe("Nothing."),
        response: { 200: reloadAnswerSchema, ...errorResponses(...BODY_ERRORS, "not_found") },
      },
    },
    async () => modules.reload(),
  );

  app.patch(
    "/modules/:id",
    {
      ...admin,
      schema: {
        tags,
        summary: "Replace a module by a package",
        description:
          "The tools of an adapter's services are made anew. If the new version does not start, the one before stays and the answer is 502.",
        params: moduleParamsSchema,
        body: installBodySchema,
        response: {
          200: updatedAnswerSchema,
          ...errorResponses(...BODY_ERRORS, ...downloading, ...replacing),
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      return { id, updated: await modules.replace(id, request.body.url) };
    },
  );

  app.post(
    "/modules/:id/update",
    {
      ...admin,
      schema: {
        tags,
        summary: "Update a module from its registry",
        params: moduleParamsSchema,
        body: z.strictObject({}).nullish().describe("Nothing."),
        response: {
          200: updatedAnswerSchema,
          ...errorResponses(...BODY_ERRORS, ...downloading, ...asking, ...replacing, "no_source"),
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      return { id, updated: await modules.update(id) };
    },
  );
}
