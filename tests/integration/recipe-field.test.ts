/** The field that CONTRIBUTING.md adds to processes, added to a copy of the project as it says, and asked for over HTTP. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROJECT = path.resolve(import.meta.dirname, "../..");
const COPIED = ["api", "client", "command", "docs", "kernel", "modules", "runner", "sdk", "package.json"];
const GENERATORS = ["api/db/schema-dump.ts", "api/openapi-main.ts", "tests/checks/client-schema.ts"];
const FILES = [
  "api/db/migrations/9999_note.sql",
  "api/db/schema.sql",
  "api/processes/model/schemas.ts",
  "api/processes/store/changes.ts",
  "client/schema.ts",
  "docs/openapi.json",
];
const run = promisify(execFile);

/** Submits a script with the field and prints its record, with everything of the copy. */
const ASK = `
  import { pino } from "pino";
  import { parseConfig } from "#api/config.ts";
  import { openDatabase } from "#api/db/database.ts";
  import { openServer } from "#api/server.ts";
  const { config } = parseConfig({ CYRNEL_DATA_DIR: process.argv[1], PORT: "0", CYRNEL_ISOLATION: "development" });
  await using database = await openDatabase(config, { onTakenOver: () => {} });
  await using server = await openServer(config, { database, logger: pino({ level: "silent" }) });
  const url = await server.listen();
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ code: "return 1", autorun: false, note: "remember" });
  const { id } = await (await fetch(url + "/processes", { method: "POST", headers, body })).json();
  console.log(await (await fetch(url + "/processes/" + id)).text());`;

test("the recipe's field is six files, three of them generated, and is stored and shown", async () => {
  const recipe = (await readFile(path.join(PROJECT, "CONTRIBUTING.md"), "utf8"))
    .split("## How to add a field that is stored")[1]
    ?.split("\n## ")[0];
  const migration = /```sql\n([\s\S]*?)```/.exec(recipe ?? "")?.[1] ?? "";
  const changes = /```diff\n([\s\S]*?)```/.exec(recipe ?? "")?.[1] ?? "";

  await using undo = new AsyncDisposableStack();
  const copy = await mkdtemp(path.join(tmpdir(), "cyrnel-field-"));
  undo.defer(() => rm(copy, { recursive: true, force: true }));
  for (const name of COPIED) {
    await cp(path.join(PROJECT, name), path.join(copy, name), { recursive: true });
  }
  await cp(path.join(PROJECT, "tests/checks"), path.join(copy, "tests/checks"), { recursive: true });
  await symlink(path.join(PROJECT, "node_modules"), path.join(copy, "node_modules"));
  await symlink(path.join(PROJECT, "tests/packages"), path.join(copy, "tests/packages"));
  await symlink("packages/node_modules", path.join(copy, "tests/node_modules"));
  const before = await readAll(copy);

  await writeFile(path.join(copy, "api/db/migrations/9999_note.sql"), migration);
  for (const hunk of changes.split(/^--- /m).slice(1)) {
    const [file = "", ...lines] = hunk.trimEnd().split("\n");
    const side = (left: string) =>
      lines
        .filter((line) => line.startsWith(" ") || line.startsWith(left))
        .map((line) => line.slice(1))
        .join("\n");
    const text = await readFile(path.join(copy, file), "utf8");
    expect(text.split(side("-")), `the lines before, in ${file}`).toHaveLength(2);
    await writeFile(path.join(copy, file), text.replace(side("-"), side("+")));
  }
  for (const generator of GENERATORS) {
    await run(process.execPath, [generator], { cwd: copy });
  }
  const after = await readAll(copy);
  const changed = [...after].filter(([file, text]) => before.get(file) !== text).map(([file]) => file);
  expect(changed.sort()).toEqual(FILES);

  const data = path.join(copy, "data");
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", ASK, data], { cwd: copy });
  expect(JSON.parse(stdout)).toMatchObject({ state: "idle", note: "remember" });
}, 180_000);

/** The text of each file of ours, by its path. */
async function readAll(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = path.relative(folder, path.join(entry.parentPath, entry.name));
    if (!entry.isFile() || file.includes("node_modules") || file.includes("dist/")) continue;
    files.set(file, await readFile(path.join(folder, file), "latin1"));
  }
  return files;
}
