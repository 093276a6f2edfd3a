/** What the adapter keeps of a service and its tools: stored by the host, read again when a service is hydrated. */
import { z } from "zod";

/** What the adapter keeps of a service besides its tools. */
export const serviceDomainSchema = z.object({
  endpoint: z.string().nullable(),
  /** Of the whole schema, without descriptions; null while the endpoint has not told it. */
  sdl: z.string().nullable(),
});
export type ServiceDomain = z.infer<typeof serviceDomainSchema>;

/** What the adapter keeps of a tool: all it needs to call it. */
export const toolDomainSchema = z.object({
  field: z.string(),
  document: z.string(),
  /** Names of the variables, which are those of the arguments. */
  variables: z.array(z.string()),
  /** The parameter by which a caller selects; null where there is nothing to select. */
  select: z.string().nullable(),
});
export type ToolDomain = z.infer<typeof toolDomainSchema>;
