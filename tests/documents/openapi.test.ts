/**
 * Documents that nobody here wrote: every operation becomes a tool with schemas that compile, and a request made from its
 * input schema is taken by a server made from the same document. `npm run bench -- openapi` calls every operation of all.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AdapterModule } from "#sdk";
import {
  exampleDocuments,
  largeDocument,
  type RealDocument,
} from "#tests/contract/adapters/openapi/documents.ts";
import { explainException } from "#tests/contract/adapters/openapi/exceptions.ts";
import { type Exercise, exercise, startAdapter } from "#tests/contract/adapters/openapi/exercise.ts";

let adapter: AdapterModule & AsyncDisposable;
beforeAll(async () => {
  adapter = await startAdapter();
});
afterAll(() => adapter[Symbol.asyncDispose]());

const PATIENT = { timeout: 180_000 };

/** Large ones, and of how many of their operations one is called. The bench calls all. */
const LARGE: [name: string, every: number][] = [
  ["github.json", 40],
  ["kubernetes.json", 80],
  ["stripe.json", 30],
  ["slack.json", 12],
  ["digitalocean.json", 20],
  ["box.json", 13],
  ["plaid.json", 14],
  ["figma.yaml", 4],
];

test("every document of @readme/oas-examples is imported and its calls are accepted", PATIENT, async () => {
  const total = { documents: 0, called: 0, accepted: 0 };
  // The YAML ones say the same as the JSON ones: of those, some show that YAML is read.
  const documents = exampleDocuments().filter(({ name }, index) => name.endsWith(".json") || index % 8 === 0);
  for (const document of documents) {
    const result = await run(document, 3);
    total.documents += 1;
    total.called += result.called;
    total.accepted += result.accepted;
  }
  expect(total.documents).toBeGreaterThan(60);
  expect(total.called).toBeGreaterThan(150);
  // Most of what is left is made to be difficult; each one is explained.
  expect(total.accepted / total.called).toBeGreaterThan(0.95);
});

for (const [name, every] of LARGE) {
  test(`${name} is imported whole, and one call in ${every} is tried and accepted`, PATIENT, async () => {
    const result = await run(largeDocument(name), every);
    expect(result.imported).toBeGreaterThanOrEqual(54);
    expect(result.called).toBeGreaterThan(9);
    expect(result.accepted / result.called).toBeGreaterThanOrEqual(name === "box.json" ? 0.9 : 0.99);
  });
}

test(
  "the definition of GitHub's description stays small: each tool holds what it needs once",
  PATIENT,
  async () => {
    const definition = await adapter.generateDefinition(largeDocument("github.json").text());
    expect(definition.tools.length).toBeGreaterThan(1000);
    expect(JSON.stringify(definition).length).toBeLessThan(10 * 1024 * 1024);
    const largest = Math.max(...definition.tools.map((tool) => JSON.stringify(tool).length));
    expect(largest).toBeLessThan(64 * 1024);
  },
);

async function run(document: RealDocument, every: number): Promise<Exercise> {
  const result = await exercise(document.text(), { adapter, every });
  const unexplained = result.exceptions.filter((exception) => explainException(exception) === null);
  expect(unexplained, document.name).toEqual([]);
  expect(result.imported, document.name).toBeGreaterThanOrEqual(result.operations);
  expect(result.schemas, document.name).toBe(Math.ceil(result.imported / every));
  return result;
}
