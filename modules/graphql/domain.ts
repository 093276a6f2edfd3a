import { z } from "zod";

export const serviceDomainSchema = z.object({
  endpoint: z.string().nullable(),
  /** The schema without descriptions, or null until the endpoint has sent it. */
  sdl: z.string().nullable(),
});
export type ServiceDomain = z.infer<typeof serviceDomainSchema>;

export const toolDomainSchema = z.object({
  field: z.string(),
  document: z.string(),
  /** Variables have the names of the arguments. */
  variables: z.array(z.string()),
  /** Parameter with which a caller selects fields, or null if the type has none. */
  select: z.string().nullable(),
});
export type ToolDomain = z.infer<typeof toolDomainSchema>;
