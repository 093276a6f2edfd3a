import { own } from "../foreign-json.ts";

const COMMENT_LIMITS = { maxDescriptionChars: 800, maxValueChars: 400, maxDefaultKeys: 20 } as const;

/** Returns the description followed by tags for constraints that TypeScript cannot express. */
export function describeSchema(source: Record<string, unknown>): string {
  const description = own(source, "description") ?? own(source, "title");
  const lines = typeof description === "string" ? [commentText(description)] : [];
  for (const keyword of ["format", "pattern"] as const) {
    const value = own(source, keyword);
    if (typeof value === "string")
      lines.push(`@${keyword} ${commentText(value, COMMENT_LIMITS.maxValueChars)}`);
  }
  for (const keyword of NUMBER_KEYWORDS) {
    const value = own(source, keyword);
    if (typeof value === "number") lines.push(`@${keyword} ${value}`);
  }
  if (Object.hasOwn(source, "default")) {
    const text = boundedJson(source.default);
    if (text !== undefined) lines.push(`@default ${commentText(text, COMMENT_LIMITS.maxValueChars)}`);
  }
  return lines.filter((line) => line.trim() !== "").join("\n");
}

const NUMBER_KEYWORDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
] as const;

function boundedJson(value: unknown): string | undefined {
  if (
    value !== null &&
    typeof value === "object" &&
    Object.keys(value).length > COMMENT_LIMITS.maxDefaultKeys
  )
    return undefined;
  try {
    const text = JSON.stringify(value);
    return text === undefined || text.length > COMMENT_LIMITS.maxValueChars ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Removes comment ends, control characters and line separators other than the newline. */
export function commentText(text: string, maxChars: number = COMMENT_LIMITS.maxDescriptionChars): string {
  const bounded = text.length > maxChars ? `${text.slice(0, maxChars).trimEnd()}...` : text;
  return bounded
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(/[^\P{Cc}\n]/gu, " ")
    .replaceAll("*/", "* /")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

export function joinTexts(first: string | undefined, second: string): string {
  return first === undefined || first === "" ? second : `${first}\n${second}`;
}
