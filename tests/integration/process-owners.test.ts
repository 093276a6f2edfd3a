/** Whose processes a key reads, runs, kills and deletes, with which rights a run is started, and who may decide about it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApprovalsServer, type Person, startApprovalsServer } from "./approvals/server.ts";
import { connectMcp } from "./mcp-client.ts";
import { until } from "./processes-server.ts";

const WRITE = "processes:write";
const READ = "processes:read";
const ALL = "processes:all";

let shop: ApprovalsServer;

beforeAll(async () => {
  shop = await startApprovalsServer();
});
afterAll(() => shop[Symbol.asyncDispose]());

const ended = (id: number) =>
  until(`process ${id} has ended`, async () => {
    const record = await shop.read(id);
    return record.state === "idle" && record.exitState !== null && record;
  });

async function makeRole(name: string, allow: string[], deny: string[] = []): Promise<string> {
  return (await shop.server.post("/roles", { name, allow, deny })).body.id;
}

async function submit(person: Person, code: string, body: Record<string, unknown> = {}): Promise<number> {
  const answer = await person.send("POST", "/processes", { code, ...body });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

describe("a key without processes:all", () => {
  let owner: Person;
  let other: Person;
  let overseer: Person;

  beforeAll(async () => {
    owner = await shop.makeKey([WRITE, READ]);
    other = await shop.makeKey([WRITE, READ]);
    overseer = await shop.makeKey([WRITE, READ, ALL]);
  });

  test("is answered for another key's process as for one that was never there, on every path", async () => {
    const id = await submit(owner, "print secret\nreturn 1", { block: true, ref: "owner's own" });
    const missing = 999_999_999;
    for (const [method, path, json] of [
      ["GET", "", undefined],
      ["HEAD", "", undefined],
      ["GET", "?wait=50", undefined],
      ["GET", "/code", undefined],
      ["GET", "/output", undefined],
      ["GET", "/stdout", undefined],
      ["GET", "/stderr", undefined],
      ["GET", "/calls", undefined],
      ["GET", "/events", undefined],
      ["POST", "/signals/run", { force: true }],
      ["POST", "/signals/kill", undefined],
      ["DELETE", "", undefined],
    ] as const) {
      const others = await other.send(method, `/processes/${id}${path}`, json);
      const none = await other.send(method, `/processes/${missing}${path}`, json);
      const place = `${method} ${path}`;
      expect([place, others.status]).toEqual([place, 404]);
      expect([place, others.text.replaceAll(String(id), "N").replace(/"requestId":"[^"]*"/, "")]).toEqual([
        place,
        none.text.replaceAll(String(missing), "N").replace(/"requestId":"[^"]*"/, ""),
      ]);
    }
    expect((await owner.send("GET", `/processes/${id}`)).body.stdout).toBe("secret\n");
    expect((await overseer.send("GET", `/processes/${id}`)).body.stdout).toBe("secret\n");
  });

  test("lists its own only, whatever it filters by and however it pages", async () => {
    const own = [
      await submit(other, "return 1", { block: true }),
      await submit(other, "return 2", { block: true }),
    ];
    await submit(owner, "return 3", { block: true, ref: "hidden ref" });
    const seen: number[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: { processes: { id: number }[]; nextCursor: string | null } = (
        await other.send("GET", `/processes?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`)
      ).body;
      seen.push(...page.processes.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual([...own].sort((a, b) => b - a));
    for (const query of ["?ref=hidden%20ref", "?status=failed", "?state=running"]) {
      expect((await other.send("GET", `/processes${query}`)).body).toEqual({
        processes: [],
        nextCursor: null,
      });
    }
    const all = (await overseer.send("GET", "/processes?ref=hidden%20ref")).body.processes;
    expect(all).toHaveLength(1);
  });

  test("is told that a ref is taken, and not by which process", async () => {
    const id = await submit(owner, "return 1", { block: true, ref: "a name" });
    const taken = await other.send("POST", "/processes", { code: "return 1", ref: "a name" });
    expect([taken.status, taken.body.code]).toEqual([409, "ref_taken"]);
    expect(taken.body.error).not.toContain(String(id));
    expect(taken.body.error).not.toContain(owner.id);
  });

  test("has idempotency keys of its own", async () => {
    const send = (person: Person) =>
      person.send("POST", "/processes", { code: "return 1" }, { "idempotency-key": "same" });
    const first = await send(owner);
    expect((await send(owner)).body.id).toBe(first.body.id);
    expect((await send(other)).body.id).not.toBe(first.body.id);
  });

  test("is told of changes of the list at the same times whether or not others' processes change", async () => {
    const isTold = async (person: Person) => {
      const controller = new AbortController();
      const response = await fetch(`${shop.server.url}/processes/stream`, {
        headers: { authorization: `Bearer ${person.key}` },
        signal: controller.signal,
      });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      await submit(owner, "return 1", { block: true });
      const next = await Promise.race([
        reader.read().then(() => "told"),
        new Promise<string>((resolve) => setTimeout(resolve, 1200, "not told")),
      ]);
      controller.abort();
      return next;
    };
    expect(await isTold(overseer)).toBe("told");
    expect(await isTold(other)).toBe("not told");
  });

  test("meets the same over MCP: result and resume tell nothing of another key's run", async () => {
    const id = await submit(owner, "print secret\nreturn 1", { block: true });
    await using reader = await connectMcp(shop.server.url, { key: other.key });
    const answer = await reader.call("result", { processId: id });
    expect(answer).toMatchObject({ isError: true, value: { code: "not_found" } });
    expect(JSON.stringify(answer)).not.toContain("secret");

    const decider = await shop.makeKey([READ, "approvals:decide"]);
    const asking = await submit(owner, "print secret\ncall shop delete_item {}");
    const [approval] = await shop.paused(asking);
    await using client = await connectMcp(shop.server.url, { key: decider.key });
    const decided = await client.call("resume", { execution_id: approval, approved: true });
    expect(decided.value).toMatchObject({ approval: { state: "approved" }, processId: asking });
    expect(JSON.stringify(decided)).not.toContain("secret");
  });
});

describe("a key that may write and not read", () => {
  test("is answered the id and the state alone by run and kill", async () => {
    const writer = await shop.makeKey([WRITE, ALL]);
    const id = await submit(shop.agent, "print secret\nreturn 1", { block: true });
    const run = await writer.send("POST", `/processes/${id}/signals/run`, { force: true, block: true });
    expect([run.status, run.body]).toEqual([200, { id, state: "idle" }]);
    const hanging = await submit(shop.agent, "print secret\nhang");
    const killed = await writer.send("POST", `/processes/${hanging}/signals/kill`);
    expect(killed.status).toBe(200);
    expect(Object.keys(killed.body).sort()).toEqual(["id", "state"]);
    await ended(hanging);
  });
});

describe("a run that another key started", () => {
  test("sees and calls only what the roles of both keys show", async () => {
    const wide = await shop.makeKey([WRITE, READ], await makeRole("wide", ["shop.list", "shop.free"]));
    const narrow = await shop.makeKey([WRITE, READ, ALL], await makeRole("narrow", ["shop.list"]));
    const code = "call shop list {}\ncall shop free {}\nreturn 1";
    const id = await submit(wide, code, { block: true });
    const calls = async () => (await shop.server.get(`/processes/${id}/calls`)).body.calls;
    expect((await calls()).map(({ status }: { status: string }) => status)).toEqual(["ok", "ok"]);

    await narrow.send("POST", `/processes/${id}/signals/run`, { force: true, block: true });
    const [list, free] = await calls();
    expect(list.status).toBe("ok");
    expect(free).toMatchObject({
      status: "error",
      error: expect.stringContaining("There is no tool shop.free"),
    });

    // By its submitter it has all of its own rights again; a starter without a role takes nothing away and adds nothing.
    await wide.send("POST", `/processes/${id}/signals/run`, { force: true, block: true });
    expect((await calls()).map(({ status }: { status: string }) => status)).toEqual(["ok", "ok"]);
    const other = await submit(narrow, code, { block: true });
    await shop.server.post(`/processes/${other}/signals/run`, { force: true, block: true });
    const trail = (await shop.server.get(`/processes/${other}/calls`)).body.calls;
    expect(trail.map(({ status }: { status: string }) => status)).toEqual(["ok", "error"]);
  });

  test("meets the stricter of what the policies say about the two roles", async () => {
    const [strict, lax] = [await makeRole("strict", ["shop.*"]), await makeRole("lax", ["shop.*"])];
    for (const decision of ["block", "allow"] as const) {
      const roleId = decision === "block" ? strict : lax;
      await shop.server.post("/policies", { servicePattern: "shop", toolPattern: "free", roleId, decision });
    }
    for (const [submitter, starter] of [
      [strict, lax],
      [lax, strict],
    ] as const) {
      const id = await submit(await shop.makeKey([WRITE, READ], submitter), "call shop free {}", {
        autorun: false,
      });
      const person = await shop.makeKey([WRITE, READ, ALL], starter);
      await person.send("POST", `/processes/${id}/signals/run`, { block: true });
      const [call] = (await shop.server.get(`/processes/${id}/calls`)).body.calls;
      expect(call).toMatchObject({ status: "denied", error: "A policy blocks calls of shop.free." });
    }
  });

  test("calls nothing once the key of either does not count any more", async () => {
    for (const revoked of ["submitter", "starter"] as const) {
      const submitter = await shop.makeKey([WRITE, READ]);
      const starter = await shop.makeKey([WRITE, READ, ALL]);
      const gate = `open ${revoked}`.replace(" ", "-");
      const id = await submit(submitter, `gate ${gate}\ncall shop list {}`, { autorun: false });
      await starter.send("POST", `/processes/${id}/signals/run`, {});
      await until("it runs", async () => (await shop.read(id)).state === "running");
      const key = revoked === "submitter" ? submitter : starter;
      await shop.server.request("DELETE", `/keys/${key.id}`, {});
      shop.server.environment.open(gate);
      await ended(id);
      const [call] = (await shop.server.get(`/processes/${id}/calls`)).body.calls;
      expect([revoked, call.status]).toEqual([revoked, "error"]);
    }
  });

  test("is named in the audit trail by the key that started it", async () => {
    const submitter = await shop.makeKey([WRITE, READ]);
    const starter = await shop.makeKey([WRITE, READ, ALL]);
    const id = await submit(submitter, "call shop list {}", { autorun: false });
    await starter.send("POST", `/processes/${id}/signals/run`, { block: true });
    const record = await until("the call is recorded", async () => {
      const { records } = (await shop.server.get(`/audit?action=tool.call&processId=${id}`)).body;
      return records[0];
    });
    expect(record.actor).toMatchObject({ kind: "key", id: starter.id });
  });
});

describe("an approval", () => {
  test("refuses the key that submitted the process and the key that started the run; others decide", async () => {
    const submitter = await shop.makeKey([WRITE, READ, "approvals:decide"]);
    const starter = await shop.makeKey([WRITE, READ, ALL, "approvals:decide"]);
    const id = await submit(submitter, "call shop delete_item {}", { autorun: false });
    await starter.send("POST", `/processes/${id}/signals/run`, {});
    const [approval] = await shop.paused(id);
    for (const person of [submitter, starter]) {
      for (const verb of ["approve", "deny"]) {
        const refused = await person.send("POST", `/approvals/${approval}/${verb}`, {});
        expect([refused.status, refused.body.code]).toEqual([403, "self_approval"]);
      }
      await using client = await connectMcp(shop.server.url, { key: person.key });
      const answer = await client.call("resume", { execution_id: approval, approved: true });
      expect(answer).toMatchObject({ isError: true, value: { code: "self_approval" } });
    }
    const read = await submitter.send("GET", `/approvals/${approval}`);
    expect(read.body).toMatchObject({ state: "pending", requestedBy: submitter.id, startedBy: starter.id });
    expect((await shop.decide(approval as string, "approve")).status).toBe(200);
    expect((await ended(id)).exitState).toBe("success");
  });

  test("is no business of who started an earlier run of the process", async () => {
    const submitter = await shop.makeKey([WRITE, READ, "approvals:decide"]);
    const starter = await shop.makeKey([WRITE, READ, ALL, "approvals:decide"]);
    const id = await submit(submitter, "call shop delete_item {}", { autorun: false });
    await starter.send("POST", `/processes/${id}/signals/run`, {});
    await shop.paused(id);
    await starter.send("POST", `/processes/${id}/signals/kill`);
    await ended(id);
    await submitter.send("POST", `/processes/${id}/signals/run`, { force: true });
    const [approval] = await shop.paused(id);
    expect((await submitter.send("POST", `/approvals/${approval}/approve`, {})).status).toBe(403);
    expect((await starter.send("POST", `/approvals/${approval}/approve`, {})).status).toBe(200);
    await ended(id);
  });
});
