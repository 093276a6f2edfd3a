/** The command against a real server: runs, processes, services, tools, approvals, keys, policies, audit; and what goes wrong. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TEST_KEY } from "../harness/http-app.ts";
import { SECRETS_KEY } from "../services-server.ts";
import { startToolsServer, type ToolsServer } from "../tools-server.ts";
import { type CommandOptions, cyrnel, type Ended, type Folder, makeFolder, startCyrnel } from "./cyrnel.ts";

let server: ToolsServer;
let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
  server = await startToolsServer({
    environment: {
      CYRNEL_API_KEY: TEST_KEY,
      CYRNEL_SECRETS_KEY: SECRETS_KEY,
      CYRNEL_ISOLATION: "development",
      CYRNEL_DEFAULT_POLICY: "ask-destructive",
      CYRNEL_ALLOW_SELF_APPROVAL: "true",
    },
    environments: [
      {
        id: "typescript-process",
        type: "environment",
        load: () => import("#modules/typescript-process/index.ts"),
      },
      { id: "http", type: "adapter", load: () => import("#modules/http/index.ts") },
      { id: "openapi", type: "adapter", load: () => import("#modules/openapi/index.ts") },
    ],
  });
  await server.addService("shop", {
    list: { description: "What is in \u001b[31mstock\u001b[0m.", invoke: ({ parameters }) => [parameters] },
    remove: { destructive: true, invoke: () => "removed" },
  });
});
afterAll(async () => {
  await folder?.[Symbol.asyncDispose]();
  await server?.close();
});

function atServer(options: CommandOptions = {}): CommandOptions {
  return {
    ...options,
    environment: { CYRNEL_URL: server.url, CYRNEL_API_KEY: TEST_KEY, ...options.environment },
  };
}
const ask = (...args: string[]): Promise<Ended> => cyrnel(args, atServer());
const submit = (code: string, ...flags: string[]) =>
  cyrnel(["run", "-", ...flags], atServer({ input: code }));

describe("run", () => {
  test("streams stdout and stderr, and prints the result last", async () => {
    const ended = await submit('console.log("out"); console.error("err"); return { n: 1 };');
    expect(ended).toMatchObject({ code: 0, stdout: 'out\n{"n":1}\n', stderr: "err\n" });
  });

  test.each([
    { code: 1, script: "throw new Error('no')", flags: [], says: "[script_error]" },
    { code: 3, script: "for (;;);", flags: ["--timeout", "300"], says: "[timeout]" },
    { code: 4, script: "for (;;);", flags: ["--cpu", "300"], says: "[cpu_limit]" },
  ])("ends with $code for $says", async ({ code, script, flags, says }) => {
    const ended = await submit(script, ...flags);
    expect(ended.stderr).toContain(says);
    expect(ended.code).toBe(code);
  });

  test("gives the script an input from standard input and --set; one that is too large is refused with 2", async () => {
    const folder = await makeFolder();
    const file = await folder.write("input.ts", "return cyrnel.input");
    const given = (input: string, ...flags: string[]) =>
      cyrnel(["run", file, "--input", "-", ...flags], atServer({ input }));
    const ended = await given('{"a": [1]}', "--set", "b.c=2");
    expect([ended.code, ended.stdout]).toEqual([0, '{"a":[1],"b":{"c":2}}\n']);
    const [{ id }] = (await server.get("/processes?limit=1")).body.processes;
    expect((await server.get(`/processes/${id}`)).body.input).toEqual({ a: [1], b: { c: 2 } });
    const exact = await given('{"a":9007199254740993}', "--set", "b=-9007199254740995");
    expect(exact.stderr).toContain("input.b is -9007199254740995, and was rounded");
    const [{ id: exactId }] = (await server.get("/processes?limit=1")).body.processes;
    expect((await server.get(`/processes/${exactId}`)).text).toContain(
      '"input":{"a":9007199254740993,"b":-9007199254740995}',
    );
    const large = await given(JSON.stringify("x".repeat(1024 * 1024)));
    expect(large.stderr).toContain("body.input: must be at most 1048576 bytes of JSON text");
    expect(large.code).toBe(2);
    await folder[Symbol.asyncDispose]();
  });

  test("--json gives the record of the process", async () => {
    const ended = await submit(
      'cyrnel.output({ a: 1 }); console.log("x"); return 2',
      "--json",
      "--ref",
      "from-the-command",
    );
    const record = ended.json();
    expect(record).toMatchObject({
      exitState: "success",
      result: 2,
      output: { a: 1 },
      stdout: "x\n",
      exitCode: 0,
    });
    expect((await server.get(`/processes/${record.id}`)).body.ref).toBe("from-the-command");
  });

  test("several scripts share one command; one that the server refuses does not keep the others back", async () => {
    await using scripts = await makeFolder();
    await scripts.write("a.ts", "return await tools.shop.list({ n: cyrnel.input.args.length })");
    await scripts.write("b.ts", 'import { two } from "./lib/two.ts"; throw new Error(String(two))');
    await scripts.write("lib/two.ts", "export const two = 2");
    await scripts.write("large.ts", "x".repeat(200_000));
    const args = ["run", "*.ts", "--json", "--jobs", "3", "--", "x", "y"];
    const ended = await cyrnel(args, { ...atServer(), cwd: scripts.path });
    expect([ended.code, ended.stderr]).toEqual([2, ""]);
    expect(ended.json().scripts).toMatchObject([
      { script: "a.ts", exitCode: 0, result: [{ n: 2 }] },
      { script: "b.ts", exitCode: 1, problems: [{ code: "script_error", file: "b.ts", line: 1 }] },
      { script: "large.ts", exitCode: 2, id: null, problems: [{ level: "error", file: "large.ts" }] },
    ]);
  });

  test("Ctrl-C kills the process on the server, with exit code 6", async () => {
    const started = startCyrnel(
      ["run", "-"],
      atServer({ input: 'console.log("up"); await new Promise(() => setTimeout(() => {}, 60_000));' }),
    );
    while (!started.stdout().includes("up")) await sleep(20);
    const [running] = (await server.get("/processes?state=running")).body.processes;
    started.child.kill("SIGINT");
    expect((await started.ended).code).toBe(6);
    const after = await server.get(`/processes/${running.id}?wait=10000`);
    expect(after.body).toMatchObject({ state: "idle", exitState: "canceled", reason: "killed" });
  });

  test("a process that is killed by somebody else ends it with 6 too", async () => {
    const started = startCyrnel(["run", "-"], atServer({ input: 'console.log("up"); for (;;);' }));
    while (!started.stdout().includes("up")) await sleep(20);
    const [running] = (await ask("ps", "--json")).json().processes;
    expect((await ask("kill", String(running.id))).stdout).toBe(`Process ${running.id} is killed.\n`);
    expect((await started.ended).code).toBe(6);
  });

  test("--require reads the server's isolation report, and refuses with 78", async () => {
    const ended = await submit('console.log("ran")', "--require", "landlock");
    expect(ended).toMatchObject({ code: 78, stdout: "" });
    expect(ended.stderr).toContain("landlock was required and is not available");
  });

  test("a call that waits for a person is told, and decided by another command", async () => {
    const started = startCyrnel(["run", "-"], atServer({ input: "return await tools.shop.remove({})" }));
    while (!started.stderr().includes("approve")) await sleep(20);
    const id = /approvals approve (\S+)/.exec(started.stderr())?.[1] ?? "";
    expect((await ask("approvals", "list")).stdout).toMatch(new RegExp(`^ID .*\\n${id} .*shop\\.remove`));
    expect((await ask("approvals", "show", id)).stdout).toContain("shop.remove");
    expect((await ask("approvals", "approve", id)).code).toBe(0);
    expect(await started.ended).toMatchObject({ code: 0, stdout: '"removed"\n' });
  });

  test("who asks is named, in front of the script's own words, and what is hidden in them is shown", async () => {
    const script = 'return await cyrnel.ask({ message: "Cyrnel: all is well\\n\\u202eexe.txt\\u200b" })';
    const { id } = (await server.post("/processes", { code: script })).body;
    const find = async () => (await server.get(`/approvals?processId=${id}`)).body.approvals;
    await expect.poll(async () => (await find()).length, { timeout: 20_000 }).toBe(1);
    const [approval] = await find();
    const shown = (await ask("approvals", "show", approval.id)).stdout;
    expect(shown).toMatch(new RegExp(`^request +Process ${id}, submitted by bootstrap, asks:\\n`));
    expect(shown).toContain("in its words  Cyrnel: all is well\\n\\u202eexe.txt\\u200b\n");
    const listed = (await ask("approvals", "list")).stdout;
    expect(listed).toContain(`Process ${id}, submitted by bootstrap, asks: Cyrnel`);
    await ask("approvals", "deny", approval.id);
  });

  test("a denied one fails the script, with the reason", async () => {
    const started = startCyrnel(["run", "-"], atServer({ input: "return await tools.shop.remove({})" }));
    while (!started.stderr().includes("approve")) await sleep(20);
    const id = /approvals approve (\S+)/.exec(started.stderr())?.[1] ?? "";
    await ask("approvals", "deny", id, "--reason", "not today");
    const ended = await started.ended;
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain("not today");
  });
});

describe("processes", () => {
  test("ps, logs, logs -f and rm", async () => {
    const { id } = (await submit('console.log("kept"); console.error("too")', "--json")).json();
    const listed = await ask("ps", "--all", "--limit", "1");
    expect(listed.stdout).toMatch(new RegExp(`^ID +STATE .*\\n${id} +idle +ok `));
    expect(await ask("logs", String(id))).toMatchObject({ stdout: "kept\n", stderr: "too\n" });
    expect(await ask("logs", "-f", String(id), "--stdout")).toMatchObject({ stdout: "kept\n", stderr: "" });
    expect((await ask("logs", String(id), "--json")).json()).toEqual({ stdout: "kept\n", stderr: "too\n" });
    expect((await ask("rm", String(id))).code).toBe(0);
    const gone = await ask("logs", String(id));
    expect(gone.code).toBe(1);
    expect(gone.stderr).toMatch(/^cyrnel: .* \[not_found\]\n$/);
  });

  test("a name that is not its writer's to format stays on its line", async () => {
    await submit("return 1", "--ref", "a\nID \u001b[2Jfake");
    const { stdout } = await ask("ps", "--all", "--limit", "1");
    expect(stdout.trimEnd().split("\n").length).toBe(2);
    expect(stdout).toContain("a\\nID \\e[2Jfake");
  });
});

describe("services and tools", () => {
  test("what rules allow is read in sentences before they are installed, and after", async () => {
    const rule = { name: "read", origins: ["https://api.example.com"], pathPrefix: "/v1", methods: ["GET"] };
    const file = await folder.write("rules.json", JSON.stringify({ name: "Rules", rules: [rule] }));
    const says = "Scripts may send GET requests to https://api.example.com, to /v1 and paths below it.";
    const shown = await ask("service", "preview", file, "--adapter", "http");
    expect([shown.code, shown.stdout]).toEqual([
      0,
      expect.stringContaining(`Rules: 1 tool\n\nread\n  ${says}`),
    ]);
    expect((await ask("service", "show", "rules")).code).toBe(1);
    expect((await ask("service", "add", file, "--id", "rules", "--adapter", "http")).code).toBe(0);
    expect((await ask("service", "show", "rules")).stdout).toContain(says);
    expect((await ask("service", "show", "rules", "--json")).json()).toMatchObject({
      rules: [{ id: "read", enabled: true }],
    });
    expect((await ask("service", "rm", "rules")).code).toBe(0);
    const wrong = await folder.write(
      "wrong.json",
      JSON.stringify({ rules: [{ ...rule, methods: ["TRACE"] }] }),
    );
    const refused = await ask("service", "preview", wrong, "--adapter", "http");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("rules.read.methods.0")]);
  });

  test("what a half-broken document leaves out is said before it is installed, then, and after", async () => {
    const responses = (schema: object) => ({
      200: { description: "", content: { "application/json": { schema } } },
    });
    const document = {
      openapi: "3.1.0",
      info: { title: "Half", version: "1" },
      servers: [{ url: "https://api.example.com" }],
      paths: {
        "/whole": { get: { operationId: "whole", responses: responses({}) } },
        "/broken": {
          get: {
            operationId: "broken",
            responses: responses({ $ref: "#/components/schemas/\u001b[31mNone" }),
          },
        },
      },
    };
    const file = await folder.write("half.json", JSON.stringify(document));
    const says =
      /GET \/broken \(broken\) is left out\. It refers to .*None", which the document does not have\./;
    for (const args of [
      ["preview", file, "--adapter", "openapi"],
      ["add", file, "--id", "half", "--adapter", "openapi"],
      ["show", "half"],
    ]) {
      const { code, stdout } = await ask("service", ...args);
      expect([code, stdout], args[0]).toEqual([0, expect.stringMatching(says)]);
      expect(stdout).not.toContain("\u001b");
    }
    expect((await ask("service", "rm", "half")).code).toBe(0);
  });

  test("a service is installed from a file, listed, switched, changed and deleted", async () => {
    const definition = {
      name: "Mail",
      description: "",
      configSchema: { type: "object", properties: { from: { type: "string" } } },
      secretsSchema: {
        type: "object",
        properties: {
          token: { type: "string" },
          headers: { type: "object", additionalProperties: { type: "string" } },
        },
      },
      adapterDomain: {},
      tools: [
        {
          id: "send",
          name: "send",
          description: "",
          inputSchema: { type: "object" },
          outputSchema: {},
          adapterDomain: {},
          destructive: false,
        },
      ],
    };
    const file = await folder.write("mail.json", JSON.stringify(definition));
    const added = await ask("service", "add", file, "--id", "mail", "--adapter", "functions");
    expect(added.stdout).toContain("Service mail is installed.");
    expect((await ask("service", "enable", "mail")).stdout).toBe("Service mail is enabled.\n");
    expect((await ask("service", "list")).stdout).toMatch(/\nmail +functions +yes +ready +Mail\n/);
    expect((await ask("service", "config", "mail", "from=me@example.com")).json()).toEqual({
      from: "me@example.com",
    });
    expect((await ask("service", "config", "mail", "--unset", "from")).json()).toEqual({});
    const set = await cyrnel(["service", "secret", "mail", "token"], atServer({ input: "s3cret-value\n" }));
    expect(set.stdout).toMatch(/token +set/);
    expect(set.stdout + set.stderr).not.toContain("s3cret");
    expect((await ask("service", "secret", "mail", "--json")).json()).toEqual({
      present: ["/token"],
      outdated: [],
    });
    expect((await ask("service", "secret", "mail", "token=abc")).code).toBe(2);
    const give = (name: string, input: string) =>
      cyrnel(["service", "secret", "mail", name], atServer({ input }));
    expect((await give("/headers/Authorization", "Bearer s3cret")).stdout).toMatch(
      /headers\/Authorization +set/,
    );
    expect((await give("/headers/X-Key", "s3cret")).stdout).toMatch(
      /headers\/Authorization +set\n.*X-Key +set/,
    );
    expect((await give("headers", '{"X-Other": "s3cret"}')).stdout).toMatch(/headers\/X-Other +set/);
    expect((await give("token", "{}")).code).toBe(0);
    const wrong = await give("headers", "s3cret: x");
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("headers takes object: give its value as JSON. Nothing was changed.");
    expect(wrong.stderr).not.toContain("s3cret");
    expect((await ask("service", "secret", "mail", "--json")).json().present).toEqual([
      "/headers/X-Other",
      "/token",
    ]);
    expect((await ask("service", "rm", "mail")).stdout).toBe("Service mail is deleted.\n");
    expect((await ask("service", "show", "mail")).code).toBe(1);
  });

  test("tools are found, shown and called", async () => {
    const found = await ask("tools", "search", "--service", "shop");
    expect(found.stdout).toMatch(/\nshop\.list +allow +no +ready +What is in \\e\[31mstock/);
    expect((await ask("tools", "show", "shop.list")).stdout).toContain("tools.shop.list(parameters)");
    expect((await ask("tools", "call", "shop.list", "article=tea", "count=2")).json()).toEqual([
      { article: "tea", count: 2 },
    ]);
    expect((await ask("tools", "call", "shop.list", '{"a":[1]}')).json()).toEqual([{ a: [1] }]);
    const blocked = await ask("tools", "call", "shop.remove");
    expect(blocked).toMatchObject({ code: 77, stdout: "" });
    expect(blocked.stderr).toContain("[approval_unavailable]");
    expect((await ask("tools", "call", "shop")).code).toBe(2);
  });

  test("modules are listed and set", async () => {
    expect((await ask("module", "list")).stdout).toMatch(/\ntypescript-process +environment .* active/);
    expect((await ask("module", "config", "typescript-process", "memoryMb=192")).json()).toMatchObject({
      memoryMb: 192,
    });
    expect((await ask("module", "config", "typescript-process", "memoryMb=much")).code).toBe(2);
  });
});

describe("what is empty or wrong is said once", () => {
  test("a search without a hit, a state that is none, a policy that was made", async () => {
    const found = await ask("tools", "search", "zzqqxx", "--service", "shop");
    const isNearest = found.stdout.includes("shop.");
    expect(isNearest || found.stderr.includes('No tool was found for "zzqqxx" in the service shop.')).toBe(
      true,
    );
    const bogus = await ask("ps", "--state", "bogus");
    expect(bogus.code).toBe(2);
    expect(bogus.stderr.trim().split("\n")).toHaveLength(1);
    expect(bogus.stderr.match(/expected one of/g)).toHaveLength(1);
    const made = await ask("policies", "add", "block", "mail.*", "--expires", "24h");
    expect(made.stdout).toMatch(/^\S+\n$/);
    expect(made.stderr).toMatch(
      /^Added rule: block mail\.\*, for every role, ending in 2[34] h\. It applies after all others\.\n$/,
    );
    await ask("policies", "rm", made.stdout.trim());
  });
});

describe("access", () => {
  test("a key is printed alone, works, is listed and revoked", async () => {
    const made = await ask("keys", "create", "agent", "--scopes", "processes:read", "--expires", "1h");
    const key = made.stdout.trim();
    const as = (...args: string[]) => cyrnel(args, atServer({ environment: { CYRNEL_API_KEY: key } }));
    expect((await as("ps")).code).toBe(0);
    const refused = await as("keys", "list");
    expect(refused.code).toBe(77);
    expect(refused.stderr).toMatch(/\[forbidden\]\n$/);
    const [record] = (await ask("keys", "list", "--json")).json().keys;
    expect((await ask("keys", "revoke", record.id)).code).toBe(0);
    expect((await as("ps")).stderr).toMatch(/\[unauthorized\]\n$/);
  });

  test("roles and policies are made, listed and deleted", async () => {
    const role = (await ask("roles", "create", "reader", "--allow", "shop.list,mail.*")).stdout.trim();
    expect((await ask("roles", "list")).stdout).toContain("shop.list,mail.*");
    const policy = (
      await ask("policies", "add", "block", "shop.re*", "--role", role, "--expires", "1h")
    ).stdout.trim();
    expect((await ask("policies", "list")).stdout).toMatch(/block +shop\.re\*/);
    for (const args of [
      ["policies", "order", policy],
      ["policies", "rm", policy],
      ["roles", "rm", role],
    ]) {
      expect((await ask(...args)).code).toBe(0);
    }
    expect((await ask("policies", "add", "maybe", "a.b")).code).toBe(2);
  });

  test("the audit trail is listed and exported, into a file that was not there", async () => {
    expect((await ask("audit", "list", "--limit", "3")).stdout).toMatch(/^AT +ACTOR/);
    const file = `${folder.path}/audit.jsonl`;
    expect((await ask("audit", "export", "--action", "key.create", "-o", file)).code).toBe(0);
    const lines = (await readFile(file, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.every(({ action }) => action === "key.create")).toBe(true);
    const piped = await ask("audit", "export", "--action", "key.create");
    expect(piped.stdout.trim().split("\n").length).toBe(lines.length);
    expect((await ask("audit", "export", "-o", file)).stderr).toContain("[file_exists]");
  });
});

describe("what goes wrong is one line with a code", () => {
  test("no server", async () => {
    const nobody = createServer();
    await new Promise<void>((listening) => nobody.listen(0, "127.0.0.1", listening));
    const { port } = nobody.address() as { port: number };
    await new Promise((closed) => nobody.close(closed));
    const ended = await cyrnel(["ps", "--url", `http://127.0.0.1:${port}`]);
    expect(ended.code).toBe(69);
    expect(ended.stderr).toBe(
      `cyrnel: No server answers at http://127.0.0.1:${port} (ECONNREFUSED). Start one with cyrnel serve, or set CYRNEL_URL or --url to its address. [unreachable]\n`,
    );
  });

  test("lists without anything say so, and are empty lists as JSON", async () => {
    const empty: [string[], string][] = [
      [["ps"], "Nothing is running. To see ended runs: cyrnel ps --all\n"],
      [["approvals", "list"], "No approvals waiting.\n"],
      [
        ["keys", "list"],
        "No keys yet. Create one: cyrnel keys create <name> --scopes processes:write,processes:read\n",
      ],
      [["roles", "list"], "No roles yet: every key sees all tools.\n"],
    ];
    for (const [words, sentence] of empty) {
      const ended = await ask(...words);
      expect([ended.stdout, ended.stderr]).toEqual(["", sentence]);
      const { stdout, stderr } = await ask(...words, "--json");
      expect([Object.values(JSON.parse(stdout)), stderr]).toEqual([[[]], ""]);
    }
  });

  test("a wrong key, also from the command line", async () => {
    const ended = await ask("ps", "--key", "wrong-key-0123456789-abcdef");
    expect(ended.code).toBe(77);
    expect(ended.stderr).toMatch(
      /^cyrnel: Unauthorized: [^.]+\. Set CYRNEL_API_KEY or pass --key\. \[unauthorized\]\n$/,
    );
    expect(ended.stderr).not.toContain("wrong-key");
  });

  test("a script over the server's limit", async () => {
    const ended = await submit(`// ${"x".repeat(200_000)}`);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/^cyrnel: .*CYRNEL_MAX_CODE_SIZE_BYTES.*\[invalid_request\]\n$/);
  });
});
