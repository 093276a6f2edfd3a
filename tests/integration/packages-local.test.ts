/** Packages in scripts on this machine: those installed nearest to the script, up to the root, by the client and the command. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRuntime } from "#client/index.ts";
import { cyrnel, type Folder, makeFolder } from "./command/cyrnel.ts";

let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
  const install = async (place: string, name: string, version: string, code: string) => {
    await folder.write(`${place}node_modules/${name}/package.json`, JSON.stringify({ name, version }));
    await folder.write(`${place}node_modules/${name}/index.js`, code);
  };
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
  await using without = createRuntime({ local: true });
  expect((await without.execute('import "greet"')).error).toMatch(/packages are not available/);
});

describe("cyrnel run --local", () => {
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
});
