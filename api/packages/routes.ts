/** Keys neither see nor change packages that their scripts may not import. */
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { App } from "#api/http/app-type.ts";
import { requireKey, requireScope, rightsOf } from "#api/http/auth.ts";
import { createListing, pageQuerySchema } from "#api/http/cursor.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import {
  installationListSchema,
  installationParamsSchema,
  installationSchema,
  installPackageBodySchema,
  packageFilterSchema,
  packageListSchema,
  packageParamsSchema,
  packagePositionSchema,
  packageSchema,
  packageTypesSchema,
} from "./model.ts";
import type { Packages } from "./service.ts";

const tags = ["packages"];
const anyKey = { onRequest: requireKey() };
const admin = { onRequest: requireScope("packages:admin") };
const read = { tags, security: [{ key: [] }] };
const listing = createListing("packages", packagePositionSchema);
const installationListing = createListing("package-installations", z.int().positive());

export function registerPackageRoutes(app: App, packages: Packages): void {
  app.get(
    "/packages",
    {
      ...anyKey,
      schema: {
        ...read,
        operationId: "listPackages",
        summary: "List installed npm packages, by name",
        description: "Lists only packages that the role of this key may import.",
        querystring: pageQuerySchema.extend(packageFilterSchema.shape),
        response: { 200: packageListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) =>
      listing.answer(request.query, (page, filter) => packages.list(rightsOf(request.caller), filter, page)),
  );

  app.post(
    "/packages",
    {
      ...admin,
      schema: {
        tags,
        operationId: "installPackage",
        summary: "Install an npm package for scripts",
        description:
          "Returns an installation at once: poll `GET /package-installations/{id}`. No script of any package is executed. A package that is installed, or being installed, is returned as it is; with `lock`, only if its tree matches the lock file.",
        body: installPackageBodySchema,
        response: { 202: installationSchema, ...errorResponses(...BODY_ERRORS) },
      },
    },
    async (request, reply) => {
      const installation = await packages.install(callerOf(request), rightsOf(request.caller), request.body);
      return reply
        .status(202)
        .header("location", `/package-installations/${installation.id}`)
        .send(installation);
    },
  );

  app.get(
    "/packages/:name/:version",
    {
      ...anyKey,
      schema: {
        ...read,
        operationId: "getPackage",
        summary: "Read an installed package",
        description: "Returns its dependency tree, licences, sizes and known vulnerabilities.",
        params: packageParamsSchema,
        response: { 200: packageSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async ({ caller, params }) => packages.get(rightsOf(caller), params.name, params.version),
  );

  app.get(
    "/packages/:name/:version/types",
    {
      ...anyKey,
      schema: {
        ...read,
        operationId: "getPackageTypes",
        summary: "Read the TypeScript declarations of a package",
        description: "Returns the declarations by file, dependencies included.",
        params: packageParamsSchema,
        response: { 200: packageTypesSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async ({ caller, params }) => packages.types(rightsOf(caller), params.name, params.version),
  );

  app.delete(
    "/packages/:name/:version",
    {
      ...admin,
      schema: {
        tags,
        operationId: "deletePackage",
        summary: "Delete a package",
        description: "Runs that use the package keep it until they end.",
        params: packageParamsSchema,
        response: {
          204: z.null().describe("Removed."),
          ...errorResponses("invalid_request", "not_found", "shutting_down"),
        },
      },
    },
    async ({ caller, params }, reply) => {
      await packages.remove(rightsOf(caller), params.name, params.version);
      return reply.status(204).send(null);
    },
  );

  registerInstallationRoutes(app, packages);
}

function registerInstallationRoutes(app: App, packages: Packages): void {
  app.get(
    "/package-installations",
    {
      ...admin,
      schema: {
        tags,
        operationId: "listPackageInstallations",
        summary: "List package installations, newest first",
        description: "Lists running, finished and failed installations.",
        querystring: pageQuerySchema,
        response: { 200: installationListSchema, ...errorResponses("invalid_request", "invalid_cursor") },
      },
    },
    async (request) =>
      installationListing.answer(request.query, (page) =>
        packages.installations(rightsOf(request.caller), page),
      ),
  );

  app.get(
    "/package-installations/:id",
    {
      ...admin,
      schema: {
        tags,
        operationId: "getPackageInstallation",
        summary: "Read the progress of a package installation",
        description: "Poll this until `state` is no longer `running`.",
        params: installationParamsSchema,
        response: { 200: installationSchema, ...errorResponses("invalid_request", "not_found") },
      },
    },
    async (request) => packages.installation(rightsOf(request.caller), request.params.id),
  );
}

function callerOf({ caller }: FastifyRequest): { id: string } {
  if (caller === null) throw new Error("Only a known caller can install a package.");
  return caller;
}
