/**
 * Reads text as an OpenAPI 3.1 document that is a plain, bounded tree: parses JSON or YAML, copies shared YAML nodes,
 * upgrades older versions. Fetches nothing. Every error is a DocumentError.
 */
import { upgrade } from "@scalar/openapi-upgrader";
import { CORE_SCHEMA, load, mergeTag } from "js-yaml";
import { type Fields, isRecord, own, ownRecord } from "#kernel/foreign-json.ts";
import { DocumentError } from "../failures.ts";

export const DOCUMENT_LIMITS = {
  maxDocumentBytes: 30 * 1024 * 1024,
  maxNodes: 3_000_000,
  /** Characters that begin or separate values, counted before anything is built from them. */
  maxJsonMarks: 6_000_000,
  maxYamlMarks: 2_000_000,
  maxDepth: 150,
  maxYamlAliases: 100_000,
  maxYamlMergeKeys: 100_000,
} as const;

/** Key in a bundled document for the address that its relative servers are relative to. */
export const BASE_KEY = "x-cyrnel-base";
/** Key in a bundled document for the reasons why referenced files are missing, by address. */
export const UNREAD_KEY = "x-cyrnel-unread";

export interface ReadDocument {
  document: Fields;
  /** True for 2.0 and 3.0, where keywords beside a `$ref` are ignored. */
  refsStandAlone: boolean;
}

export function readDocument(text: string): ReadDocument {
  const { parsed, sharesNodes } = parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  if (!isRecord(parsed)) throw new DocumentError(`Expected an OpenAPI document, found ${describe(parsed)}.`);
  dropUnread(parsed);
  tidy(parsed, sharesNodes);
  const version = readVersion(parsed);
  if (!version.startsWith("3.0") && version !== "2.0") return { document: parsed, refsStandAlone: false };
  return { document: upgradeDocument(parsed, version), refsStandAlone: true };
}

export function parseTree(text: string): unknown {
  const { parsed, sharesNodes } = parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  if (typeof parsed === "object" && parsed !== null) tidy(parsed as Fields, sharesNodes);
  return parsed;
}

function parse(text: string): { parsed: unknown; sharesNodes: boolean } {
  const bytes = Buffer.byteLength(text);
  if (bytes > DOCUMENT_LIMITS.maxDocumentBytes) {
    throw new DocumentError(
      `The document has ${bytes} bytes; the limit is ${DOCUMENT_LIMITS.maxDocumentBytes}. Split it or leave operations out.`,
    );
  }
  const isJson = /^\s*\{/.test(text);
  const maxMarks = isJson ? DOCUMENT_LIMITS.maxJsonMarks : DOCUMENT_LIMITS.maxYamlMarks;
  if (hasMoreMarks(text, isJson ? JSON_MARKS : YAML_MARKS, maxMarks)) {
    throw new DocumentError(
      `The document has more than ${maxMarks} values. Split it or leave operations out.`,
    );
  }
  return isJson
    ? { parsed: parseJson(text), sharesNodes: false }
    : { parsed: parseYaml(text), sharesNodes: true };
}

const JSON_MARKS = new Set([...",[{"].map((mark) => mark.charCodeAt(0)));
const YAML_MARKS = new Set([...",[{\n"].map((mark) => mark.charCodeAt(0)));

/**
 * A text of allowed length can contain millions of empty values, which would take all memory before they were
 * counted.
 */
function hasMoreMarks(text: string, marks: ReadonlySet<number>, limit: number): boolean {
  if (text.length <= limit) return false;
  let found = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (marks.has(text.charCodeAt(index))) found += 1;
  }
  return found > limit;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DocumentError(`The document is not valid JSON: ${(error as Error).message}`);
  }
}

function parseYaml(text: string): unknown {
  try {
    return load(text, {
      schema: CORE_SCHEMA.withTags(mergeTag),
      maxDepth: DOCUMENT_LIMITS.maxDepth,
      maxAliases: DOCUMENT_LIMITS.maxYamlAliases,
      maxTotalMergeKeys: DOCUMENT_LIMITS.maxYamlMergeKeys,
    });
  } catch (error) {
    throw new DocumentError(`The document is neither JSON nor valid YAML: ${(error as Error).message}`);
  }
}

/** Drops parts that become no tool before the rest is copied: they can be most of a document. */
function dropUnread(document: Fields): void {
  delete document.webhooks;
  delete document["x-webhooks"];
  const components = ownRecord(document, "components");
  for (const key of ["examples", "callbacks", "links"]) delete components?.[key];
}

/**
 * Turns the document into a tree of plain data in place: copies a node that occurs again (a YAML alias), so that a
 * YAML bomb exceeds the limit; drops `__proto__`; makes strings storable (no NUL, no lone surrogate).
 */
function tidy(root: Fields, sharesNodes: boolean): void {
  const seen = new Set<object>([root]);
  const waiting: { node: Fields | unknown[]; depth: number }[] = [{ node: root, depth: 1 }];
  let nodes = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth } = next;
    if (depth > DOCUMENT_LIMITS.maxDepth) {
      throw new DocumentError(
        `The document nests deeper than ${DOCUMENT_LIMITS.maxDepth} levels, or contains itself.`,
      );
    }
    if (!Array.isArray(node)) tidyKeys(node);
    const fields = node as Fields;
    for (const key in fields) {
      nodes += 1;
      const value = fields[key];
      if (typeof value === "string") {
        if (!isStorable(value)) fields[key] = makeStorable(value);
      } else if (typeof value === "object" && value !== null) {
        let child = value as Fields | unknown[];
        if (sharesNodes && seen.has(child)) {
          child = Array.isArray(child) ? [...child] : { ...child };
          fields[key] = child;
        }
        if (sharesNodes) seen.add(child);
        waiting.push({ node: child, depth: depth + 1 });
      }
    }
    if (nodes > DOCUMENT_LIMITS.maxNodes) {
      throw new DocumentError(
        `The document has more than ${DOCUMENT_LIMITS.maxNodes} values, aliases written out.`,
      );
    }
  }
}

function tidyKeys(node: Fields): void {
  if (Object.hasOwn(node, "__proto__")) Reflect.deleteProperty(node, "__proto__");
  for (const key of Object.keys(node)) {
    if (isStorable(key)) continue;
    const value = node[key];
    delete node[key];
    node[makeStorable(key)] = value;
  }
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

function makeStorable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

function readVersion(document: Fields): string {
  const swagger = own(document, "swagger");
  if (swagger !== undefined) {
    if (swagger === 2 || swagger === "2.0") {
      document.swagger = "2.0";
      return "2.0";
    }
    throw new DocumentError(`Expected swagger: "2.0", found ${JSON.stringify(swagger)}.`);
  }
  const declared = own(document, "openapi");
  const version = declared === 3 ? "3.0" : String(declared);
  if (!/^3\.[012](\.|$|-)/.test(version)) {
    throw new DocumentError(
      declared === undefined
        ? 'This is not an OpenAPI document: it has neither "openapi" nor "swagger" at its top level.'
        : `Expected OpenAPI 3.0 or 3.1 or Swagger 2.0, found openapi: ${JSON.stringify(declared)}.`,
    );
  }
  document.openapi = version;
  return version;
}

function upgradeDocument(document: Fields, version: string): Fields {
  try {
    return upgrade(document, "3.1") as Fields;
  } catch (error) {
    throw new DocumentError(`The document does not follow OpenAPI ${version}: ${(error as Error).message}`);
  }
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value === null || value === undefined) return "nothing";
  return typeof value === "string" ? "plain text" : `a ${typeof value}`;
}
