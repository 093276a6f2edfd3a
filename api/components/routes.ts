/** Routes shared by modules and services. Any key may read; changes require `modules:admin` or `services:admin`. */
import type { FastifyInstance, FastifyRequest, FastifySchema } from "fastify";
import { z } from "zod";
import type { PageRequest } from "#api/bounds/page.ts";
import type { ErrorCode } from "#api/errors.ts";
import type { App } from "#api/http/app-type.ts";
import { requireKey, requireScope } from "#api/http/auth.ts";
import { createListing, pageQuerySchema } from "#api/http/cursor.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";
import { enabledAnswerSchema, enabledBodySchema, installedAnswerSchema } from "./model.ts";
import type { Owner } from "./ports.ts";

interface Described {
  operationId: string;
  summary: string;
  description: string;
}

interface Changing extends Described {
  errors: readonly ErrorCode[];
}

interface Taking<Body> extends Changing {
  body: z.ZodType<Body>;
  maxBodyBytes?: number;
}

export interface Component<Filter, Install, FromRegistry, Replace> {
  kind: Owner["kind"];
  params: z.ZodObject<{ id: z.ZodString }>;
  list: Described & {
    filter: z.ZodObject;
    answer: z.ZodType;
    run(
      filter: Filter,
      page: PageRequest<number>,
      request: FastifyRequest,
    ): Promise<{ next: number | null } & object>;
  };
  get: Described & { answer: z.ZodType; run(id: string): Promise<unknown> };
  install: Taking<Install> & { run(body: Install, request: FastifyRequest): Promise<string> };
  installFrom: Taking<FromRegistry> & { run(body: FromRegistry, request: FastifyRequest): Promise<string> };
  updated: z.ZodType;
  replace: Taking<Replace> & { run(id: string, body: Replace, request: FastifyRequest): Promise<boolean> };
  update: Changing & { body?: z.ZodType; run(id: string, request: FastifyRequest): Promise<boolean> };
  enable: Changing & { run(id: string, enabled: boolean): Promise<void> };
  remove: Changing & { run(id: string): Promise<void> };
}

type IdParams = { id: string };
type PageQuery = z.output<typeof pageQuerySchema>;

export function registerComponent<Filter, Install, FromRegistry, Replace>(
  typed: App,
  component: Component<Filter, Install, FromRegistry, Replace>,
): void {
  // Fastify's types cannot follow schemas passed as arguments; `Component` checks them instead.
  const app = typed as unknown as FastifyInstance;
  const name = `${component.kind}s` as const;
  const registering: Registering = {
    name,
    admin: { onRequest: requireScope(`${name}:admin`) },
    describe: ({ operationId, summary, description }, rest) => ({
      tags: [name],
      operationId,
      summary,
      description,
      ...rest,
    }),
  };
  registerInstalling(app, component, registering);
  registerChanging(app, component, registering);
  registerReading(app, component, registering);
  registerSwitching(app, component, registering);
}

interface Registering {
  name: "modules" | "services";
  admin: { onRequest: ReturnType<typeof requireScope> };
  describe(described: Described, rest: object): FastifySchema;
}

function limitBody({ maxBodyBytes }: { maxBodyBytes?: number }) {
  return maxBodyBytes === undefined ? {} : { bodyLimit: maxBodyBytes };
}

function registerInstalling<Filter, Install, FromRegistry, Replace>(
  app: FastifyInstance,
  { get, install, installFrom }: Component<Filter, Install, FromRegistry, Replace>,
  { name, admin, describe }: Registering,
): void {
  for (const [path, route] of [
    [`/${name}`, install],
    [`/${name}/install`, installFrom],
  ] as const) {
    const { body, errors, run } = route as Component<Filter, Install, Install, Replace>["install"];
    const response = { 201: installedAnswerSchema, ...errorResponses(...BODY_ERRORS, ...errors) };
    app.post(
      path,
      { ...admin, ...limitBody(route), schema: describe(route, { body, response }) },
      async (request, reply) => {
        const id = await run(request.body as Install, request);
        return reply
          .status(201)
          .header("location", `/${name}/${id}`)
          .send({ id, problems: await findProblems(id) });
      },
    );
  }

  /** Returns the problems found in the definition, or undefined if there are none or the component was deleted. */
  async function findProblems(id: string): Promise<string[] | undefined> {
    const { problems = [] } = (await get.run(id).catch(() => ({}))) as { problems?: string[] };
    return problems.length === 0 ? undefined : problems;
  }
}

function registerChanging<Filter, Install, FromRegistry, Replace>(
  app: FastifyInstance,
  { params, updated, replace, update }: Component<Filter, Install, FromRegistry, Replace>,
  { name, admin, describe }: Registering,
): void {
  app.patch<{ Params: IdParams }>(
    `/${name}/:id`,
    {
      ...admin,
      ...limitBody(replace),
      schema: describe(replace, {
        params,
        body: replace.body,
        response: { 200: updated, ...errorResponses(...BODY_ERRORS, ...replace.errors) },
      }),
    },
    async (request) => {
      const { id } = request.params;
      return { id, updated: await replace.run(id, request.body as Replace, request) };
    },
  );

  app.post<{ Params: IdParams }>(
    `/${name}/:id/update`,
    {
      ...admin,
      schema: describe(update, {
        params,
        ...(update.body && { body: update.body }),
        response: { 200: updated, ...errorResponses(...BODY_ERRORS, ...update.errors) },
      }),
    },
    async (request) => {
      const { id } = request.params;
      return { id, updated: await update.run(id, request) };
    },
  );
}

function registerReading<Filter, Install, FromRegistry, Replace>(
  app: FastifyInstance,
  { params, list, get }: Component<Filter, Install, FromRegistry, Replace>,
  { name, describe }: Registering,
): void {
  const open = { onRequest: requireKey() };
  const listing = createListing(name, z.int().positive());
  app.get(
    `/${name}`,
    {
      ...open,
      schema: describe(list, {
        security: [{ key: [] }],
        querystring: list.filter.extend(pageQuerySchema.shape),
        response: { 200: list.answer, ...errorResponses("invalid_request", "invalid_cursor") },
      }),
    },
    async (request) =>
      listing.answer(request.query as PageQuery & Filter, (page, filter) =>
        list.run(filter as Filter, page, request),
      ),
  );

  app.get<{ Params: IdParams }>(
    `/${name}/:id`,
    {
      ...open,
      schema: describe(get, {
        security: [{ key: [] }],
        params,
        response: { 200: get.answer, ...errorResponses("invalid_request", "not_found") },
      }),
    },
    async (request) => get.run(request.params.id),
  );
}

function registerSwitching<Filter, Install, FromRegistry, Replace>(
  app: FastifyInstance,
  { params, enable, remove }: Component<Filter, Install, FromRegistry, Replace>,
  { name, admin, describe }: Registering,
): void {
  app.delete<{ Params: IdParams }>(
    `/${name}/:id`,
    {
      ...admin,
      schema: describe(remove, {
        params,
        response: {
          204: z.null().describe("Deleted."),
          ...errorResponses("invalid_request", "not_found", "shutting_down", ...remove.errors),
        },
      }),
    },
    async (request, reply) => {
      await remove.run(request.params.id);
      return reply.status(204).send(null);
    },
  );

  app.post<{ Params: IdParams; Body: z.output<typeof enabledBodySchema> }>(
    `/${name}/:id/enabled`,
    {
      ...admin,
      schema: describe(enable, {
        params,
        body: enabledBodySchema,
        response: { 200: enabledAnswerSchema, ...errorResponses(...BODY_ERRORS, ...enable.errors) },
      }),
    },
    async ({ params: { id }, body: { enabled } }) => {
      await enable.run(id, enabled);
      return { id, enabled };
    },
  );
}
