/**
 * Resolves an import specifier to a workspace file, a built-in module, a package or an error. The result is never a
 * path on the host.
 */

export type SourceKind = "code" | "json" | "text";

export type Specifier =
  | { is: "file"; paths: string[] }
  | { is: "builtin"; name: string }
  | { is: "package"; name: string; range: string | null; path: string }
  | { is: "refused"; message: string };

export const BUILTINS: readonly string[] = [
  "assert",
  "assert/strict",
  "buffer",
  "crypto",
  "events",
  "fs",
  "fs/promises",
  "path",
  "path/posix",
  "stream",
  "stream/promises",
  "string_decoder",
  "timers",
  "timers/promises",
  "url",
  "util",
  "util/types",
];

const CODE_EXTENSIONS = ["ts", "tsx", "mts", "js", "mjs"];
const GUESSED = [...CODE_EXTENSIONS.slice(0, 3), "js", "mjs", "json"];
/** TypeScript allows importing a file by the name that it compiles to. */
const COMPILED_FROM: Record<string, string[]> = { js: ["ts", "tsx"], jsx: ["tsx"], mjs: ["mts"] };
const MAX_NAME_BYTES = 255;
const MAX_SPECIFIER_CHARS = 4 * MAX_NAME_BYTES;

export function readSpecifier(specifier: string, from: string): Specifier {
  if (!/^\.{0,2}\//.test(specifier) && specifier !== "." && specifier !== "..") return readBare(specifier);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a name may not contain exactly these.
  if (/[\u0000-\u001f\u007f\\]/.test(specifier) || !specifier.isWellFormed()) {
    return {
      is: "refused",
      message: `${quote(specifier)} is not a file name: it has a backslash or a control character.`,
    };
  }
  // Checked first: normalizing combining marks takes quadratic time.
  if (specifier.length > MAX_SPECIFIER_CHARS) return tooLong(specifier);
  const segments = specifier.startsWith("/") ? [] : from.split("/").slice(0, -1);
  for (const segment of specifier.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) {
      return {
        is: "refused",
        message: `${quote(specifier)} in ${from} is outside of the workspace. A script can import only files of its workspace.`,
      };
    }
  }
  const name = segments.join("/").normalize("NFC");
  if (Buffer.byteLength(name) > MAX_NAME_BYTES - ".json".length) return tooLong(specifier);
  return { is: "file", paths: listPaths(name, /(?:^|\/)\.{0,2}$/.test(specifier)) };
}

function tooLong(specifier: string): Specifier {
  const message = `${quote(specifier)} is longer than the ${MAX_NAME_BYTES} bytes that a name may have.`;
  return { is: "refused", message };
}

function listPaths(name: string, isFolder: boolean): string[] {
  const index = GUESSED.map((extension) =>
    name === "" ? `index.${extension}` : `${name}/index.${extension}`,
  );
  if (isFolder || name === "") return index;
  const extension = extensionOf(name);
  const stem = name.slice(0, name.length - extension.length);
  const compiled = (COMPILED_FROM[extension] ?? []).map((other) => stem + other);
  const guessed = GUESSED.map((other) => `${name}.${other}`);
  return [...new Set([name, ...compiled, ...guessed, ...index])];
}

export function extensionOf(name: string): string {
  return /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
}

/** Returns null for an unknown attribute `type`. */
export function kindOf(name: string, type: string | null): SourceKind | null {
  if (type === "json" || type === "text") return type;
  if (type !== null) return null;
  const extension = extensionOf(name);
  if (extension === "json") return "json";
  return CODE_EXTENSIONS.includes(extension) ||
    extension === "jsx" ||
    extension === "cts" ||
    extension === "cjs"
    ? "code"
    : "text";
}

const ABSENT: Record<string, string> = {
  child_process: "a script starts no processes",
  worker_threads: "a script has one thread",
  cluster: "a script has one thread",
  http: "use the global fetch, or call services through tools.<service>.<tool>(parameters)",
  https: "use the global fetch, or call services through tools.<service>.<tool>(parameters)",
  http2: "a script has no network; call services through tools.<service>.<tool>(parameters)",
  net: "a script has no network; call services through tools.<service>.<tool>(parameters)",
  tls: "a script has no network; call services through tools.<service>.<tool>(parameters)",
  dns: "a script has no network; call services through tools.<service>.<tool>(parameters)",
  dgram: "a script has no network; call services through tools.<service>.<tool>(parameters)",
  process: "what a script is given is in cyrnel.input and cyrnel.process",
  os: "a script gets no information about the machine",
  vm: "code from strings is disabled",
  module: "use import",
  perf_hooks: "use the global performance",
  zlib: "use an npm package such as jszip or fflate for compressed data",
  readline: "use for await (const line of cyrnel.files.lines(name))",
  querystring: "use the global URLSearchParams",
  "stream/web": "ReadableStream, WritableStream, TransformStream and the others are globals",
  "stream/consumers": "new Response(stream) reads one: text(), json(), bytes()",
  async_hooks: "pass values as arguments: no context follows asynchronous work",
  test: "throw an error, or use node:assert",
};

/** Returns "" for an unknown module. */
export function reasonForAbsence(name: string): string {
  return ABSENT[name] ?? ABSENT[name.split("/")[0] as string] ?? "";
}

const PACKAGE =
  /^(?:npm:)?(?<name>(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*)(?:@(?<range>[\w.^~<>=*|+ -]{1,100}))?(?<path>\/.*)?$/i;
const MAX_PACKAGE_CHARS = 214;

function readPackage(specifier: string): Specifier | null {
  const found = PACKAGE.exec(specifier)?.groups;
  const { name = "", range, path = "" } = found ?? {};
  if (
    found === undefined ||
    name.length > MAX_PACKAGE_CHARS ||
    (range !== undefined && !specifier.startsWith("npm:"))
  )
    return null;
  // Like Node, rejects empty segments, `.` and `..`.
  if (path !== "" && !/^(?:\/(?!\.{0,2}(?:\/|$))[^/\\%]+)+$/.test(path)) return null;
  return { is: "package", name, range: range ?? null, path: `.${path}` };
}

function readBare(specifier: string): Specifier {
  const name = specifier.replace(/^node:/, "");
  if (BUILTINS.includes(name)) return { is: "builtin", name };
  const why = reasonForAbsence(name);
  if (specifier.startsWith("node:") || why !== "") {
    const reason = why === "" ? "" : `: ${why}`;
    return { is: "refused", message: `${quote(specifier)} is not available${reason}. ${INSTEAD}` };
  }
  if (/^(?:https?|data|file|blob):/.test(specifier)) {
    return {
      is: "refused",
      message: `${quote(specifier)} cannot be imported: nothing is loaded from an address. ${INSTEAD}`,
    };
  }
  const found = readPackage(specifier);
  if (found !== null) return found;
  const versioned = /^[^:/]+@\d/.test(specifier)
    ? ` To name a version, write ${quote(`npm:${specifier}`)}.`
    : "";
  return {
    is: "refused",
    message: `${quote(specifier)} cannot be imported: it is not a package name.${versioned} ${INSTEAD}`,
  };
}

export const INSTEAD = `A script can import files of its workspace ("./lib/x.ts") and ${listBuiltins()}; services are called through tools.<service>.<tool>(parameters).`;

function listBuiltins(): string {
  const names = BUILTINS.filter((name) => !name.includes("/"));
  return names.map((name) => `node:${name}`).join(", ");
}

export function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
