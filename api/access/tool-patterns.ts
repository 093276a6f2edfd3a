/** Patterns over tool paths and names of packages as schemas of requests. What the former mean: kernel/tool-patterns.ts. */
import { z } from "zod";
import { findPatternProblem } from "#kernel/tool-patterns.ts";

// For services, which import from their own feature alone.
export {
  compilePathPattern,
  compileSegment,
  compileToolPattern,
  testSegment,
  testTool,
} from "#kernel/tool-patterns.ts";

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

/** A pattern over names of npm packages, as roles hold them. */
export const packagePatternSchema = z
  .string()
  .max(214)
  .regex(/^[@A-Za-z0-9._~*/-]+$/, "expected the name of an npm package, @scope/* or *")
  .describe("The name of a package; `*` stands for any characters.");

/** A pattern over a service id, as policies hold them. */
export const servicePatternSchema = refuseProblems(z.string().max(200), (text) =>
  text.includes(".")
    ? "expected one segment, without dots: servicePattern is for the service, toolPattern for the tool"
    : findPatternProblem(text),
).describe("A name, `*` for any, or a name with one `*` in it.");

/** Whether a name fits one of the patterns of a role: `*` stands for any characters. */
export function fitsPatterns(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => pattern === "*" || fits(pattern.split("*"), name));
}

/** In time proportional to the name, whatever the pattern. */
function fits(parts: readonly string[], name: string): boolean {
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
