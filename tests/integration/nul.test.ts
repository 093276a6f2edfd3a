/** A NUL character in any text of any request is a mistake of the caller: Postgres stores none. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServicesServer, startServicesServer } from "./services-server.ts";

const NUL = "a\0b";

interface Schema {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  pattern?: string;
  format?: string;
}
interface Operation {
  parameters?: { in: string; name: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

let server: ServicesServer;
/** By the start of a path: the id of something that is there. */
const existing: Record<string, string> = {};

beforeAll(async () => {
  server = await startServicesServer();
  await server.install("svc");
  const made = async (path: string, json: unknown) => String((await server.post(path, json)).body.id);
  existing["/processes"] = await made("/processes", { code: "print secret", autorun: false });
  existing["/services"] = "svc";
  existing["/tools"] = "svc";
  existing["/modules"] = "scripted";
  existing["/roles"] = await made("/roles", { name: "role", allow: ["*.*"] });
  existing["/keys"] = await made("/keys", { name: "key", scopes: [] });
  existing["/policies"] = await made("/policies", {
    servicePattern: "none",
    toolPattern: "*",
    decision: "block",
  });
  const file = await server.request("POST", "/files", {
    body: "x",
    headers: { "content-type": "text/plain" },
  });
  existing["/files"] = file.body.id;
});
afterAll(() => server.close());

/** Something of the schema, with NUL in place of the text at `path` (members, then positions). */
function example(schema: Schema, path: string | null, at = ""): unknown {
  if (at === path) return NUL;
  const branch = schema.oneOf?.[0] ?? schema.anyOf?.[0] ?? schema.allOf?.[0];
  if (branch !== undefined) return example({ ...schema, ...branch, oneOf: [], anyOf: [] }, path, at);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.properties !== undefined) {
    const required = schema.required ?? [];
    const members = Object.entries(schema.properties).filter(
      ([name]) => required.includes(name) || path === `${at}/${name}` || path?.startsWith(`${at}/${name}/`),
    );
    return Object.fromEntries(
      members.map(([name, member]) => [name, example(member, path, `${at}/${name}`)]),
    );
  }
  if (schema.items !== undefined) return [example(schema.items, path, `${at}/0`)];
  if (schema.type === "boolean") return false;
  if (schema.type === "integer" || schema.type === "number") return 1;
  if (schema.type === "object")
    return path?.startsWith(`${at}/`) ? { [path.split("/").at(-1) ?? ""]: NUL } : {};
  return "text";
}

/** Paths of every text in the schema, members without a type and keys of open objects included. */
function listTexts(schema: Schema, at = ""): string[] {
  const branches = [...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...(schema.type === "string" || (schema.type === undefined && branches.length === 0) ? [at] : []),
    ...(schema.type === "object" && schema.properties === undefined ? [at, `${at}/${NUL}`] : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
      listTexts(member, `${at}/${name}`),
    ),
    ...(schema.items === undefined ? [] : listTexts(schema.items, `${at}/0`)),
    ...branches.flatMap((branch) => listTexts(branch, at)),
  ];
}

async function ask(method: string, path: string, json?: unknown): Promise<{ status: number; text: string }> {
  const response = await fetch(server.url + path, {
    method: method.toUpperCase(),
    headers: json === undefined ? {} : { "content-type": "application/json" },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    signal: AbortSignal.timeout(20_000),
  });
  const type = response.headers.get("content-type") ?? "";
  if (!type.includes("event-stream")) return { status: response.status, text: await response.text() };
  await response.body?.cancel();
  return { status: response.status, text: "" };
}

test("NUL in a parameter or a member of a body is refused on every route of the document, and never a fault of the server", async () => {
  const { paths } = (await server.get("/openapi.json")).body as {
    paths: Record<string, Record<string, Operation>>;
  };
  const surprises: string[] = [];
  let asked = 0;
  const expectNoFault = async (
    what: string,
    method: string,
    path: string,
    isParameter: boolean,
    json?: unknown,
  ) => {
    asked += 1;
    const { status, text } = await ask(method, path, json);
    const isRefused = status === 400 || status === 404;
    if (status === 500 || (isParameter && !isRefused))
      surprises.push(`${what}: ${status} ${text.slice(0, 120)}`);
  };
  for (const [path, methods] of Object.entries(paths)) {
    const root = Object.keys(existing).find((start) => path.startsWith(start)) ?? "";
    for (const [method, { parameters = [], requestBody }] of Object.entries(methods)) {
      const filled = (nul?: string) =>
        path.replaceAll(/\{([^}]+)\}/g, (_, name) =>
          name === nul ? encodeURIComponent(NUL) : name === "toolId" ? "ping" : (existing[root] ?? "none"),
        );
      for (const { in: place, name } of parameters) {
        if (place === "header") continue;
        const url = place === "path" ? filled(name) : `${filled()}?${name}=${encodeURIComponent(NUL)}`;
        await expectNoFault(`${method} ${path} ${place} ${name}`, method, url, true, requestBody && {});
      }
      const schema =
        requestBody?.content["application/json"]?.schema ??
        requestBody?.content["application/json-patch+json"]?.schema;
      if (schema === undefined) continue;
      for (const text of new Set(listTexts(schema))) {
        await expectNoFault(
          `${method} ${path} body ${JSON.stringify(text)}`,
          method,
          filled(),
          false,
          example(schema, text),
        );
      }
    }
  }
  expect(surprises).toEqual([]);
  expect(asked).toBeGreaterThan(200);
}, 120_000);
