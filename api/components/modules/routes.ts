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
      operationId: "listModules",
      summary: "List modules, newest first",
      description:
        "Modules are environments, which run scripts, and adapters, which make services of definitions.",
      filter: moduleFilterSchema,
      answer: moduleListSchema,
      run: (filter: z.output<typeof moduleFilterSchema>, page) => modules.list(filter, page),
    },
    get: {
      operationId: "getModule",
      summary: "Read a module",
      description: "Also reports how the module is on other replicas, where that differs.",
      answer: moduleRecordSchema,
      run: (id) => modules.get(id),
    },
    install: {
      operationId: "installModule",
      summary: "Install a module from a package",
      description:
        "The package is a `.tar.zst` with `module.json` at its top or in its only folder. None of its code runs: the module starts disabled.",
      body: installBodySchema,
      errors: [...downloading, "not_found", "module_taken"],
      run: ({ url }) => modules.install(url),
    },
    installFrom: {
      operationId: "installModuleFromRegistry",
      summary: "Install a module from a registry",
      description:
        "`source` is the URL of a descriptor, `{downloadUrl, hash?, id?}`. It is stored, for updates.",
      body: installFromBodySchema,
      errors: [...downloading, ...asking, "not_found", "module_taken"],
      run: ({ source }) => modules.installFrom(source),
    },
    updated: updatedAnswerSchema,
    replace: {
      operationId: "replaceModule",
      summary: "Replace a module with another package",
      description:
        "The tools of an adapter's services are regenerated. If the new version does not start, the previous one stays and the response is 502.",
      body: installBodySchema,
      errors: [...downloading, ...replacing],
      run: (id, { url }) => modules.replace(id, url),
    },
    update: {
      operationId: "updateModule",
      summary: "Update a module from its registry",
      description:
        "Reads the descriptor at the module's `source` again, and replaces the module if it names another package.",
      body: noBody,
      errors: [...downloading, ...asking, ...replacing, "no_source"],
      run: (id) => modules.update(id),
    },
    enable: {
      operationId: "setModuleEnabled",
      summary: "Enable or disable a module",
      description:
        "Enabling an environment starts it first; only then the previous one takes no more runs and drains. If it cannot start, the previous one stays and the response is 502.",
      errors: ["not_found", "module_missing", "environments_draining", "module_failed"],
      run: (id, enabled) => modules.setEnabled(id, enabled),
    },
    remove: {
      operationId: "deleteModule",
      summary: "Delete a module",
      description: "Modules that come with the server can be disabled, but not deleted.",
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
        operationId: "reloadModules",
        summary: "Reload the modules folder",
        description:
          "New modules appear disabled, removed ones are `missing`, enabled ones whose files changed are restarted. If one does not start, its previous version keeps running.",
        body: noBody,
        response: { 200: reloadAnswerSchema, ...errorResponses(...BODY_ERRORS, "not_found") },
      },
    },
    async () => modules.reload(),
  );
}
