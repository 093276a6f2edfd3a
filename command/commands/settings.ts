/** `config` and `secret` commands for services and modules. */
import { createInterface } from "node:readline/promises";
import { type Readable, Writable } from "node:stream";
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { visibleJson, visibleLine } from "#client/visible-text.ts";
import { usageFailure } from "../failure.ts";
import { collect, parsePair, readText, toPointer } from "../options.ts";
import { act, type Session, type Shell } from "../session.ts";
import { formatTable } from "../table.ts";
import { addCommand, examples } from "./resource.ts";

type Owner = "service" | "module";
type Change = { op: "add"; path: string; value: unknown } | { op: "remove"; path: string };

const MAX_SECRET_BYTES = 64 * 1024;

export function addSettings(parent: Command, shell: Shell, owner: Owner): void {
  addCommand(
    parent,
    "config",
    `Prints the settings of a ${owner}, or changes them: name=value, the value as JSON or text. A name that begins with / is a JSON Pointer.`,
  )
    .argument("<id>", `id of the ${owner}`)
    .argument("[name=value...]", "what to set")
    .option("--unset <names>", "settings to remove", collect)
    .option("--schema", "print the JSON Schema of the settings")
    .addHelpText(
      "after",
      examples(
        `cyrnel ${owner} config ${EXAMPLE[owner]}`,
        `cyrnel ${owner} config ${EXAMPLE[owner]} ${SETTING[owner]}`,
      ),
    )
    .action(
      act(shell, (session, ...given: [string, string[], ConfigFlags]) => config(session, owner, ...given)),
    );
  addCommand(
    parent,
    "secret",
    `Lists the secrets of a ${owner} that are set, or sets one. The value is prompted for or read from standard input, never taken from the command line, and never shown. It is text, or JSON if the schema expects an object, a list, a number or a boolean. A name that begins with / is a JSON Pointer, such as /headers/Authorization.`,
  )
    .argument("<id>", `id of the ${owner}`)
    .argument("[name]", "secret to set")
    .option("--unset <names>", "secrets to remove", collect)
    .option("--schema", "print the JSON Schema of the secrets")
    .addHelpText(
      "after",
      examples(
        `cyrnel ${owner} secret ${EXAMPLE[owner]} token`,
        `cyrnel ${owner} secret ${EXAMPLE[owner]} token < token.txt`,
        `cyrnel ${owner} secret ${EXAMPLE[owner]} headers < headers.json`,
      ),
    )
    .action(
      act(shell, (session, ...given: [string, string | undefined, ConfigFlags]) =>
        secret(session, owner, ...given),
      ),
    );
}

const EXAMPLE: Record<Owner, string> = { service: "shop", module: "typescript-process" };
const SETTING: Record<Owner, string> = { service: "baseUrl=https://api.example.com", module: "memoryMb=256" };

interface ConfigFlags {
  unset?: string[];
  schema?: true;
}

const ROUTES = { service: "/services/{id}", module: "/modules/{id}" } as const;

async function config(
  session: Session,
  owner: Owner,
  id: string,
  pairs: string[],
  { unset = [], schema }: ConfigFlags,
): Promise<void> {
  const { client } = session;
  const params = { path: { id } };
  const route = `${ROUTES[owner]}/config` as const;
  if (schema) return printSchema(session, await client.GET(`${route}/schema`, { params }));
  const body = [...pairs.map(parsePair).map(toAddition), ...unset.map(toRemoval)];
  const settings = unwrap(
    body.length === 0
      ? await client.GET(route, { params })
      : await session.during("Changing", client.PATCH(route, { params, body })),
  );
  session.print(settings.config, (value) => `${visibleJson(value, 2)}\n`);
  if (settings.outdated.length > 0) {
    session.stderr.write(`No longer in the schema: ${settings.outdated.map(visibleLine).join(", ")}\n`);
  }
}

function printSchema(
  session: Session,
  answer: { data?: unknown; error?: unknown; response: Response },
): void {
  session.print(unwrap(answer), (value) => `${visibleJson(value, 2)}\n`);
}

async function secret(
  session: Session,
  owner: Owner,
  id: string,
  name: string | undefined,
  { unset = [], schema }: ConfigFlags,
): Promise<void> {
  const { client } = session;
  const params = { path: { id } };
  const route = `${ROUTES[owner]}/secrets` as const;
  if (schema) return printSchema(session, await client.GET(`${route}/schema`, { params }));
  const body: Change[] = unset.map(toRemoval);
  if (name !== undefined) {
    const { secretsSchema } = unwrap(await client.GET(`${route}/schema`, { params }));
    const value = readValue(await readSecret(session, name), name, secretsSchema);
    const { present } = unwrap(await client.GET(route, { params }));
    body.push(...listMissingParents(name, present), toAddition([name, value]));
  }
  if (body.length > 0) unwrap(await client.PATCH(route, { params, body }));
  const { present, outdated } = unwrap(await client.GET(route, { params }));
  session.print({ present, outdated }, () =>
    formatTable(session, present, "No secrets set.", {
      SECRET: (one) => one,
      VALUE: (one) => (outdated.includes(one) ? "outdated" : "set"),
    }),
  );
  if (outdated.some((one) => present.includes(one))) {
    session.stderr.write(
      "Outdated secrets are not used: they no longer match the schema, or were set for another address. Set them again, or remove them with --unset.\n",
    );
  }
}

async function readSecret({ stdin, signal }: Session, name: string): Promise<string> {
  if (name.includes("="))
    throw usageFailure(
      "Secrets are not accepted on the command line, which other users can read. Enter the value when asked, or pipe it in.",
    );
  const text =
    stdin.isTTY === true
      ? await askHidden(`${visibleLine(name)}: `, stdin, signal)
      : await readText("-", { stdin }, MAX_SECRET_BYTES);
  const value = text.replace(/\r?\n$/, "");
  if (value === "") throw usageFailure("The value is empty. Nothing was changed.");
  return value;
}

/** Reads the value as text, or as JSON if the schema accepts no text. Errors must not quote the value. */
function readValue(text: string, name: string, schema: Schema): unknown {
  const types = listTypes(findSchema(schema, name));
  if (types.length === 0 || types.includes("string")) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw usageFailure(`${name} takes ${types.join(" or ")}: give its value as JSON. Nothing was changed.`);
  }
}

type Schema = Record<string, unknown>;

function asSchema(value: unknown): Schema {
  return typeof value === "object" && value !== null ? (value as Schema) : {};
}

function segmentsOf(name: string): string[] {
  const parts = toPointer(name).slice(1).split("/");
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function findSchema(schema: Schema, name: string): Schema {
  return segmentsOf(name).reduce((at, part) => {
    const properties = asSchema(at.properties);
    return asSchema(Object.hasOwn(properties, part) ? properties[part] : at.additionalProperties);
  }, schema);
}

function listTypes({ type, anyOf, oneOf }: Schema): string[] {
  if (type !== undefined) return [type].flat().map(String);
  return [anyOf, oneOf]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .flatMap((one) => listTypes(asSchema(one)));
}

/** JSON Patch creates no parents, so missing objects along the pointer are added first. */
function listMissingParents(name: string, present: readonly string[]): Change[] {
  const parts = toPointer(name).split("/");
  const parents = parts.slice(2).map((_part, at) => parts.slice(0, at + 2).join("/"));
  const isThere = (parent: string) => present.some((one) => one === parent || one.startsWith(`${parent}/`));
  return parents.filter((parent) => !isThere(parent)).map((path) => ({ op: "add", path, value: {} }));
}

function toAddition([name, value]: [string, unknown]): Change {
  return { op: "add", path: toPointer(name), value };
}

function toRemoval(name: string): Change {
  return { op: "remove", path: toPointer(name) };
}

/** Prompts on a terminal without echo. Rejects on Ctrl-C, or with the signal's reason. */
async function askHidden(question: string, stdin: Readable, signal: AbortSignal): Promise<string> {
  process.stderr.write(question);
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: sink, terminal: true });
  const interrupted = new AbortController();
  reader.on("SIGINT", () => interrupted.abort(new Error("Stopped by Ctrl-C.")));
  try {
    return await reader.question("", { signal: AbortSignal.any([signal, interrupted.signal]) });
  } finally {
    reader.close();
    process.stderr.write("\n");
  }
}
