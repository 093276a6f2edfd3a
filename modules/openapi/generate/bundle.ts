/**
 * Joins a downloaded document and the files it refers to: files go under `x-ext`, and references point there. Keeps
 * the document's address for its relative servers. Fetches nothing.
 */

import { type Fields, isRecord, own, ownRecord, resolveReference } from "#kernel/foreign-json.ts";
import { MAX_TRIED_FILES } from "../domain.ts";
import { BASE_KEY, parseTree, UNREAD_KEY } from "./read-document.ts";
import { isAbsolute, readServer } from "./servers.ts";

/** The document upgrader reads schemas below this key like those of the document. */
const FILES_KEY = "x-ext";

export type FoundFile = { url: string } & ({ text: string } | { problem: string });

export interface Scan {
  files: string[];
  isBound: boolean;
}

export function scanFile(url: string, text: string): Scan {
  const root = parseTree(text);
  const files = new Set<string>();
  rewriteReferences(root, (reference) => {
    const target = readTarget(reference, url, url);
    if (target !== undefined && target.file !== url) files.add(target.file);
    return reference;
  });
  return {
    files: [...files].slice(0, MAX_TRIED_FILES),
    isBound: files.size > 0 || (isRecord(root) && needsBase(root)),
  };
}

export function bundleDocument(url: string, text: string, found: readonly FoundFile[]): Fields {
  const document = parseTree(text) as Fields;
  const files: Fields = { ...ownRecord(document, FILES_KEY) };
  const names = new Map<string, string>();
  const trees = new Map<string, unknown>([[url, document]]);
  const unread: Fields = {};
  for (const file of found) {
    try {
      if ("problem" in file) throw new Error(file.problem);
      trees.set(file.url, parseTree(file.text));
      names.set(file.url, nameFile(file.url, files));
      files[names.get(file.url) as string] = trees.get(file.url);
    } catch (error) {
      unread[file.url] = (error as Error).message;
    }
  }
  for (const [address, root] of trees) {
    rewriteReferences(root, (reference) => {
      const target = readTarget(reference, address, url);
      if (target === undefined) return reference;
      const { file, pointer } = target;
      if (file === url) return `#${pointer}`;
      return names.has(file) ? `#/${FILES_KEY}/${names.get(file)}${pointer}` : `${file}#${pointer}`;
    });
  }
  if (needsBase(document)) document[BASE_KEY] = url.replace(/\?.*$/, "");
  if (Object.keys(unread).length > 0) document[UNREAD_KEY] = unread;
  document[FILES_KEY] = files;
  inlineSections(document);
  return document;
}

/** Inlines sections that are not read through references, because older documents are upgraded path by path. */
function inlineSections(document: Fields): void {
  const inline = (holder: Fields, key: string): Fields => {
    const section = ownRecord(holder, key) ?? {};
    const { $ref, ...rest } = section;
    if (typeof $ref !== "string" || !$ref.startsWith(`#/${FILES_KEY}/`)) return section;
    const target = resolveReference(document, $ref);
    if (!isRecord(target)) return section;
    const inlined = { ...target, ...rest };
    holder[key] = inlined;
    return inlined;
  };
  for (const name of ["paths", "components"]) {
    const section = inline(document, name);
    for (const key of Object.keys(section)) inline(section, key);
  }
}

/** Relative servers need the address of the document. */
function needsBase(document: Fields): boolean {
  if (own(document, "swagger") !== undefined) return own(document, "host") === undefined;
  const items = Object.values(ownRecord(document, "paths") ?? {});
  const operations = items.flatMap((item) => (isRecord(item) ? Object.values(item) : []));
  const isRelative = (servers: unknown) => {
    const server = readServer(servers);
    return server !== undefined && !isAbsolute(server);
  };
  return (
    readServer(own(document, "servers")) === undefined ||
    [document, ...items, ...operations].some((place) => isRelative(own(place, "servers")))
  );
}

/**
 * Returns undefined for references that stay unchanged: into the document itself, to another origin, or invalid
 * addresses.
 */
function readTarget(
  reference: string,
  address: string,
  home: string,
): { file: string; pointer: string } | undefined {
  if (reference.startsWith("#")) {
    return address === home ? undefined : { file: address, pointer: reference.slice(1) };
  }
  const url = URL.parse(reference, address);
  if (url === null || url.origin !== new URL(home).origin || url.username !== "" || url.password !== "") {
    return undefined;
  }
  const pointer = url.hash.slice(1);
  url.hash = "";
  return { file: url.href, pointer };
}

/** Returns the last path segment, which also names the file's schemas. */
function nameFile(url: string, taken: Fields): string {
  const base = (new URL(url).pathname.split("/").at(-1) ?? "").replace(/[^A-Za-z0-9._-]+/g, "_") || "file";
  let name = base;
  for (let number = 2; Object.hasOwn(taken, name) || name === "__proto__"; number += 1)
    name = `${base}_${number}`;
  return name;
}

function rewriteReferences(node: unknown, rewrite: (reference: string) => string): void {
  if (Array.isArray(node)) for (const item of node) rewriteReferences(item, rewrite);
  if (!isRecord(node)) return;
  for (const [key, value] of Object.entries(node)) {
    if (key === "$ref" && typeof value === "string") node.$ref = rewrite(value);
    else rewriteReferences(value, rewrite);
  }
  const mapping = ownRecord(own(node, "discriminator"), "mapping") ?? {};
  for (const [key, value] of Object.entries(mapping)) {
    if (typeof value === "string" && /[#/]|\.(json|ya?ml)$/i.test(value)) mapping[key] = rewrite(value);
  }
}
