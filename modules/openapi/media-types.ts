/** Returns `type/subtype` in lower case, without parameters. */
export function essence(contentType: string): string {
  return (contentType.split(";", 1)[0] as string).trim().toLowerCase();
}

export function isJson(type: string): boolean {
  return type === "application/json" || type === "text/json" || type.endsWith("+json");
}

const TEXT_SUBTYPES = new Set([
  "xml",
  "yaml",
  "x-yaml",
  "javascript",
  "graphql",
  "csv",
  "x-ndjson",
  "ndjson",
  "jsonl",
  "json-seq",
  "toml",
  "sql",
  "x-www-form-urlencoded",
]);

export function isText(type: string): boolean {
  if (type.startsWith("text/")) return true;
  return TEXT_SUBTYPES.has(type.slice(type.search(/[/+][^/+]*$/) + 1));
}
