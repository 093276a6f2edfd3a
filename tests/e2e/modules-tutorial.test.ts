/** The tutorial of docs/modules.md, typed as it stands: its files written, its commands run, their answers compared. */

import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TSC } from "#tests/checks/packages.ts";
import { compare, DEFAULT_ORIGIN, readBlocks, type } from "./pages.ts";
import { PERSONAL_ENVIRONMENT, PROJECT, type StartedServer, startServer } from "./started-server.ts";

const FILES = "http://127.0.0.1:8000";
const hasTools = ["curl", "tar", "zstd"].every((tool) => spawnSync(tool, ["--version"]).status === 0);

const steps = await readBlocks("docs/modules.md");
const files = steps.filter(({ info }) => info.includes(" file="));
const commands = steps.filter(({ info }) => info === "bash runnable");

let folder: string;
let server: StartedServer;
let web: Server;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "cyrnel-tutorial-"));
  for (const { info, body } of files) {
    const file = path.join(folder, info.split(" file=")[1] ?? "");
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, body);
  }
  web = createServer(async (request, response) => {
    const content = await readFile(path.join(folder, path.basename(request.url ?? ""))).catch(() => null);
    response.writeHead(content === null ? 404 : 200).end(content);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => web.once("listening", resolve));
  server = await startServer(path.join(folder, ".cyrnel"), { CYRNEL_EGRESS_ALLOW: "127.0.0.1" });
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  web?.closeAllConnections();
  web?.close();
  await rm(folder, { recursive: true, force: true });
});

test("every block of the page is a file, a command or an answer", () => {
  expect(files.length).toBe(3);
  expect(commands.length).toBeGreaterThan(7);
  expect(files.length + commands.length).toBe(steps.length);
});

test("its TypeScript type-checks against the contract", async () => {
  const configuration = {
    extends: path.join(PROJECT, "tsconfig.json"),
    compilerOptions: {
      paths: { "@cyrnel/sdk": [path.join(PROJECT, "sdk/index.ts")] },
      typeRoots: [path.join(PROJECT, "node_modules/@types")],
    },
    include: ["phrases/*.mts"],
  };
  await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify(configuration));
  await symlink(path.join(PROJECT, "node_modules"), path.join(folder, "node_modules"));
  const outcome = await promisify(execFile)(process.execPath, [TSC, "--noEmit", "-p", folder]).catch(
    (error: { stdout: string }) => error,
  );
  await rm(path.join(folder, "node_modules"));
  await rm(path.join(folder, "tsconfig.json"));
  expect(outcome.stdout).toBe("");
});

// In the order of the page: each builds on those before.
test.runIf(hasTools).each(commands)("$body", async ({ body, shown }) => {
  const typed = body
    .replaceAll(DEFAULT_ORIGIN, server.origin)
    .replaceAll(FILES, `http://127.0.0.1:${(web.address() as AddressInfo).port}`);
  compare(shown, await type(typed, { cwd: folder, environment: PERSONAL_ENVIRONMENT }));
});

test("what is left at the end is the installed module, and nothing half done", async () => {
  const { body } = await server.request("GET", "/modules?isBuiltin=false");
  expect(body.modules.map((module: { id: string }) => module.id)).toEqual(["phrases"]);
  expect((await server.request("GET", "/services")).body.services).toEqual([]);
});
