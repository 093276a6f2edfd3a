import { createSecretKey, randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKeyring, type Keyring } from "#api/secrets/keyring.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import type { SecretOwner } from "#api/secrets/sealing.ts";
import { createVault, learnStoredSecrets, rotateSecrets, type Vault } from "#api/secrets/vault.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";

const OWNER: SecretOwner = { kind: "service", id: "github" };
const key = () => createSecretKey(randomBytes(32));
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool`delete from secrets`;
});

function vaultOf(keyring: Keyring | null, redactor = createRedactor()): Vault {
  return createVault(keyring, redactor);
}

const stored = () => database.pool<{ kid: string; version: number; ownerId: string; text: string }[]>`
  select sealed ->> 'kid' as kid, version, owner_id as "ownerId", sealed::text as text from secrets order by owner_id`;

describe("the vault", () => {
  test("keeps values by owner, counts their changes, and lets only the first of two writers win", async () => {
    const vault = vaultOf(createKeyring(key()));
    const db = database.pool;
    expect(await vault.read(db, OWNER)).toEqual({ values: {}, origins: null, version: 0 });
    expect(await vault.write(db, OWNER, { token: "first-token" }, 0)).toBe(1);
    expect(await vault.write(db, OWNER, { token: "late-token" }, 0)).toBeNull();
    const both = await Promise.all(
      [1, 2, 3, 4].map((n) => vault.write(db, OWNER, { token: `racing-token-${n}` }, 1)),
    );
    expect(both.filter((version) => version !== null)).toEqual([2]);
    const { values, version } = await vault.read(db, OWNER);
    expect(version).toBe(2);
    expect(values.token).toMatch(/^racing-token-/);
    await vault.remove(db, OWNER);
    expect(await vault.read(db, OWNER)).toEqual({ values: {}, origins: null, version: 0 });
  });

  test("stores no byte of a value", async () => {
    await vaultOf(createKeyring(key())).write(database.pool, OWNER, { token: "planted-token-4711" }, 0);
    const [row] = await stored();
    expect(row?.text).not.toContain("planted");
    expect(row?.text).not.toContain(Buffer.from("planted-token-4711").toString("base64").slice(0, 12));
    expect(JSON.parse(row?.text ?? "")).toEqual({
      v: 1,
      kid: expect.stringMatching(/^[0-9a-f]{16}$/),
      alg: "A256GCM",
      iv: expect.any(String),
      tag: expect.any(String),
      ciphertext: expect.any(String),
    });
  });

  test("what is moved to another row does not open there", async () => {
    const vault = vaultOf(createKeyring(key()));
    await vault.write(database.pool, OWNER, { token: "admin-token" }, 0);
    await vault.write(database.pool, { kind: "service", id: "mine" }, { token: "my-token" }, 0);
    await database.pool`update secrets set sealed = (select sealed from secrets where owner_id = 'github') where owner_id = 'mine'`;
    await expect(vault.read(database.pool, { kind: "service", id: "mine" })).rejects.toThrow("do not open");
    await database.pool`update secrets set owner_kind = 'module' where owner_id = 'github'`;
    await expect(vault.read(database.pool, { kind: "module", id: "github" })).rejects.toThrow("do not open");
  });

  test("without a key nothing is written, and what is there is refused with secrets_key_missing", async () => {
    const refusal = { code: "secrets_key_missing", status: 500 };
    await expect(vaultOf(null).write(database.pool, OWNER, { a: 1 }, 0)).rejects.toMatchObject(refusal);
    expect(await vaultOf(null).read(database.pool, OWNER)).toEqual({ values: {}, origins: null, version: 0 });
    await vaultOf(createKeyring(key())).write(database.pool, OWNER, { token: "some-token" }, 0);
    await expect(vaultOf(null).read(database.pool, OWNER)).rejects.toMatchObject(refusal);
    await expect(vaultOf(createKeyring(key())).read(database.pool, OWNER)).rejects.toMatchObject(refusal);
    expect(() => vaultOf(null).seal(OWNER, 1)).toThrow(expect.objectContaining(refusal));
  });

  test("what is written, read or stored at start is known to the redactor", async () => {
    const keyring = createKeyring(key());
    const writing = createRedactor();
    await vaultOf(keyring, writing).write(database.pool, OWNER, { token: "known-token" }, 0);
    expect(writing.text("known-token")).toBe("[secret]");
    const reading = createRedactor();
    await vaultOf(keyring, reading).read(database.pool, OWNER);
    expect(reading.text("known-token")).toBe("[secret]");

    const starting = createRedactor();
    for (let index = 0; index < 450; index += 1) {
      await vaultOf(keyring).write(
        database.pool,
        { kind: "module", id: `m${index}` },
        { token: `token-of-m${index}.` },
        0,
      );
    }
    await vaultOf(createKeyring(key())).write(
      database.pool,
      { kind: "service", id: "foreign" },
      { token: "foreign-token" },
      0,
    );
    const problems: unknown[] = [];
    const log = {
      ...quiet,
      error: (fields: object, message?: string) => void problems.push({ ...fields, message }),
    };
    await learnStoredSecrets({ db: database.pool, vault: vaultOf(keyring), redactor: starting, log });
    expect(starting.text("known-token token-of-m0. token-of-m449.")).toBe("[secret] [secret] [secret]");
    expect(problems).toEqual([expect.objectContaining({ owners: ["service:foreign"], count: 1 })]);
  });
});

describe("a rotation", () => {
  async function fill(vault: Vault, count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      await vault.write(
        database.pool,
        { kind: "service", id: `s${String(index).padStart(4, "0")}` },
        { token: `token-${index}` },
        0,
      );
    }
  }

  test("leaves values bound to the origins they were set for, as does another bind of the same version", async () => {
    const [old, fresh] = [key(), key()];
    const vault = vaultOf(createKeyring(old));
    const db = database.pool;
    await vault.write(db, OWNER, { token: "bound-token" }, 0, ["https://a.example"]);
    await rotateSecrets(db, createKeyring(fresh, [old]));
    const rotated = vaultOf(createKeyring(fresh));
    const origins = async () => (await rotated.read(db, OWNER)).origins;
    expect(await origins()).toEqual(["https://a.example"]);
    expect(await rotated.bind(db, OWNER, ["https://b.example"], 2)).toBe(false);
    expect(await origins()).toEqual(["https://a.example"]);
    expect(await rotated.bind(db, OWNER, ["https://b.example"], 1)).toBe(true);
    expect(await rotated.read(db, OWNER)).toEqual({
      values: { token: "bound-token" },
      origins: ["https://b.example"],
      version: 1,
    });
    const redactor = createRedactor();
    const log = { ...quiet, error: () => expect.fail("does not open") };
    await learnStoredSecrets({ db, vault: vaultOf(createKeyring(fresh), redactor), redactor, log });
    expect(redactor.text("the bound-token and https://b.example")).toBe("the [secret] and https://b.example");
  });

  test("seals every row with the current key; values and versions stay", async () => {
    const old = key();
    const fresh = key();
    await fill(vaultOf(createKeyring(old)), 250);
    const both = createKeyring(fresh, [old]);
    expect(await rotateSecrets(database.pool, both)).toEqual({ rotated: 250, contended: 0, unreadable: [] });
    expect(await rotateSecrets(database.pool, both)).toEqual({ rotated: 0, contended: 0, unreadable: [] });
    const vault = vaultOf(createKeyring(fresh));
    expect(await vault.read(database.pool, { kind: "service", id: "s0007" })).toEqual({
      values: { token: "token-7" },
      origins: null,
      version: 1,
    });
    expect(new Set((await stored()).map((row) => row.kid))).toEqual(new Set([both.current.kid]));
  });

  test("can be broken off anywhere and goes on where it stopped", async () => {
    const old = key();
    await fill(vaultOf(createKeyring(old)), 120);
    const both = createKeyring(key(), [old]);
    let statements = 0;
    const failing = new Proxy(database.pool, {
      apply(target, self, args) {
        const isStatement = Array.isArray(args[0]) && String(args[0][0]).includes("update secrets");
        if (isStatement && ++statements > 50) throw new Error("the connection is gone");
        return Reflect.apply(target, self, args) as unknown;
      },
    });
    await expect(rotateSecrets(failing, both)).rejects.toThrow("connection is gone");
    expect((await stored()).filter((row) => row.kid === both.current.kid)).toHaveLength(50);
    expect(await rotateSecrets(database.pool, both)).toEqual({ rotated: 70, contended: 0, unreadable: [] });
  });

  test("loses no change that a running server makes meanwhile", async () => {
    const old = key();
    const fresh = key();
    const server = vaultOf(createKeyring(fresh, [old]));
    await fill(vaultOf(createKeyring(old)), 100);
    const wanted = new Map<string, string>();
    const changes = (async () => {
      for (let round = 0; round < 200; round += 1) {
        const owner: SecretOwner = { kind: "service", id: `s${String((round * 37) % 100).padStart(4, "0")}` };
        const { version } = await server.read(database.pool, owner);
        const token = `changed-in-round-${round}`;
        if ((await server.write(database.pool, owner, { token }, version)) !== null)
          wanted.set(owner.id, token);
      }
    })();
    const rotations = (async () => {
      for (let round = 0; round < 5; round += 1)
        await rotateSecrets(database.pool, createKeyring(fresh, [old]));
    })();
    await Promise.all([changes, rotations]);
    const after = await rotateSecrets(database.pool, createKeyring(fresh, [old]));
    expect(after.unreadable).toEqual([]);
    const onlyFresh = vaultOf(createKeyring(fresh));
    expect(wanted.size).toBe(100);
    for (const [id, token] of wanted) {
      expect((await onlyFresh.read(database.pool, { kind: "service", id })).values).toEqual({ token });
    }
  });

  test("names what no key opens, and rotates the rest", async () => {
    const old = key();
    await fill(vaultOf(createKeyring(old)), 3);
    await vaultOf(createKeyring(key())).write(database.pool, { kind: "module", id: "lost" }, { a: "b" }, 0);
    await database.pool`update secrets set sealed = '{"v":1}' where owner_id = 's0001'`;
    const outcome = await rotateSecrets(database.pool, createKeyring(key(), [old]));
    expect(outcome).toMatchObject({ rotated: 2, contended: 0 });
    expect(outcome.unreadable.map(({ owner }) => owner)).toEqual([
      { kind: "module", id: "lost" },
      { kind: "service", id: "s0001" },
    ]);
  });
});
