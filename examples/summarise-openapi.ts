// Summarises an OpenAPI document: operations per tag, what is deprecated, which schemas are used most.
//
// What it works on comes with it as its input: the OpenAPI document.
// Expected: success; `result` is the summary, `output.markdown` a table for a person.

interface Operation {
  operationId?: string;
  summary?: string;
  tags?: string[];
  deprecated?: boolean;
  parameters?: unknown[];
}

interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string };
  paths?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, unknown> };
}

const openapi: OpenApiDocument = cyrnel.input;

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

const operations = Object.entries(openapi.paths ?? {}).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => METHODS.includes(method))
    .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

const byTag = Object.groupBy(operations, ({ operation }) => operation.tags?.[0] ?? "(no tag)");
const perTag = Object.entries(byTag)
  .map(([tag, found]) => ({ tag, operations: found?.length ?? 0 }))
  .sort((a, b) => b.operations - a.operations || a.tag.localeCompare(b.tag));

const uses = new Map<string, number>();
function countReferences(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    const name = key === "$ref" && typeof value === "string" ? /^#\/components\/schemas\/(.+)$/.exec(value)?.[1] : undefined;
    if (name) uses.set(name, (uses.get(name) ?? 0) + 1);
    else countReferences(value);
  }
}
countReferences(openapi);

const schemas = Object.keys(openapi.components?.schemas ?? {});
const summary = {
  title: openapi.info.title,
  version: openapi.info.version,
  specification: openapi.openapi,
  paths: Object.keys(openapi.paths ?? {}).length,
  operations: operations.length,
  perTag,
  changing: operations.filter(({ method }) => !["GET", "HEAD", "OPTIONS", "TRACE"].includes(method)).length,
  deprecated: operations.filter(({ operation }) => operation.deprecated).map(({ method, path }) => `${method} ${path}`),
  schemas: schemas.length,
  mostUsedSchemas: [...uses].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).slice(0, 5).map(([name, count]) => ({ name, count })),
  unusedSchemas: schemas.filter((name) => !uses.has(name)),
};

const lines = operations.map(({ method, path, operation }) => `| ${method} | ${path} | ${operation.summary ?? operation.operationId ?? ""} |`);
cyrnel.output({ markdown: ["| method | path | what it does |", "| --- | --- | --- |", ...lines].join("\n") });
console.log(`${summary.title} ${summary.version}: ${summary.operations} operations on ${summary.paths} paths`);

return summary;
