/** Patterns over tool paths as schemas of requests. What they mean: runner/tool-patterns.ts. */
import { z } from "zod";
import { findPatternProblem } from "#runner/tool-patterns.ts";

export {
  compilePathPattern,
  compileSegment,
  compileToolPattern,
  createToolIndex,
  findPatternProblem,
  listNamed,
  MAX_PATTERN_CHARACTERS,
  type PlacedEntry,
  testSegment,
  testTool,
} from "#runner/tool-patterns.ts";

/** A pattern over whole paths, as roles hold them. */
export const pathPatternSchema = z
  .string()
  .superRefine((text, context) => {
    const problem = findPatternProblem(text);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  })
  .describe(
    "Over `service.tool`, or `service.group.tool`: `*` is one segment (or, inside one, any characters), `**` any number.",
  );

/** A pattern over a tool id, as policies hold them. */
export const toolPatternSchema = z
  .string()
  .max(200)
  .superRefine((text, context) => {
    const problem = findPatternProblem(text);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  })
  .describe(
    "`*` for any tool; else a name, or a name with one `*` in it. Of tools in groups: segments, such as `issues.*` or `**.list`.",
  );

/** A pattern over a service id, as policies hold them. */
export const servicePatternSchema = z
  .string()
  .max(200)
  .superRefine((text, context) => {
    const problem = text.includes(".")
      ? "expected one segment, without dots: servicePattern is for the service, toolPattern for the tool"
      : findPatternProblem(text);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  })
  .describe("A name, `*` for any, or a name with one `*` in it.");
