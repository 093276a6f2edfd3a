/** Asks the questions beside this file, each with only its own definition installed, and counts where the answers come. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { load } from "js-yaml";
import { createToolIndex } from "#kernel/tool-search/tool-index.ts";
import {
  exampleDocuments,
  largeDocument,
  type RealDocument,
} from "#tests/contract/adapters/openapi/documents.ts";
import { startAdapter } from "#tests/contract/adapters/openapi/exercise.ts";

export const DEFINITIONS = ["github", "figma", "twilio", "readme"] as const;
export type Definition = (typeof DEFINITIONS)[number];
export const SETS = ["tuning", "held-out", "later"] as const;
export type QuestionSet = (typeof SETS)[number];

export interface Question {
  definition: Definition;
  question: string;
  /** Operation ids. */
  answers: string[];
}

export interface Counts {
  asked: number;
  first: number;
  /** Among the first five. */
  five: number;
  nothing: number;
}

export interface Miss extends Question {
  /** Ids of the tools that came first. */
  found: string[];
}

interface Indexed {
  search(question: string): string[];
  /** Operation id by tool id. */
  operations: Map<string, string>;
}

export function readQuestions(set: QuestionSet): Question[] {
  return JSON.parse(readFileSync(path.join(import.meta.dirname, `${set}.json`), "utf8"));
}

/** The definitions as tools, made by the adapter: seconds for GitHub's. */
export async function indexDefinitions(
  definitions: readonly Definition[],
): Promise<Map<Definition, Indexed>> {
  await using adapter = await startAdapter();
  const indexed = new Map<Definition, Indexed>();
  for (const definition of definitions) {
    const text = findDocument(definition).text();
    const { tools } = await adapter.generateDefinition(text);
    const byRoute = readOperations(load(text) as OpenApi);
    const index = createToolIndex();
    index.put(
      definition,
      tools.map((tool) => index.read({ ...tool, serviceId: definition })),
    );
    indexed.set(definition, {
      search: (question) => index.search(question, () => true, { after: null, limit: 5 }).map(({ id }) => id),
      operations: new Map(
        tools.map(({ id, adapterDomain }) => [id, byRoute.get(routeOf(adapterDomain)) ?? id]),
      ),
    });
  }
  return indexed;
}

/** Counts by definition; `times` gets the milliseconds of each search. */
export function score(
  indexed: ReadonlyMap<Definition, Indexed>,
  questions: readonly Question[],
  { times, onMiss }: { times?: number[]; onMiss?: (miss: Miss) => void } = {},
): Map<Definition, Counts> {
  const counts = new Map<Definition, Counts>();
  for (const asked of questions) {
    const definition = indexed.get(asked.definition);
    if (definition === undefined) continue;
    const own = counts.get(asked.definition) ?? { asked: 0, first: 0, five: 0, nothing: 0 };
    counts.set(asked.definition, own);
    const start = performance.now();
    const found = definition.search(asked.question).slice(0, 5);
    times?.push(performance.now() - start);
    const at = found.findIndex((id) => asked.answers.includes(definition.operations.get(id) ?? ""));
    own.asked += 1;
    if (at === 0) own.first += 1;
    if (at === -1) onMiss?.({ ...asked, found });
    else own.five += 1;
    if (found.length === 0) own.nothing += 1;
  }
  return counts;
}

export function addUp(counts: Iterable<Counts>): Counts {
  const all = { asked: 0, first: 0, five: 0, nothing: 0 };
  for (const one of counts)
    for (const key of ["asked", "first", "five", "nothing"] as const) all[key] += one[key];
  return all;
}

function findDocument(definition: Definition): RealDocument {
  if (definition === "github") return largeDocument("github.json");
  if (definition === "figma") return largeDocument("figma.yaml");
  if (definition === "readme") {
    const found = exampleDocuments().find(({ name }) => name === "3.1/json/readme.json");
    if (found === undefined) throw new Error("@readme/oas-examples has no 3.1/json/readme.json.");
    return found;
  }
  const file = path.join(import.meta.dirname, "twilio.json.br");
  return { name: "twilio.json", text: () => brotliDecompressSync(readFileSync(file)).toString() };
}

interface OpenApi {
  paths: Record<string, Record<string, { operationId?: string }>>;
}

function readOperations({ paths }: OpenApi): Map<string, string> {
  return new Map(
    Object.entries(paths).flatMap(([route, item]) =>
      Object.entries(item).flatMap(([method, { operationId }]) =>
        operationId === undefined ? [] : [[`${method.toUpperCase()} ${route}`, operationId] as const],
      ),
    ),
  );
}

function routeOf(adapterDomain: unknown): string {
  const { method, path: route } = adapterDomain as { method: string; path: string };
  return `${method} ${route}`;
}
