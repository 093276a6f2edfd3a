/** Routes shared by keys, roles and policies: list, create and delete. All require `keys:admin`. */
import type { FastifyInstance, FastifySchema } from "fastify";
import { z } from "zod";
import type { PageRequest } from "#api/bounds/page.ts";
import type { ErrorCode } from "#api/errors.ts";
import type { App } from "#api/http/app-type.ts";
import { requireScope } from "#api/http/auth.ts";
import { createListing, pageQuerySchema } from "#api/http/cursor.ts";
import { BODY_ERRORS, errorResponses } from "#api/http/responses.ts";

export const admin = { onRequest: requireScope("keys:admin") };

type PageQuery = z.output<typeof pageQuerySchema>;

interface Described {
  operationId: string;
  summary: string;
  description: string;
}

export interface Collection<Body extends z.ZodType, Made extends z.ZodType, Listed extends z.ZodType> {
  name: "keys" | "roles" | "policies";
  position: z.ZodType<number>;
  params: z.ZodObject<{ id: z.ZodString }>;
  list: Described & { answer: Listed };
  create: Described & { body: Body; answer: Made; errors: readonly ErrorCode[] };
  remove: Described & { done: string; errors: readonly ErrorCode[] };
  service: {
    list(page: PageRequest<number>): Promise<Omit<z.input<Listed>, "nextCursor"> & { next: number | null }>;
    create(body: z.output<Body>): Promise<z.input<Made> & { id: string }>;
    remove(id: string): Promise<void>;
  };
}

export function registerCollection<Body extends z.ZodType, Made extends z.ZodType, Listed extends z.ZodType>(
  typed: App,
  { name, position, params, list, create, remove, service }: Collection<Body, Made, Listed>,
): void {
  // Fastify's types cannot follow schemas passed as arguments; `Collection` checks them instead.
  const app = typed as unknown as FastifyInstance;
  const tags = [name];
  const listing = createListing(name, position);
  const { answer: listed, ...listTexts } = list;
  const { body, answer: made, errors: createErrors, ...createTexts } = create;
  const { done, errors: removeErrors, ...removeTexts } = remove;

  app.get(
    `/${name}`,
    {
      ...admin,
      schema: {
        tags,
        ...listTexts,
        querystring: pageQuerySchema,
        response: { 200: listed, ...errorResponses("invalid_request", "invalid_cursor") },
      } as FastifySchema,
    },
    async (request) => listing.answer(request.query as PageQuery, (page) => service.list(page)),
  );

  app.post(
    `/${name}`,
    {
      ...admin,
      schema: {
        tags,
        ...createTexts,
        body,
        response: { 201: made, ...errorResponses(...BODY_ERRORS, ...createErrors) },
      } as FastifySchema,
    },
    async (request, reply) => {
      const created = await service.create(request.body as z.output<Body>);
      return reply.status(201).header("location", `/${name}/${created.id}`).send(created);
    },
  );

  app.delete(
    `/${name}/:id`,
    {
      ...admin,
      schema: {
        tags,
        ...removeTexts,
        params,
        response: {
          204: z.null().describe(done),
          ...errorResponses("invalid_request", "not_found", ...removeErrors, "shutting_down"),
        },
      } as FastifySchema,
    },
    async (request, reply) => {
      await service.remove((request.params as z.output<typeof params>).id);
      return reply.status(204).send(null);
    },
  );
}
