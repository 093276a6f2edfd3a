/**
 * Completions for installed packages: their specifiers, their exports, and the members of namespace imports. Package
 * declarations load when a script first names the package; unsupported syntax is skipped.
 */

export interface InstalledPackage {
  name: string;
  version: string;
  exports: readonly string[];
}

/** Returns declarations by file path below node_modules. */
export type LoadTypes = (of: InstalledPackage) => Promise<Record<string, string>>;

export interface Exported {
  name: string;
  kind: "function" | "class" | "variable" | "type" | "namespace";
  detail: string;
  /** File whose exports a namespace export contains. */
  file: string | null;
}

export interface PackageTypes {
  specifiers(): string[];
  /** Returns an empty list if the specifier is not installed. */
  exportsOf(specifier: string): Promise<readonly Exported[]>;
  /** `name` is the export that the script imported: `z` for `import { z } from "zod"`, `*` for a namespace. */
  membersOf(specifier: string, name: string): Promise<readonly Exported[]>;
}

const MAX_FILES = 200;
const MAX_DETAIL_CHARACTERS = 120;

export function readPackages(installed: readonly InstalledPackage[], load: LoadTypes): PackageTypes {
  const loaded = new Map<string, Promise<Record<string, string>>>();

  async function open(specifier: string) {
    const [, name = "", , path = ""] =
      /^(?:npm:)?((?:@[^/@]+\/)?[^/@]+)(@[^/]*)?(\/.+)?$/.exec(specifier) ?? [];
    const found = installed.find((one) => one.name === name);
    if (found === undefined) return null;
    const key = `${found.name}@${found.version}`;
    if (!loaded.has(key))
      loaded.set(
        key,
        load(found).catch(() => ({})),
      );
    const files = (await loaded.get(key)) ?? {};
    const entry = findEntry(files, name, `.${path}`);
    return entry === null ? null : { files, entry };
  }

  return {
    specifiers: () => installed.flatMap(({ name, exports }) => exports.map((path) => name + path.slice(1))),
    async exportsOf(specifier) {
      const opened = await open(specifier);
      return opened === null ? [] : collectExports(opened.files, opened.entry);
    },
    async membersOf(specifier, name) {
      const opened = await open(specifier);
      if (opened === null) return [];
      const all = collectExports(opened.files, opened.entry);
      if (name === "*" || name === "default") return all;
      const file = all.find((one) => one.name === name)?.file ?? null;
      return file === null ? [] : collectExports(opened.files, file);
    },
  };
}

type Json = Record<string, unknown>;

/** Returns the declaration file of a sub-path: the package's own, or the one published under @types. */
function findEntry(files: Record<string, string>, name: string, path: string): string | null {
  for (const owner of [name, `@types/${name.replace(/^@/, "").replace("/", "__")}`]) {
    const manifest = readJson(files[`${owner}/package.json`]);
    if (manifest === null) continue;
    const { exports, types, typings, main } = manifest;
    const said =
      typeof exports === "object" && exports !== null
        ? pickTarget((exports as Json)[path] ?? (path === "." ? exports : undefined))
        : path === "."
          ? (types ?? typings ?? main ?? "index.js")
          : path;
    const found = typeof said === "string" ? findFile(files, join(owner, said)) : null;
    if (found !== null) return found;
  }
  return null;
}

function pickTarget(target: unknown): unknown {
  if (typeof target !== "object" || target === null) return target;
  const conditions = target as Json;
  for (const name of ["types", "import", "module", "browser", "require", "default"]) {
    const found = pickTarget(conditions[name]);
    if (typeof found === "string") return found;
  }
  return null;
}

function readJson(text: string | undefined): Json | null {
  try {
    return text === undefined ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** A JavaScript file's declarations are next to it. */
function findFile(files: Record<string, string>, path: string): string | null {
  const bare = path.replace(/\.d\.[cm]?ts$|\.[cm]?[jt]sx?$/, "");
  const candidates = [
    path,
    ...["", "/index"].flatMap((end) => ["d.ts", "d.mts", "d.cts"].map((kind) => `${bare}${end}.${kind}`)),
  ];
  return candidates.find((one) => Object.hasOwn(files, one) && /\.d\.[cm]?ts$/.test(one)) ?? null;
}

function join(folder: string, path: string): string {
  const parts: string[] = [];
  for (const part of `${folder}/${path}`.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}

const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
const DECLARED =
  /^\s*export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(function|const|let|var|class|interface|type|enum|namespace)\s+([A-Za-z_$][\w$]*)([^\n]*)/gm;
const LISTED = /export\s*(?:type\s*)?\{([^}]*)\}(?:\s*from\s*["']([^"']+)["'])?/g;
const ALL = /export\s*\*\s*(?:as\s+([A-Za-z_$][\w$]*)\s*)?from\s*["']([^"']+)["']/g;
const NAMESPACE = /import\s*\*\s*as\s+([A-Za-z_$][\w$]*)\s*from\s*["']([^"']+)["']/g;
const KINDS: Record<string, Exported["kind"]> = {
  function: "function",
  class: "class",
  interface: "type",
  type: "type",
  namespace: "namespace",
};

function collectExports(files: Record<string, string>, entry: string): Exported[] {
  const found = new Map<string, Exported>();
  const waiting = [entry];
  for (const file of waiting) {
    const text = (files[file] ?? "").replace(COMMENTS, "");
    const follow = (path: string) => findFile(files, path.startsWith(".") ? join(`${file}/..`, path) : path);
    const add = (one: Exported) => {
      if (!found.has(one.name)) found.set(one.name, one);
    };
    const imported = new Map([...text.matchAll(NAMESPACE)].map(([, name = "", path = ""]) => [name, path]));
    for (const [, kind = "", name = "", rest = ""] of text.matchAll(DECLARED)) {
      add({ name, kind: KINDS[kind] ?? "variable", detail: cut(rest), file: null });
    }
    for (const [, list = "", from] of text.matchAll(LISTED)) {
      for (const item of list.split(",")) {
        const [, own = "", as = own] = /^\s*(?:type\s+)?([\w$]+)(?:\s+as\s+([\w$]+))?\s*$/.exec(item) ?? [];
        const path = from === undefined ? imported.get(own) : undefined;
        if (as === "" || as === "default") continue;
        add({
          name: as,
          kind: path === undefined ? "variable" : "namespace",
          detail: "",
          file: path === undefined ? null : follow(path),
        });
      }
    }
    for (const [, name, path = ""] of text.matchAll(ALL)) {
      const next = follow(path);
      if (name !== undefined) add({ name, kind: "namespace", detail: "", file: next });
      else if (next !== null && !waiting.includes(next) && waiting.length < MAX_FILES) waiting.push(next);
    }
  }
  return [...found.values()];
}

function cut(text: string): string {
  const line = text
    .replace(/\s+/g, " ")
    .replace(/[;{]\s*$/, "")
    .trim();
  return line.length > MAX_DETAIL_CHARACTERS ? `${line.slice(0, MAX_DETAIL_CHARACTERS)}…` : line;
}
