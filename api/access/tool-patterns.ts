/** Patterns over tool paths as schemas of requests. What they mean: runner/tool-patterns.ts. */
import { z } from "zod";
import { findPatternProblem } from "#runner/tool-patterns.ts";

// For services, which import from their own feature alone.
export {
  compilePathPattern,
  compileSegment,
  compileToolPattern,
  testSegment,
  testTool,
} from "#runner/tool-patterns.ts";

/** Refuses a text with the sentence that `findProblem` has for it. */
function refuseProblems(schema: z.ZodString, findProblem: (text: string) => string | null): z.ZodString {
  return schema.superRefine((text, context) => {
    const problem = findProblem(text);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  });
}

/** A pattern over whole paths, as roles hold them. */
export const pathPatternSchema = refuseProblems(z.string(), findPatternProblem).describe(
  "Over `service.tool`, or `service.group.tool`: `*` is one segment (or, inside one, any characters), `**` any number.",
);

/** A pattern over a tool id, as policies hold them. */
export const toolPatternSchema = refuseProblems(z.string().max(200), findPatternProblem).describe(
  "`*` for any tool; else a name, or a name with one `*` in it. Of tools in groups: segments, such as `issues.*` or `**.list`.",
);

/** A pattern over a service id, as policies hold them. */
export const servicePatternSchema = refuseProblems(z.string().max(200), (text) =>
  text.includes(".")
    ? "expected one segment, without dots: servicePattern is for the service, toolPattern for the tool"
    : findPatternProblem(text),
).describe("A name, `*` for any, or a name with one `*` in it.");
