/** Files that a script imports, with `cyrnel run`: from the script's folder, on this machine and on a server in both environments. */
import { rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { TEST_KEY } from "../harness/http-app.ts";
import { startToolsServer, type ToolsServer } from "../tools-server.ts";
import { type CommandOptions, cyrnel, type Ended, type Folder, makeFolder, startCyrnel } from "./cyrnel.ts";

let server: ToolsServer;
let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
  server = await startToolsServer({
    environment: { CYRNEL_API_KEY: TEST_KEY, CYRNEL_ISOLATION: "development" },
    environments: BUILTIN_MODULES.filter(({ type }) => type === "environment"),
  });
  await folder.write("outside.ts", "export const secret = 1;");
  await folder.write("project/package.json", "{}");
  await folder.write("project/lib/tax.ts", "export const tax = (net: number): number => net * 0.19;");
  await folder.write("project/src/rates.json", '{ "net": 100 }');
  await folder.write("project/src/note.md", "a note");
  await folder.write(
    "project/src/lib/fails.ts",
    "export function fail(): never {\n\n  throw new Error('no');\n}",
  );
  await folder.write("project/src/lib/wrong.ts", "export const a = 1;\nexport const b = = 2;");
  await folder.write("project/.env", "KEY=1");
  await symlink(join(folder.path, "outside.ts"), join(folder.path, "project/src/link.ts"));
  await symlink(join(folder.path, "project/.env"), join(folder.path, "project/src/env.txt"));
});
afterAll(async () => {
  await folder?.[Symbol.asyncDispose]();
  await server?.close();
});

const atServer = (options: CommandOptions = {}): CommandOptions => ({
  ...options,
  environment: { CYRNEL_URL: server.url, CYRNEL_API_KEY: TEST_KEY },
});

describe.each(["--local", "typescript-process", "typescript-ivm"])("%s", (where) => {
  beforeAll(async () => {
    if (where !== "--local") await server.post(`/modules/${where}/enabled`, { enabled: true });
  });

  const place = (args: string[], options: CommandOptions = {}): [string[], CommandOptions] =>
    where === "--local" ? [[...args, where], options] : [args, atServer(options)];
  const run = (args: string[], options: CommandOptions = {}): Promise<Ended> =>
    cyrnel(...place(["run", ...args], options));
  async function runScript(code: string, ...flags: string[]): Promise<Ended> {
    return run([await folder.write("project/src/script.ts", code), ...flags]);
  }

  test("code, JSON and texts are found beside the script, and lie in its workspace", async () => {
    const ended = await runScript(
      `import rates from "./rates.json"; import note from "./note.md";
      return [rates.net, note, (await cyrnel.files.list()).map(({ name }) => name)];`,
    );
    expect([ended.stderr, ended.stdout]).toEqual(["", '[100,"a note",["note.md","rates.json"]]\n']);
  });

  test("a file above the script is found in the project, and a module that imports the script finds it", async () => {
    await folder.write(
      "project/lib/back.ts",
      'import { one } from "../src/script.ts"; export const two = () => one + 1;',
    );
    const ended = await runScript(
      `import { tax } from "../lib/tax.ts"; import { two } from "/lib/back.ts"; import { net } from "./rates.json";
      export const one = 1; export default () => [tax(net), two()];`,
    );
    expect([ended.stderr, ended.stdout]).toEqual(["", "[19,2]\n"]);
  });

  test("errors name the file as it lies beside the script, with line and column", async () => {
    const thrown = await runScript('import { fail } from "./lib/fails.ts";\nfail();', "--json");
    expect(thrown.json()).toMatchObject({ exitState: "failed", exitCode: 1 });
    expect(thrown.json().errorDetail).toMatchObject({ file: "lib/fails.ts", line: 3, column: 9 });
    expect(thrown.json().errorDetail.stack).toMatch(/lib\/fails\.ts:3:9.*\n.*script\.ts:2:1/);
    const wrong = await runScript('import { b } from "./lib/wrong.ts";\nreturn b;');
    expect(wrong.stderr).toMatch(/^cyrnel: SyntaxError: .*\(lib\/wrong\.ts:2:18\) \[syntax_error\]\n$/);
    expect(wrong.code).toBe(1);
    const missing = await runScript('import { b } from "./lib/none.ts";');
    expect(missing.stderr).toContain("looked for lib/none.ts");
    expect(missing.stderr).toContain("script.ts:1:");
  });

  test("a file that is no text is refused at its import, from the folder and from --dir", async () => {
    const says = 'logo.png is not UTF-8 text: read its bytes with cyrnel.files.read("logo.png")';
    const script = '\nimport logo from "./logo.png"; return logo';
    await folder.write("images/logo.png", Uint8Array.of(0x89, 0xff));
    const given = await runScript(script, "--dir", join(folder.path, "images"));
    expect([given.code, given.stderr]).toEqual([1, expect.stringContaining(says)]);
    await folder.write("project/src/logo.png", Uint8Array.of(0x89, 0xff));
    const { code, stderr } = await runScript(script);
    await rm(join(folder.path, "project/src/logo.png"));
    expect([code, stderr]).toEqual([1, expect.stringContaining(says)]);
    expect(stderr).toContain("script.ts:2:1");
  });

  test("standard input has the current folder, and --root widens or narrows what may be read", async () => {
    const cwd = join(folder.path, "project/src");
    const piped = await run(["-"], { cwd, input: 'import { net } from "./rates.json"; return net' });
    expect([piped.stderr, piped.stdout]).toEqual(["", "100\n"]);
    const script = await folder.write(
      "project/src/script.ts",
      'import { secret } from "../../outside.ts"; return secret',
    );
    const refused = await run([script]);
    expect(refused.stderr).toContain("is outside of the workspace");
    expect(refused.code).toBe(1);
    const wider = await run([script, "--root", folder.path]);
    expect([wider.stderr, wider.stdout]).toEqual(["", "1\n"]);
    await folder.write("project/src/script.ts", 'import { tax } from "../lib/tax.ts"; return tax(1)');
    expect((await run([script, "--root", cwd])).stderr).toContain("is outside of the workspace");
    const other = await run([script, "--root", join(folder.path, "project/lib")]);
    expect([other.code, other.stderr]).toEqual([
      2,
      expect.stringContaining("The script must be inside --root"),
    ]);
  });

  test.each([
    {
      what: "an absolute path is one of the root",
      code: `import "/etc/passwd"`,
      says: "looked for etc/passwd",
      exit: 1,
    },
    { what: "a link out of the root", code: `import "./link.ts"`, says: "is a link to", exit: 2 },
    {
      what: "a hidden file",
      code: `import t from "../.env" with { type: "text" }`,
      says: "it is hidden",
      exit: 2,
    },
    { what: "a link to a hidden file", code: `import t from "./env.txt"`, says: "it is hidden", exit: 2 },
    {
      what: "a file that a literal import() names",
      code: `await import("./link.ts")`,
      says: "is a link to",
      exit: 2,
    },
  ])("nothing else is read: $what", async ({ code, says, exit }) => {
    const ended = await runScript(code);
    expect(ended.stderr).toContain(says);
    expect([ended.code, ended.stdout]).toEqual([exit, ""]);
  });

  test("a script in a hidden folder imports what lies beside it", async () => {
    await folder.write("project/.ci/lib.ts", "export const one = 1;");
    const ended = await run([
      await folder.write("project/.ci/check.ts", 'import { one } from "./lib.ts"; return one'),
    ]);
    expect([ended.stderr, ended.stdout]).toEqual(["", "1\n"]);
  });

  test("--dir files can be imported; one name with two contents is refused with both", async () => {
    await folder.write("data/given.ts", 'import { net } from "./rates.json"; export const half = net / 2;');
    const data = join(folder.path, "data");
    const ended = await runScript('import { half } from "./given.ts"; return half', "--dir", data);
    expect([ended.stderr, ended.stdout]).toEqual(["", "50\n"]);
    await folder.write("same/rates.json", '{ "net": 100 }');
    const script = 'import { net } from "./rates.json"; return net';
    expect((await runScript(script, "--dir", join(folder.path, "same"))).stdout).toBe("100\n");
    await folder.write("other/rates.json", '{ "net": 200 }');
    const refused = await runScript(script, "--dir", join(folder.path, "other"));
    expect(refused.stderr).toMatch(
      /rates\.json of --dir and .*project\/src\/rates\.json.* have different contents/,
    );
    expect(refused.code).toBe(2);
  });
});

test.each(["--local", "on a server"])(
  "--watch runs again when an imported file changes, %s",
  async (where) => {
    await folder.write("project/src/watched/value.ts", "export const value = 1;");
    const script = await folder.write(
      "project/src/watching.ts",
      'import { value } from "./watched/value.ts"; return value',
    );
    const started = startCyrnel(
      ["run", script, "--watch", ...(where === "--local" ? [where] : [])],
      atServer(),
    );
    // Changes are noted from before the first run on.
    while (!started.stdout().includes("1\n")) await sleep(20);
    await folder.write("project/src/watched/value.ts", "export const value = = 2;");
    while (!started.stderr().includes("watched/value.ts:1:22")) await sleep(20);
    await folder.write("project/src/watched/value.ts", "export const value = 2;");
    while (!started.stdout().includes("2\n")) await sleep(20);
    started.child.kill("SIGINT");
    expect((await started.ended).code).toBe(0);
  },
);
