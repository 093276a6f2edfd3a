/**
 * Runs files of the web-platform tests, each in a real run of a script, with what they fetch served from their folder. Those in files/ are
 * copies (BSD-3-Clause, LICENSE.md) from the source of Firefox ESR 115.15; select.ts takes them from another.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { instantiate as instantiateIvm } from "#modules/typescript-ivm/index.ts";
import { instantiate as instantiateProcess } from "#modules/typescript-process/index.ts";
import { type Bench, openBench } from "#tests/contract/bench.ts";

/** Where the files lie, in the folders they have there. */
export const FILES = path.join(import.meta.dirname, "files");
const ORIGIN = "http://web-platform.test";

const ENVIRONMENTS = { "typescript-process": instantiateProcess, "typescript-ivm": instantiateIvm };
type EnvironmentId = keyof typeof ENVIRONMENTS;
export const ENVIRONMENT_IDS = Object.keys(ENVIRONMENTS) as EnvironmentId[];

/** With what scripts fetch from `folder`; the caller disposes it. */
export function openEnvironment(id: EnvironmentId, folder = FILES): Promise<Bench & AsyncDisposable> {
  const request = (parameters: unknown) => serve(parameters as Request, folder);
  return openBench({ instantiate: ENVIRONMENTS[id], config: {}, request });
}

export interface Outcome {
  name: string;
  ok: boolean;
  /** Why it failed. */
  why?: string;
}

/** `name`: as `fetch/api/headers/headers-basic.any.js`. Rejects where the file could not be run at all. */
export async function runFile(bench: Bench, name: string, folder = FILES): Promise<Outcome[]> {
  const harness = await readFile(path.join(import.meta.dirname, "testharness.js"), "utf8");
  const sources = await readWithScripts(name, folder);
  const code = [
    `const WPT_BASE = ${JSON.stringify(`${ORIGIN}/${name}`)};`,
    `{${harness}}`,
    `{${sources.join("\n")}}`,
    "return finish();",
  ];
  const { result, error } = await bench.run(code.join("\n"), { timeoutMs: 60_000 });
  if (error !== undefined) throw new Error(`${name}: ${error.message}`);
  return result;
}

/** The scripts that a file names, and the file. */
async function readWithScripts(name: string, folder: string): Promise<string[]> {
  const text = await readFile(path.join(folder, name), "utf8");
  const scripts = scriptsOf(name, text).map((script) => readFile(path.join(folder, script), "utf8"));
  return [...(await Promise.all(scripts)), text];
}

/** Without those that the tests' own server fills in. */
export function scriptsOf(name: string, text: string): string[] {
  const scripts = [...text.matchAll(/^\/\/ META: script=(\S+)/gm)].map(([, script = ""]) =>
    new URL(script, `${ORIGIN}/${name}`).pathname.slice(1),
  );
  return scripts.filter((script) => !/testharness(?:report)?\.js$|\.sub\./.test(script));
}

interface Request {
  url: string;
  method: string;
  headers: [string, string][];
  body?: string | { base64: string };
}

/** What `fetch` of these scripts calls: the files as they are, and the few programs among them that the tests kept need. */
async function serve(request: Request, folder: string): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const program = PROGRAMS[path.basename(pathname)];
  if (program !== undefined) return program(request, searchParams);
  const bytes = await readFile(path.join(folder, path.posix.normalize(pathname))).catch(() => null);
  if (bytes === null) return new Response("not found", { status: 404 });
  const type = { ".txt": "text/plain", ".json": "application/json" }[path.extname(pathname)];
  return new Response(bytes, { headers: type === undefined ? {} : { "content-type": type } });
}

/** What the programs of the tests' own server answer. */
const PROGRAMS: Record<string, (request: Request, query: URLSearchParams) => Response> = {
  "inspect-headers.py"({ headers }, query) {
    const asked = (query.get("headers") ?? "").toLowerCase().split("|");
    const found = headers.filter(([name]) => asked.includes(name.toLowerCase()));
    const shown = found.map(([name, value]): [string, string] => [`x-request-${name}`, value]);
    return new Response("", { headers: [...shown, ["content-type", "text/plain"]] });
  },
  "echo-content.py": (request) => new Response(bodyOf(request), { headers: describe(request) }),
  "echo-content-escaped.py"(request) {
    const escaped = bodyOf(request)
      .toString("latin1")
      .replace(/[^\x20-\x7e]|\\/g, (unit) =>
        unit === "\\" ? "\\\\" : `\\x${unit.charCodeAt(0).toString(16).padStart(2, "0")}`,
      );
    return new Response(escaped.replaceAll("\\x0d\\x0a", "\r\n"), { headers: describe(request) });
  },
  "status.py": ({ method, url }, query) =>
    new Response(method === "HEAD" || NULL_BODY.includes(query.get("code") ?? "") ? null : contentOf(url), {
      status: Number(query.get("code") ?? 200),
      statusText: query.get("text") ?? "OMG",
      headers: { "content-type": query.get("type") ?? "", "x-request-method": method },
    }),
};

const NULL_BODY = ["204", "205", "304"];

/** Bytes are escaped, not characters. */
function contentOf(url: string): Buffer<ArrayBuffer> {
  return Buffer.from(unescape(/[?&]content=([^&]*)/.exec(url)?.[1] ?? ""), "latin1");
}

function bodyOf({ body = "" }: Request): Buffer<ArrayBuffer> {
  return typeof body === "string" ? Buffer.from(body) : Buffer.from(body.base64, "base64");
}

function describe({ method, headers }: Request): Record<string, string> {
  const type = headers.find(([name]) => name.toLowerCase() === "content-type")?.[1];
  return { "x-request-method": method, "x-request-content-type": type ?? "NO", "content-type": "text/plain" };
}
