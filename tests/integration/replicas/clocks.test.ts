/** A server whose clock jumps by up to a day, beside one whose clock is right. Leases go by the clock of the database. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { createTestDatabase } from "../harness/database.ts";
import { TEST_KEY } from "../harness/http-app.ts";
import { startMain } from "../harness/main-process.ts";

const RUNS_EACH = 20;
const JUMPING = `
  const now = Date.now, Real = Date;
  let skewMs = 0;
  setInterval(() => { skewMs = (Math.random() - 0.5) * 2 * 86_400_000; }, 200).unref();
  globalThis.Date = class extends Real {
    constructor(...given) { if (given.length === 0) super(now() + skewMs); else super(...given); }
    static now() { return now() + skewMs; }
  };`;

test("loses no run", async () => {
  await using undo = new AsyncDisposableStack();
  const database = undo.use(await createTestDatabase());
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-clocks-"));
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  const preload = path.join(folder, "jump.mjs");
  await writeFile(preload, JUMPING);
  const urls = await Promise.all(
    [["--import", preload], []].map((nodeFlags) => {
      const main = startMain({
        nodeFlags,
        environment: { DATABASE_URL: database.url, CYRNEL_API_KEY: TEST_KEY, CYRNEL_DATA_DIR: folder },
      });
      undo.defer(async () => {
        main.child.kill("SIGKILL");
        await main.ended();
      });
      return main.listening();
    }),
  );
  const headers = { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" };
  const submit = async (url: string, n: number) => {
    const code = `await new Promise((resolve) => setTimeout(resolve, 300)); return ${n};`;
    const body = JSON.stringify({ code, block: true });
    return (await fetch(`${url}/processes`, { method: "POST", headers, body })).json();
  };
  const submitted = urls.flatMap((url) => Array.from({ length: RUNS_EACH }, (_, n) => submit(url, n)));
  const records = await Promise.all(submitted);
  expect(records.map(({ exitState, result }) => [exitState, result])).toEqual(
    records.map((_, index) => ["success", index % RUNS_EACH]),
  );
  const [left] = await database.pool`select count(*)::int as count from processes where state <> 'idle'`;
  expect(left?.count).toBe(0);
}, 90_000);
