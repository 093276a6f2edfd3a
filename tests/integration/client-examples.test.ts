/** The client where it is used: bundled for a browser, type-checked without Node, and as the examples use it. */

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TSC } from "#tests/checks/packages.ts";
import { fetchProgram } from "#tests/fetched-program.ts";
import { SECRETS_KEY } from "./services-server.ts";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

const PROJECT = path.resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

let server: ToolsServer;
beforeAll(async () => {
  server = await startToolsServer({
    environment: {
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
    ],
  });
  await server.addService("shop", { remove: { destructive: true, invoke: () => "removed" } });
});
afterAll(() => server?.close());

async function runExample(name: string, ...args: string[]): Promise<string> {
  return runWith(process.execPath, [path.join(PROJECT, "examples/client", name), ...args]);
}

async function runWith(program: string, args: string[]): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-client-"));
  try {
    const { stdout } = await run(program, args, {
      cwd: PROJECT,
      // Deno and Bun keep what they have made of sources in the home folder.
      env: { PATH: process.env.PATH, CYRNEL_URL: server.url, HOME: folder },
    });
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const RUN_PRINTED = /^step 1\nstep 2\nstep 3\nsuccess \{"steps":3\} \d+ ms of CPU\nlatest: \d+ success/;

test("examples/client/run.ts shows the output, the result and the list", async () => {
  expect(await runExample("run.ts")).toMatch(RUN_PRINTED);
});

const OTHERS = [
  {
    name: "Deno",
    package: "@deno/linux-x64-glibc@2.9.6",
    sha512: "3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ==",
    member: "deno",
    flags: (host: string) => ["--no-prompt", `--allow-net=${host}`, "--allow-env=CYRNEL_URL,CYRNEL_API_KEY"],
  },
  {
    name: "Bun",
    package: "@oven/bun-linux-x64@1.4.5",
    sha512: "IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g==",
    member: "bin/bun",
    flags: () => [],
  },
];

test.for(OTHERS)(
  "examples/client/run.ts does the same in $name (skipped where npm cannot fetch it)",
  {
    timeout: 180_000,
  },
  async ({ flags, ...source }, { skip }) => {
    const found = await fetchProgram(source);
    if ("reason" in found) return skip(found.reason);
    const file = path.join(PROJECT, "examples/client/run.ts");
    const args = ["run", ...flags(new URL(server.url).host), file];
    expect(await runWith(found.program, args)).toMatch(RUN_PRINTED);
  },
);

test("examples/client/approve.ts decides and reads the result", async () => {
  const stdout = await runExample("approve.ts", 'return await tools.shop.remove({ name: "rope" })');
  expect(stdout).toBe('tools: shop.remove\nshop.remove {"name":"rope"}? yes\nsuccess "removed"\n');
});

test("examples/client/local.ts needs no server", async () => {
  expect(await runExample("local.ts")).toBe('shop.remove {"name":"rope"}? yes\nsuccess 1 tea\n');
});

test("the examples and the client itself type-check, the client without any type of Node", async () => {
  await Promise.all(
    ["client", "examples/client"].map((folder) => run(TSC, ["-p", folder], { cwd: PROJECT })),
  );
  const { stdout } = await run(TSC, ["-p", "client", "--listFilesOnly"], { cwd: PROJECT });
  expect(stdout).toContain("client/local-unavailable.ts");
  expect(stdout).not.toContain("@types/node");
  expect(stdout).not.toContain("client/local/");
});

test("a bundle for browsers holds nothing of Node or of the server, and works", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [path.join(PROJECT, "client/index.ts")],
    absWorkingDir: PROJECT,
    bundle: true,
    format: "esm",
    platform: "browser",
    minify: true,
    write: false,
    metafile: true,
  });
  const inputs = Object.keys(metafile.inputs).filter((file) => !file.startsWith("node_modules/"));
  expect(inputs.length).toBeGreaterThan(8);
  expect(inputs.filter((file) => !file.startsWith("client/") || file.startsWith("client/local/"))).toEqual(
    [],
  );
  const [output] = outputFiles;
  expect(output?.contents.length).toBeLessThan(40_000);
  const client = await import(
    `data:text/javascript;base64,${Buffer.from(output?.text ?? "").toString("base64")}`
  );
  const record = await client.createClient({ url: server.url }).run("return 40 + 2");
  expect(record.result).toBe(42);
  expect(() => client.createRuntime({ local: true })).toThrow(/needs Node/);
});
