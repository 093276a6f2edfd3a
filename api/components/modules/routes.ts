/** HTTP of the modules feature: what differs from services, and the folder of modules that is read again. */
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import { registerComponent } from "../routes.ts";
import {
  installBodySchema,
  installFromBodySchema,
  moduleFilterSchema,
  moduleListSchema,
  moduleParamsSchema,
  moduleRecordSchema,
  reloadAnswerSchema,
  updatedAnswerSchema,
} from "./model.ts";
import type { Modules } from "./service.ts";

const downloading = ["egress_refused", "download_failed", "payload_too_large", "invalid_package"] as const;
const asking = ["invalid_descriptor", "hash_mismatch"] as const;
const replacing = ["not_found", "builtin_module", "environments_draining", "module_failed"] as const;
const noBody = z.strictObject({}).nullish().describe("Nothing.");

export function registerModuleRoutes(app: App, modules: Modules): void {
  registerComponent(app, {
    kind: "module",
    params: moduleParamsSchema,
    list: {
      summary: "Modules, the last registered first",
      filter: moduleFilterSchema,
      answer: moduleListSchema,
      run: (filter: z.output<typeof moduleFilterSchema>, page) => modules.list(filter, page),
    },
    get: { summary: "One module", answer: moduleRecordSchema, run: (id) => modules.get(id) },
    install: {
      summary: "Install a module from a package",
      description:
        "A `.tar.zst` with `module.json` at its top or in its only folder. Nothing of it runs: the module starts disabled.",
      body: installBodySchema,
      errors: [...downloading, "not_found", "module_taken"],
      run: ({ url }) => modules.install(url),
    },
    installFrom: {
      summary: "Install a module from a registry",
      body: installFromBodySchema,
      errors: [...downloading, ...asking, "not_found", "module_taken"],
      run: ({ source }) => modules.installFrom(source),
    },
    updated: updatedAnswerSchema,
    replace: {
      summary: "Replace a module by a package",
      description:
        "The tools of an adapter's services are regenerated. If the new version does not start, the one before stays and the answer is 502.",
      body: installBodySchema,
      errors: [...downloading, ...replacing],
      run: (id, { url }) => modules.replace(id, url),
    },
    update: {
      summary: "Update a module from its registry",
      body: noBody,
      errors: [...downloading, ...asking, ...replacing, "no_source"],
      run: (id) => modules.update(id),
    },
    enable: {
      summary: "Enable or disable a module",
      description:
        "Enabling an environment starts it first; only then the one before it takes no more runs and ends after its last one. If it cannot start, the one before it stays and the answer is 502.",
      errors: ["not_found", "module_missing", "environments_draining", "module_failed"],
      run: (id, enabled) => modules.setEnabled(id, enabled),
    },
    remove: {
      summary: "Delete a module; not one that comes with the server",
      errors: ["builtin_module"],
      run: (id) => modules.remove(id),
    },
  });

  app.post(
    "/modules/reload",
    {
      onRequest: requireScope("modules:admin"),
      schema: {
        tags: ["modules"],
        summary: "Read the folder of the modules again",
        description:
          "New modules appear disabled, gone ones are `missing`, enabled ones whose files have changed are restarted. If one does not start, the version before keeps running.",
        body: noBody,
        response: { 200: reloadAnswerSchema, ...errorResponses(...BODY_ERRORS, "not_found") },
      },
    },
    async () => modules.reload(),
  );
}
