/** Converts a tool function's return value, by the rules for script values (docs/values.md). */
import { parseExactJson, type RunWarning } from "#sdk";

const MAX_DEPTH = 512;
/** Limit of a reply to a script. */
const MAX_BYTES = 64 * 1024 * 1024;

type Encoding = typeof import("#runner/child/realm/json/encode.ts");
let loading: Promise<Encoding> | undefined;

/**
 * Returns plain data unchanged. @throws TypeError that names the place of a value that JSON cannot represent. A Node
 * older than the children's lacks a required feature: there, values are converted like JSON.stringify.
 */
export async function toJsonData(
  path: string,
  value: unknown,
  warn: (warning: RunWarning) => void,
): Promise<unknown> {
  if (typeof value !== "object" || value === null || !("isError" in Error)) return value;
  loading ??= import("#runner/child/realm/json/encode.ts");
  const { encodeJson, isPlainData } = await loading;
  const limits = {
    name: `the result of ${path}`,
    maxDepth: MAX_DEPTH,
    maxBytes: MAX_BYTES,
    keepsIntegers: true,
    onNull(place: string, found: string) {
      const message = `${place} is ${found}, which JSON cannot hold; it became null.`;
      warn({ code: "value_not_json", message, path: place });
    },
  } as const;
  if (isPlainData(value, limits)) return value;
  const { text, tooLarge } = encodeJson(value, limits);
  // The reply is then too large and reports that.
  return tooLarge || text === undefined ? value : parseExactJson(text);
}
