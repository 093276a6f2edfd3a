/** Listing many tools of many services: pages are parts of the whole, and cost what they show wherever they begin. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listToolRows, type ToolFilter, type ToolPosition, type ToolRow } from "#api/tools/store.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { createExplainer } from "./harness/plans.ts";
import { insertTools } from "./harness/tools-data.ts";

const TOOLS = 3000;
const TOOLS_PER_SERVICE = 100;
const LIMIT = 20;

let database: TestDatabase;
let all: ToolRow[];

beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 2 });
  await insertTools(database.pool, TOOLS, TOOLS_PER_SERVICE);
  // Two tools at one place, tools and services that are off, one service of which every tool is.
  await database.pool`update tools set position = position / 2`;
  await database.pool`update tools set enabled = false where position % 10 = 3`;
  await database.pool`update services set enabled = false where position % 7 = 2`;
  await database.pool`
    update tools set enabled = false
    where service_id in (select id from services order by position desc limit 3)`;
  await database.pool`analyze`;
  all = await listToolRows(database.pool, {}, { from: null, limit: TOOLS });
});
afterAll(() => database?.drop());

const positionOf = ({ servicePosition, position, id }: ToolRow): ToolPosition => ({
  service: servicePosition,
  tool: position,
  id,
});
const name = ({ serviceId, id }: ToolRow) => `${serviceId}.${id}`;
const FILTERS: Record<string, ToolFilter> = {
  "every tool": {},
  "tools that are on": { enabled: true },
  "tools that are off": { enabled: false },
  "tools that can be called": { effective: true },
  "tools that are off and can be called": { enabled: false, effective: true },
  "tools of a service": { serviceId: "github0" },
  "tools of no service": { serviceId: "nobody" },
};

describe("pages", () => {
  test("all are there: the service installed last first, its tools in their order", () => {
    expect(all).toHaveLength(TOOLS);
    const sorted = all.toSorted(
      (a, b) =>
        b.servicePosition - a.servicePosition ||
        a.position - b.position ||
        Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)),
    );
    expect(all.map(name)).toEqual(sorted.map(name));
  });

  test.each(Object.entries(FILTERS))("of %s", async (_, filter) => {
    const expected = all.filter(
      (row) =>
        (filter.enabled ?? row.enabled) === row.enabled &&
        (!filter.effective || row.effectivelyEnabled) &&
        (filter.serviceId ?? row.serviceId) === row.serviceId,
    );
    const found: string[] = [];
    for (let after: ToolPosition | null = null; ; ) {
      const rows: ToolRow[] = await listToolRows(database.pool, filter, { from: after, limit: 190 });
      found.push(...rows.map(name));
      const last = rows.at(-1);
      if (last === undefined || rows.length < 190) break;
      after = positionOf(last);
    }
    expect(found).toEqual(expected.map(name));
  });
});

test("a page looks at the tools of a few services, wherever it begins", async () => {
  await using explainer = await createExplainer(database.url);
  const looked: Record<string, number> = {};
  for (const [filterName, filter] of Object.entries(FILTERS)) {
    for (const at of [null, 55, TOOLS / 2, TOOLS - 70]) {
      const after = at === null ? null : positionOf(all[at] as ToolRow);
      const { rowsRead } = await explainer.explain(() =>
        listToolRows(explainer.pool, filter, { from: after, limit: LIMIT }),
      );
      // Of a handful of services a page each, and the services.
      if (rowsRead > 8 * LIMIT + 3 * (TOOLS / TOOLS_PER_SERVICE))
        looked[`${filterName} after ${at}`] = rowsRead;
    }
  }
  expect(looked).toEqual({});
});
