/** Commands that start programs of the server, the launcher under other Nodes, completions and help. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, copyFile, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { CYRNEL, cyrnel, type Folder, makeFolder, PROJECT, startCyrnel } from "./cyrnel.ts";

const KEY = "command-key-0123456789-abcdefghij";
let folder: Folder;
let database: TestDatabase;
beforeAll(async () => {
  [folder, database] = await Promise.all([makeFolder(), createTestDatabase()]);
});
afterAll(async () => {
  await folder?.[Symbol.asyncDispose]();
  await database?.drop();
});

/** Hides the library from the command given to it, in a mount namespace. */
const WITHOUT_LIBATOMIC = `set -e
libraries=$(dirname "$(ldconfig -p | sed -n 's/.*libatomic.so.1 .*=> //p' | head -n 1)")
libraries=$(readlink -f "$libraries")
mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work
mount -t overlay overlay -o "lowerdir=$libraries,upperdir=/mnt/upper,workdir=/mnt/work" "$libraries"
rm "$libraries"/libatomic.so.1*
exec "$@"
`;

const settings = () => ({ DATABASE_URL: database.url, CYRNEL_API_KEY: KEY, CYRNEL_DATA_DIR: folder.path });

test("serve is the server, mcp reaches it, and Ctrl-C stops it in order", async () => {
  // It builds what has to be built first, wherever it is started.
  const serving = startCyrnel(["serve", "--port", "0"], { environment: settings(), cwd: folder.path });
  let url = "";
  while (url === "") {
    url = /listening on (\S+)/.exec(serving.stderr())?.[1] ?? "";
    if (serving.child.exitCode !== null) throw new Error(serving.stderr());
    await sleep(50);
  }
  expect(serving.stderr()).not.toContain("failed");
  const environment = { CYRNEL_URL: url, CYRNEL_API_KEY: KEY };
  expect((await cyrnel(["run", "-"], { input: "return 6 * 7", environment })).stdout).toBe("42\n");
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  };
  const mcp = startCyrnel(["mcp"], { input: `${JSON.stringify(initialize)}\n`, isOpen: true, environment });
  while (!mcp.stdout().includes("\n")) await sleep(20);
  expect(JSON.parse(mcp.stdout())).toMatchObject({ id: 1, result: { serverInfo: {} } });
  mcp.child.stdin?.end();
  expect((await mcp.ended).code).toBe(0);
  serving.child.kill("SIGINT");
  const ended = await serving.ended;
  expect(ended.code).toBe(0);
  expect(ended.stderr).toContain("SIGINT: stopping");
});

test("serve with wrong settings ends with 78", async () => {
  const ended = await cyrnel(["serve", "--port", "none"], { environment: settings() });
  expect(ended.code).toBe(78);
  expect(ended.stderr).toContain("PORT");
});

test("secrets rotate works on the database itself", async () => {
  const key = Buffer.from("0a1f9c37e2b48d56f1c07a93be6422d8517fe0ac3b9d6482c5f70e19a8d35b64", "hex");
  const ended = await cyrnel(["secrets", "rotate"], {
    environment: { ...settings(), CYRNEL_SECRETS_KEY: key.toString("base64") },
  });
  expect(ended.stderr).toMatch(/0 rows were encrypted/);
  expect(ended.code).toBe(0);
});

describe("doctor", () => {
  test("shows every layer, the database and the egress rules", async () => {
    const ended = await cyrnel(["doctor"], {
      environment: { ...settings(), CYRNEL_EGRESS_ALLOW: "10.0.0.0/8" },
    });
    for (const text of [
      "ok   2 birth jail, required",
      "Each is forked from a prepared one",
      "its schema is up to date",
      "allowed: 10.0.0.0/8",
      "is available.",
    ]) {
      expect(ended.stdout).toContain(text);
    }
    expect(ended.code).toBe(0);
  });

  test("fails for what a server could not start with, as JSON too", async () => {
    const nowhere = database.url.replace(/\/[^/?]+(\?|$)/, "/no_such_database$1");
    const ended = await cyrnel(["doctor", "--json"], {
      environment: { ...settings(), DATABASE_URL: nowhere, CYRNEL_ISOLATION: "development" },
    });
    expect(ended.code).toBe(1);
    expect(ended.json()).toMatchObject({
      ok: false,
      database: { ok: false },
      isolation: { obtained: "development" },
    });
    expect(ended.stdout).not.toContain(KEY);
    const broken = await cyrnel(["doctor"], {
      environment: { ...settings(), PORT: "x", CYRNEL_ISOLATION: "development" },
    });
    expect(broken.code).toBe(1);
    expect(broken.stdout).toContain("FAIL PORT:");
  });
});

describe("mcp install", () => {
  const LAUNCHER = path.join(PROJECT, "command/cyrnel");
  const install = (HOME: string, ...args: string[]) =>
    cyrnel(["mcp", "install", ...args], {
      environment: { HOME, CYRNEL_URL: "http://127.0.0.1:9", CYRNEL_API_KEY: KEY },
    });

  test.each([
    ["claude-code", ".claude.json", "mcpServers"],
    ["claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"],
    ["cursor", ".cursor/mcp.json", "mcpServers"],
    ["vscode", ".config/Code/User/mcp.json", "servers"],
  ])("adds the command to the settings of %s and keeps the rest", async (client, name, servers) => {
    const home = path.join(folder.path, "home", client);
    const file = path.join(home, name);
    const added = await install(home, client);
    expect(added).toMatchObject({ code: 0, stdout: `Added cyrnel to ${file}. Restart the client.\n` });
    const { [servers]: made } = JSON.parse(await readFile(file, "utf8"));
    expect(made.cyrnel).toEqual({
      ...(client === "vscode" && { type: "stdio" }),
      command: LAUNCHER,
      args: ["mcp"],
      env: { CYRNEL_URL: "http://127.0.0.1:9", CYRNEL_API_KEY: KEY },
    });
    const before = { theme: "dark", [servers]: { other: { command: "x" }, cyrnel: { command: "old" } } };
    await writeFile(file, JSON.stringify(before), { mode: 0o644 });
    expect((await install(home, client)).code).toBe(0);
    const after = { ...before, [servers]: { other: { command: "x" }, cyrnel: made.cyrnel } };
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual(after);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(path.dirname(file))).toEqual([path.basename(file)]);
  });

  test("follows a link instead of replacing it", async () => {
    const home = path.join(folder.path, "linked");
    await mkdir(path.join(home, ".cursor"), { recursive: true });
    const real = await folder.write("dotfiles.json", "{}");
    await symlink(real, path.join(home, ".cursor/mcp.json"));
    expect((await install(home, "cursor")).code).toBe(0);
    expect((await lstat(path.join(home, ".cursor/mcp.json"))).isSymbolicLink()).toBe(true);
    expect(await readFile(real, "utf8")).toContain(LAUNCHER);
  });

  test.each([
    ["has comments", '{ // mine\n "servers": {} }', "it is not a JSON object"],
    ["is a list", "[]", "it is not a JSON object"],
    ["has no object of servers", '{"servers": "none"}', "it is not a JSON object"],
    ["is a folder", null, "EISDIR"],
  ])("prints what to add, without the key, where the file %s", async (what, content, reason) => {
    const home = path.join(folder.path, what);
    const file = path.join(home, ".config/Code/User/mcp.json");
    await mkdir(content === null ? file : path.dirname(file), { recursive: true });
    if (content !== null) await writeFile(file, content);
    const ended = await install(home, "vscode");
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`${file} was not changed: ${reason}`);
    expect(ended.json().servers.cyrnel).toMatchObject({ command: LAUNCHER, args: ["mcp"] });
    expect(ended.stdout + ended.stderr).not.toContain(KEY);
    if (content !== null) expect(await readFile(file, "utf8")).toBe(content);
  });

  test("--print writes nothing, and an unknown client is refused with the known ones", async () => {
    const home = path.join(folder.path, "untouched");
    const printed = await install(home, "cursor", "--print");
    expect([printed.code, Object.keys(printed.json())]).toEqual([0, ["mcpServers"]]);
    expect(printed.stdout).not.toContain(KEY);
    expect(existsSync(home)).toBe(false);
    const unknown = await install(home, "emacs");
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("claude-code, claude-desktop, cursor");
  });
});

describe("the launcher", () => {
  test("finds its way through links and from any folder", async () => {
    const link = path.join(folder.path, "cyrnel-link");
    execFileSync("ln", ["-s", CYRNEL, link]);
    const version = (await cyrnel(["--version"])).stdout;
    expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await cyrnel(["--version"], { program: [link], cwd: "/" })).stdout).toBe(version);
    expect((await cyrnel(["--version"], { program: ["sh", CYRNEL], cwd: folder.path })).stdout).toBe(version);
  });

  test("passes exit codes and Ctrl-C on", async () => {
    expect((await cyrnel(["nothing"])).code).toBe(2);
    const started = startCyrnel(["run", "-", "--local"], {
      input: 'console.log("up"); await new Promise(() => setTimeout(() => {}, 60_000));',
    });
    while (!started.stdout().includes("up")) await sleep(20);
    started.child.kill("SIGINT");
    expect((await started.ended).code).toBe(6);
  });

  test.each([
    ["v20.0.0", 'echo "v20.0.0"'],
    ["not installed", "exit 127"],
  ])("says what to do where Node is %s", async (found, says) => {
    const bare = path.join(folder.path, "bare/command");
    await mkdir(bare, { recursive: true });
    await copyFile(CYRNEL, path.join(bare, "cyrnel"));
    await chmod(await folder.write("node", `#!/bin/sh\n${says}\n`), 0o755);
    const ended = await cyrnel(["--version"], {
      program: [path.join(bare, "cyrnel")],
      environment: { PATH: `${folder.path}:${process.env.PATH}` },
    });
    expect(ended.code).toBe(69);
    expect(ended.stderr).toContain(`cyrnel: Node 26 is needed; this is ${found}, `);
    expect(ended.stderr).toMatch(/ Run npm ci in .* \[node_missing\]\n$/);
  });

  test.skipIf(process.getuid?.() !== 0).each([
    ["the command", [CYRNEL, "--version"]],
    ["npm start", ["npm", "start"]],
  ])("says which package to install where %s finds no libatomic", async (_what, command) => {
    const script = await folder.write("without.sh", WITHOUT_LIBATOMIC);
    const ended = await cyrnel(["-m", "sh", script, ...command], {
      program: ["unshare"],
      // Without the pinned Node, which npm itself would be started with.
      environment: {
        HOME: folder.path,
        PATH: (process.env.PATH ?? "").replaceAll(/[^:]*node_modules[^:]*:/g, ""),
      },
    });
    expect(ended.code).toBe(69);
    expect(ended.stderr).toMatch(
      /^cyrnel: Node cannot start: .*libatomic\.so\.1: .* apt-get install libatomic1 .*\[node_missing\]$/m,
    );
  });

  test("is what npx starts", async () => {
    const ended = await cyrnel(["cyrnel", "--version"], {
      program: ["npx"],
      environment: { HOME: folder.path },
    });
    expect(ended.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(existsSync(path.join(PROJECT, "node_modules/.bin/cyrnel"))).toBe(true);
  });
});

describe("help and completions", () => {
  test("every command explains itself", async () => {
    const all = await cyrnel(["--help"]);
    expect(all.stdout).toContain("Examples:");
    for (const args of [["run"], ["service", "add"], ["approvals", "approve"], ["audit", "export"]]) {
      const ended = await cyrnel([...args, "--help"]);
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      expect(ended.stdout).toContain(`Usage: cyrnel ${args.join(" ")}`);
    }
  });

  test("bash completes commands, sub-commands, options and choices", async () => {
    const { stdout: script } = await cyrnel(["completion", "bash"]);
    const complete = async (...words: string[]) => {
      const line = ["cyrnel", ...words].map((word) => `"${word}"`).join(" ");
      const program = `PATH="${folder.path}/bin:$PATH"\n${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length}; _cyrnel; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return (await cyrnel(["-c", program], { program: ["bash", "--norc"] })).stdout.trim().split("\n");
    };
    await mkdir(path.join(folder.path, "bin"), { recursive: true });
    execFileSync("ln", ["-sf", CYRNEL, path.join(folder.path, "bin/cyrnel")]);
    expect(await complete("ser")).toEqual(["service", "serve"]);
    expect(await complete("service", "e")).toEqual(["enable"]);
    expect(await complete("run", "--is")).toEqual(["--isolation"]);
    expect(await complete("run", "x.ts", "--isolation", "st")).toEqual(["strict", "standard"]);
  });

  test("zsh and fish have theirs; another shell is told which there are", async () => {
    expect((await cyrnel(["completion", "zsh"])).stdout).toMatch(/^#compdef cyrnel/);
    expect((await cyrnel(["completion", "fish"])).stdout).toContain("complete -c cyrnel");
    expect((await cyrnel(["completion", "tcsh"])).code).toBe(2);
  });
});
