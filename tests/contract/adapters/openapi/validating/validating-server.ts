/**
 * An HTTP server made from a document by Prism's own parts: its model of the operations, its router, and its validators
 * of path, query, headers, body and credentials. It answers what it found; nothing of the adapter is used.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { CORE_SCHEMA, load } from "js-yaml";
import { findForm, type JudgedForm, readForm } from "./form-bodies.ts";
import {
  bundleTarget,
  type Diagnostic,
  type PrismOperation,
  type PrismRequest,
  route,
  transformOas2Operations,
  transformOas3Operations,
  validateAgainstSchema,
  validateInput,
  validatePath,
  validateSecurity,
} from "./prism.ts";

export interface Verdict {
  /** `GET /path/{template}` of the operation that the request was taken for. */
  operation: string | null;
  violations: string[];
}

export interface ValidatingServer extends AsyncDisposable {
  url: string;
  operations: number;
}

export async function startValidatingServer(document: string): Promise<ValidatingServer> {
  const parsed = parseDocument(document);
  const transform = parsed.swagger === undefined ? transformOas3Operations : transformOas2Operations;
  const operations = transform(parsed);
  const bundled = new Map<PrismOperation, PrismOperation>();

  /** With what it refers to, and without its responses, which are not looked at. */
  function complete(operation: PrismOperation): PrismOperation {
    const known = bundled.get(operation);
    if (known !== undefined) return known;
    const target = { ...parsed, __target__: { ...operation, responses: [] } };
    const completed = bundleTarget({ document: target, path: "#/__target__", cloneDocument: false });
    bundled.set(operation, completed);
    return completed;
  }

  async function judge(request: PrismRequest, raw: Buffer): Promise<Verdict> {
    const routed = route({ resources: operations, input: request });
    if (routed._tag === "Left")
      return { operation: null, violations: [String(routed.left.message ?? routed.left)] };
    const resource = complete(routed.right as PrismOperation);
    const found = await findViolations(resource, request, raw);
    return {
      operation: `${resource.method.toUpperCase()} ${resource.path}`,
      violations: found
        .filter(({ severity }) => severity === 0)
        .map(({ message, path }) => `${path?.join(".") ?? ""}: ${message}`),
    };
  }

  const server = createServer((incoming, outgoing) => {
    void readRequest(incoming)
      .then(({ request, raw }) => judge(request, raw))
      .catch((error: Error) => ({ operation: null, violations: [`Prism itself failed: ${error.message}`] }))
      .then((verdict) => {
        outgoing.setHeader("content-type", "application/json");
        outgoing.end(JSON.stringify(verdict));
      });
  });
  // Samples are made in this process too, for seconds at a time: an idle connection must outlast that.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    operations: operations.length,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Prism knows no body without a media type; a document of version 2 that names none means JSON. */
function parseDocument(text: string): { swagger?: string; consumes?: string[] } {
  const parsed = (
    text.trimStart().startsWith("{") ? JSON.parse(text) : load(text, { schema: CORE_SCHEMA })
  ) as {
    swagger?: string;
    consumes?: string[];
  };
  if (parsed.swagger !== undefined) parsed.consumes ??= ["application/json"];
  return parsed;
}

/**
 * Prism's path reader splits lists before its own deserialisers do, and its form reader knows neither repeated names nor
 * nested lists: both are read here, and then judged by its validators.
 */
async function findViolations(
  resource: PrismOperation,
  request: PrismRequest,
  raw: Buffer,
): Promise<Diagnostic[]> {
  const form = findForm(resource, request);
  const rest = {
    ...resource.request,
    path: undefined,
    ...(form === undefined ? {} : { body: withoutSchema(form) }),
  };
  const violations = [validateInput, validateSecurity].flatMap((validate) => {
    const result = validate({ resource: { ...resource, request: rest }, element: request });
    return result._tag === "Left" ? result.left : [];
  });
  const path = validatePath(
    readSegments(request.url.path, resource.path),
    resource.request?.path ?? [],
    0,
    resource.__bundled__,
  );
  if (path._tag === "Left") violations.push(...path.left);
  if (form === undefined || raw.length === 0) return violations;
  const fields = await readForm(form, request, raw);
  const judged = validateAgainstSchema(fields, form.schema, true, "Request", "body", resource.__bundled__);
  return judged._tag === "Some" ? [...violations, ...judged.value] : violations;
}

function withoutSchema({ mediaType, required }: JudgedForm): object {
  return { required, contents: [{ mediaType }] };
}

function readSegments(path: string, template: string): Record<string, string> {
  const names: string[] = [];
  const pattern = template
    .split(/(\{[^}]+\})/)
    .map((part) => {
      if (!part.startsWith("{")) return part.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
      names.push(part.slice(1, -1));
      return "([^/]*)";
    })
    .join("");
  const values = new RegExp(`^${pattern}$`).exec(path)?.slice(1) ?? [];
  return Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(values[index] ?? "")]));
}

async function readRequest(incoming: IncomingMessage): Promise<{ request: PrismRequest; raw: Buffer }> {
  const raw = await buffer(incoming);
  const url = new URL(incoming.url ?? "/", "http://server");
  const query: Record<string, string | string[]> = {};
  for (const name of new Set(url.searchParams.keys())) {
    const values = url.searchParams.getAll(name);
    query[name] = values.length === 1 ? (values[0] as string) : values;
  }
  const isJson = /^[^;]*[/+]json\b/.test(incoming.headers["content-type"] ?? "");
  const text = raw.toString();
  const request: PrismRequest = {
    method: (incoming.method ?? "get").toLowerCase(),
    url: { path: url.pathname, query },
    headers: incoming.headers as Record<string, string>,
    ...(text === "" ? {} : { body: isJson ? JSON.parse(text) : text }),
  };
  return { request, raw };
}
