import { z } from "zod";
import { findPatternProblem } from "#kernel/tool-patterns.ts";

export {
  compilePathPattern,
  compileSegment,
  compileToolPattern,
  testSegment,
  testTool,
} from "#kernel/tool-patterns.ts";

function refuseProblems(schema: z.ZodString, findProblem: (text: string) => string | null): z.ZodString {
  return schema.superRefine((text, context) => {
    const problem = findProblem(text);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  });
}

export const pathPatternSchema = refuseProblems(z.string(), findPatternProblem).describe(
  "Matches `service.tool` or `service.group.tool`: `*` is one segment (or, inside one, any characters), `**` any number.",
);

export const toolPatternSchema = refuseProblems(z.string().max(200), findPatternProblem).describe(
  "`*` for any tool, a name, or a name with one `*` in it. For tools in groups, segments such as `issues.*` or `**.list`.",
);

export const packagePatternSchema = z
  .string()
  .max(214)
  .regex(/^[@A-Za-z0-9._~*/-]+$/, "expected an npm package name, @scope/* or *")
  .describe("A package name; `*` matches any characters.");

export const servicePatternSchema = refuseProblems(z.string().max(200), (text) =>
  text.includes(".")
    ? "expected one segment, without dots: servicePattern is for the service, toolPattern for the tool"
    : findPatternProblem(text),
).describe("A name, `*` for any service, or a name with one `*` in it.");

/** Returns whether a pattern matches the name. `*` matches any characters. */
export function fitsPatterns(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => pattern === "*" || fits(pattern.split("*"), name));
}

/** Matches a name in linear time, for any pattern. */
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
