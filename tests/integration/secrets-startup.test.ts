import { execFile } from "node:child_process";
import { createSecretKey, randomBytes } from "node:crypto";
import { chmod, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { ensureKeyFile, readKeyFile } from "#api/secrets/key-file.ts";
import { createKeyring } from "#api/secrets/keyring.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { createVault } from "#api/secrets/vault.ts";
import { createTestDatabase } from "./harness/database.ts";
import { type MainProcess, makeDataDirectory, startMain } from "./harness/main-process.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const OWNER = { kind: "service", id: "github" } as const;

test("a start without any setup makes a key for its owner only, says so once, and keeps it", {
  timeout: 120_000,
}, async () => {
  await using directory = await makeDataDirectory({ empty: true });
  const environment = { CYRNEL_DATA_DIR: directory.path };
  const file = path.join(directory.path, "secrets.key");

  const first = startMain({ environment });
  await first.listening();
  const { mode } = await stat(file);
  expect((mode & 0o777).toString(8)).toBe("600");
  const text = (await readFile(file, "utf8")).trim();
  expect(first.stderr()).toContain(`created a key for secrets: ${file}`);
  expect(first.stdout()).toContain('"type":"secrets"');
  for (const output of [first.stderr(), first.stdout()]) expect(output).not.toContain(text);
  first.child.kill("SIGTERM");
  await first.ended();

  const second = startMain({ environment });
  await second.listening();
  expect(second.stderr()).not.toContain("created a key");
  expect((await readFile(file, "utf8")).trim()).toBe(text);
  await expectKeyNowhere(second, Buffer.from(text, "base64"));
  second.child.kill("SIGTERM");
  await second.ended();
});

test("no process that the server starts has the key: not in its environment, its arguments, its open files", async () => {
  await using database = await createTestDatabase();
  const [current, previous] = [randomBytes(32), randomBytes(32)];
  const main = startMain({
    environment: {
      DATABASE_URL: database.url,
      CYRNEL_SECRETS_KEY: current.toString("base64"),
      CYRNEL_SECRETS_PREVIOUS_KEYS: previous.toString("base64"),
    },
  });
  const url = await main.listening();
  const answer = await fetch(`${url}/processes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: "return 1", block: true }),
  });
  expect(await answer.json()).toMatchObject({ exitState: "success" });
  expect(await expectKeyNowhere(main, current)).toBeGreaterThan(0);
  await expectKeyNowhere(main, previous);
  main.child.kill("SIGTERM");
  await main.ended();
});

test.each([
  ["CYRNEL_SECRETS_KEY", Buffer.alloc(32).toString("base64")],
  ["CYRNEL_SECRETS_KEY", "not a key"],
  ["CYRNEL_SECRETS_PREVIOUS_KEYS", Buffer.alloc(32, 7).toString("base64")],
  ["CYRNEL_EGRESS_ALLOW", "10.0.0.1/8"],
])("a bad %s ends the start with exit code 78 and opens nothing", async (name, value) => {
  await using directory = await makeDataDirectory({ empty: true });
  const main = startMain({ environment: { CYRNEL_DATA_DIR: directory.path, [name]: value } });
  expect(await main.ended()).toBe(78);
  expect(main.stderr()).toContain(`${name}: `);
  if (name.includes("KEY")) expect(main.stderr()).not.toContain(value);
  expect(await readdir(directory.path)).toEqual([]);
});

test("a key file that others may read, that is a link, or that was damaged is refused with what to do", async () => {
  await using directory = await makeDataDirectory({ empty: true });
  const file = path.join(directory.path, "secrets.key");
  expect(await readKeyFile(directory.path)).toBeNull();
  const made = await ensureKeyFile(directory.path);
  expect(made).toMatchObject({ isNew: true, path: file });
  const [again, other] = await Promise.all([ensureKeyFile(directory.path), ensureKeyFile(directory.path)]);
  for (const key of [again, other]) expect(key.key.export()).toEqual(made.key.export());
  expect(await readdir(directory.path)).toEqual(["secrets.key"]);

  await chmod(file, 0o644);
  await expect(readKeyFile(directory.path)).rejects.toThrow(`chmod 600 ${file}`);
  await chmod(file, 0o600);
  for (const content of ["", "x", Buffer.alloc(32).toString("base64"), "x".repeat(10_000)]) {
    await writeFile(file, content);
    await expect(readKeyFile(directory.path)).rejects.toThrow("Restore it from a backup");
  }
  await using elsewhere = await makeDataDirectory({ empty: true });
  await symlink(file, path.join(elsewhere.path, "secrets.key"));
  await expect(readKeyFile(elsewhere.path)).rejects.toThrow("symbolic link");
});

test("of many servers that make a key at once, all get the same", async () => {
  await using directory = await makeDataDirectory({ empty: true });
  const keys = await Promise.all(Array.from({ length: 16 }, () => ensureKeyFile(directory.path)));
  expect(new Set(keys.map(({ key }) => key.export().toString("hex"))).size).toBe(1);
  expect(keys.filter(({ isNew }) => isNew)).toHaveLength(1);
});

test("secrets rotate: everything is encrypted with the current key afterwards, or it says what is not", async () => {
  await using database = await createTestDatabase();
  const [old, fresh, lost] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const vaultOf = (bytes: Buffer) => createVault(createKeyring(createSecretKey(bytes)), createRedactor());
  await vaultOf(old).write(database.pool, OWNER, { token: "kept-through-it" }, 0);
  const environment = {
    DATABASE_URL: database.url,
    CYRNEL_SECRETS_KEY: fresh.toString("base64"),
    CYRNEL_SECRETS_PREVIOUS_KEYS: old.toString("base64"),
  };
  const done = await rotate(environment);
  expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining("1 rows were encrypted") });
  expect(done.stderr).not.toContain("kept-through-it");
  expect((await vaultOf(fresh).read(database.pool, OWNER)).values).toEqual({ token: "kept-through-it" });
  await expect(vaultOf(old).read(database.pool, OWNER)).rejects.toMatchObject({
    code: "secrets_key_missing",
  });

  await vaultOf(lost).write(database.pool, { kind: "module", id: "m" }, { token: "of-a-lost-key" }, 0);
  expect(await rotate(environment)).toMatchObject({ code: 1, stderr: expect.stringContaining("module m") });
  expect(await rotate({ DATABASE_URL: database.url })).toMatchObject({
    code: 78,
    stderr: expect.stringContaining("CYRNEL_SECRETS_KEY"),
  });
});

function rotate(environment: Record<string, string>): Promise<{ code: number; stderr: string }> {
  return new Promise((resolve) => {
    const program = path.join(ROOT, "dist/server/rotate-secrets.js");
    execFile(
      process.execPath,
      [program],
      { env: { PATH: process.env.PATH ?? "", ...environment } },
      (error, _stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stderr }),
    );
  });
}

/** Looks at every process below the server; how many there were. */
async function expectKeyNowhere(main: MainProcess, key: Buffer): Promise<number> {
  const forms = [
    key.toString("base64"),
    key.toString("base64url"),
    key.toString("hex"),
    key.toString("latin1"),
  ];
  const pids = await listDescendants(main.child.pid as number);
  for (const pid of pids) {
    for (const file of ["environ", "cmdline"]) {
      const content = await readFile(`/proc/${pid}/${file}`, "latin1").catch(() => "");
      for (const form of forms) expect(content.includes(form)).toBe(false);
    }
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "");
      expect(target).not.toContain("secrets.key");
    }
  }
  return pids.length;
}

async function listDescendants(root: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    parents.set(pid, Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0));
  }
  const below = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && parent > 1 && (parent === root || below(parent));
  };
  return [...parents.keys()].filter(below);
}
