/** Packages in scripts on this machine: those installed nearest to the script, up to the root, by the client and the command. */
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRuntime } from "#client/index.ts";
import { cyrnel, type Folder, makeFolder } from "./command/cyrnel.ts";

let folder: Folder;
async function install(place: string, name: string, version: string, code: string): Promise<void> {
  await folder.write(`${place}node_modules/${name}/package.json`, JSON.stringify({ name, version }));
  await folder.write(`${place}node_modules/${name}/index.js`, code);
}
beforeAll(async () => {
  folder = await makeFolder();
  await install("", "outside", "1.0.0", "module.exports = 'outside'");
  await folder.write("project/package.json", "{}");
  await install(
    "project/",
    "greet",
    "2.3.4",
    "exports.greet = (name) => 'Hello ' + name; exports.place = 'root'",
  );
  await install("project/", "@team/parts", "1.0.0", "exports.parts = require('greet').greet('parts')");
  await install("project/src/", "near", "0.1.0", "module.exports = 'near'");
  await mkdir(join(folder.path, "project/src"), { recursive: true });
});
afterAll(async () => {
  await folder?.[Symbol.asyncDispose]();
});

test("a runtime of the client takes them from a folder, and has none without one", async () => {
  await using runtime = createRuntime({
    local: true,
    packages: { folder: join(folder.path, "project/src"), root: join(folder.path, "project") },
  });
  const run = async (code: string) => {
    const { value, error } = await runtime.execute(code);
    return error ?? value;
  };
  expect(
    await run(
      'import { greet, place } from "greet"; import { parts } from "@team/parts"; import near from "npm:near@^0.1"; return [greet("you"), place, parts, near]',
    ),
  ).toEqual(["Hello you", "root", "Hello parts", "near"]);
  expect(await run('import "npm:greet@3"')).toMatch(/greet@3 is not installed here: greet@2\.3\.4 is/);
  expect(await run('import "great"')).toMatch(
    /"great" is not installed in a node_modules.*Did you mean "greet"\?/,
  );
  expect(await run('import "outside"')).toMatch(/"outside" is not installed/);
  expect(await run('import "@team/part"')).toMatch(/Did you mean "@team\/parts"\?/);
  await using without = createRuntime({ local: true });
  expect((await without.execute('import "greet"')).error).toMatch(/packages are not available/);
});

describe("cyrnel run --local", () => {
  test("has what every server has, unless the script's project has its own", async () => {
    const script = await folder.write(
      "alone/table.ts",
      'import Papa from "papaparse"; import { z } from "npm:zod@4";\nreturn [Papa.parse("a,b\\n1,2", { header: true }).data, z.int().parse(3)]',
    );
    const run = () => cyrnel(["run", script, "--local", "--isolation", "development"]);
    expect((await run()).json()).toEqual([[{ a: "1", b: "2" }], 3]);
    await folder.write("alone/package.json", "{}");
    await install("alone/", "papaparse", "1.0.0", "exports.parse = () => ({ data: 'own' })");
    expect((await run()).json()).toEqual(["own", 3]);
    await folder.write("alone/table.ts", 'import "papaparze"');
    expect((await run()).stderr).toContain('Did you mean "papaparse"?');
    await folder.write("alone/table.ts", 'import "npm:zod@1"');
    expect((await run()).stderr).toMatch(/zod@1 is not installed here: zod@4\.\S+ is/);
  });

  test("finds them from the script's folder up to the project", async () => {
    const script = await folder.write(
      "project/src/script.ts",
      'import { greet } from "greet"; import near from "near"; import { x } from "./lib.ts";\nreturn [greet("you"), near, x]',
    );
    await folder.write("project/src/lib.ts", 'export { place as x } from "greet";');
    const ended = await cyrnel(["run", script, "--local", "--isolation", "development"]);
    expect(ended.stderr).not.toMatch(/rror/);
    expect(ended.json()).toEqual(["Hello you", "near", "root"]);
  });

  test("an error in one names its file; one that is not there is an error of the script", async () => {
    const script = await folder.write(
      "project/src/fails.ts",
      'import { greet } from "greet";\ntry {\n  greet(Symbol());\n} catch (error) {\n  return error.stack;\n}',
    );
    const ended = await cyrnel(["run", script, "--local", "--isolation", "development"]);
    expect(ended.json()).toMatch(/greet@2\.3\.4\/index\.js:1:\d+\)\n.*script\.ts:3:3/);
    const absent = await folder.write("project/src/absent.ts", 'import x from "outside"; return x');
    expect((await cyrnel(["run", absent, "--local", "--isolation", "development"])).stderr).toMatch(
      /"outside" is not installed[\s\S]*absent\.ts:1:1/,
    );
  });

  describe("in a workspace", () => {
    const run = async (script: string, ...flags: string[]) => {
      const place = await folder.write(script, SCRIPT);
      return cyrnel(["run", place, "--local", "--isolation", "development", ...flags]);
    };
    const SCRIPT = `const found = {};
      try { found.hoisted = (await import("hoisted")).default; } catch (error) { found.hoisted = error.message; }
      try { found.outside = (await import("outside")).default; } catch (error) { found.outside = error.message; }
      try { found.linked = (await import("linked")).default; } catch (error) { found.linked = error.message; }
      return found;`;
    const absent = expect.stringContaining("is not installed");

    test.each<[what: string, root: Record<string, string>]>([
      ["of npm", { "package.json": '{"workspaces":["packages/*"]}' }],
      ["of pnpm", { "pnpm-workspace.yaml": "packages: ['packages/*']\n" }],
      ["in a repository", { ".git/HEAD": "" }],
    ])("%s, packages are found up to its root, and not above", async (what, root) => {
      const top = `${what.replaceAll(" ", "-")}/`;
      for (const [name, text] of Object.entries(root)) await folder.write(top + name, text);
      await folder.write(`${top}packages/own/package.json`, "{}");
      await install(top, "hoisted", "1.0.0", "module.exports = 'hoisted'");
      // As pnpm lays packages out: a link to where those are that one needs itself.
      await install(
        `${top}node_modules/.pnpm/linked@1.0.0/`,
        "linked",
        "1.0.0",
        "module.exports = 'linked ' + require('needed')",
      );
      await install(`${top}node_modules/.pnpm/linked@1.0.0/`, "needed", "1.0.0", "module.exports = 'needed'");
      await mkdir(join(folder.path, `${top}packages/own/node_modules`), { recursive: true });
      await symlink(
        "../../../node_modules/.pnpm/linked@1.0.0/node_modules/linked",
        join(folder.path, `${top}packages/own/node_modules/linked`),
      );
      expect((await run(`${top}packages/own/script.ts`)).json()).toEqual({
        hoisted: "hoisted",
        linked: "linked needed",
        outside: absent,
      });
    });

    test("--root bounds packages, too; files are imported from the project only", async () => {
      await folder.write("bounded/package.json", '{"workspaces":["own"]}');
      await folder.write("bounded/own/package.json", "{}");
      await install("bounded/", "hoisted", "1.0.0", "module.exports = 'hoisted'");
      await mkdir(join(folder.path, "bounded/own/node_modules"));
      await symlink("../../node_modules/hoisted", join(folder.path, "bounded/own/node_modules/linked"));
      const ended = await run("bounded/own/script.ts", "--root", join(folder.path, "bounded/own"));
      expect(ended.json()).toEqual({
        hoisted: absent,
        linked: expect.stringContaining("outside of the packages folder"),
        outside: absent,
      });
      await folder.write("bounded/above.ts", "export const x = 1;");
      const above = await folder.write("bounded/own/above.ts", 'import { x } from "../above.ts"; return x;');
      expect((await cyrnel(["run", above, "--local", "--isolation", "development"])).stderr).toContain(
        "above.ts",
      );
    });

    test("a node_modules that is a link out of it is not looked into", async () => {
      await folder.write("linking/package.json", "{}");
      await symlink("../node_modules", join(folder.path, "linking/node_modules"));
      expect((await run("linking/script.ts")).json()).toMatchObject({ outside: absent });
    });
  });
});
