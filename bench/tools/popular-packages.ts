/**
 * `npm run bench -- popular [name…]`: installs a hundred popular packages from the registry that npm is configured with, uses each in a
 * run, and writes the table in docs/packages.md; of some by name it only prints. Exit code 1 if fewer than 85 of all can be used. Takes
 * ten minutes and the network.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SMOKES } from "./popular-list.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const PAGE = path.join(ROOT, "docs/packages.md");
const START = "<!-- popular packages: made by bench/tools/popular-packages.ts -->";
const END = "<!-- end of popular packages -->";

const MIN_PASSED = 85;

interface Result {
  name: string;
  version: string | null;
  problem: string | null;
}

const port = await new Promise<number>((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const address = probe.address();
    probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
  });
});
const url = `http://127.0.0.1:${port}`;
const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-popular-"));
const server = spawn(process.execPath, ["api/main.ts"], {
  cwd: ROOT,
  stdio: "ignore",
  env: {
    ...process.env,
    PORT: String(port),
    CYRNEL_DATA_DIR: folder,
    CYRNEL_NPM_REGISTRY: execFileSync("npm", ["config", "get", "registry"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim(),
    CYRNEL_EGRESS_ALLOW: "0.0.0.0/0",
  },
});

async function ask(method: string, place: string, body?: unknown) {
  const answer = await fetch(url + place, {
    method,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    }),
  });
  return answer.json();
}

async function tryPackage(name: string, smoke: string): Promise<Result> {
  let installation = await ask("POST", "/packages", { name });
  while (installation.state === "running") {
    await sleep(200);
    installation = await ask("GET", `/package-installations/${installation.id}`);
  }
  const { version, error } = installation;
  if (error !== null) return { name, version, problem: error };
  const code = `const all = await import(${JSON.stringify(name)}); const it = all.default ?? all; ${smoke}`;
  const run = await ask("POST", "/processes", { code, block: true });
  if (run.exitState !== "success") return { name, version, problem: `using it: ${run.error}` };
  return {
    name,
    version,
    problem: run.result === true ? null : `using it answered ${JSON.stringify(run.result)}`,
  };
}

try {
  while (
    !(await fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await sleep(200);
  const wanted = process.argv.slice(2);
  const names = Object.keys(SMOKES).filter((name) => wanted.length === 0 || wanted.includes(name));
  const results: Result[] = [];
  for (const name of names) {
    const result = await tryPackage(name, SMOKES[name] as string);
    results.push(result);
    console.log(
      `${result.problem === null ? "ok  " : "FAIL"} ${name}@${result.version} ${result.problem ?? ""}`,
    );
  }
  const passed = results.filter(({ problem }) => problem === null).length;
  console.log(`${passed} of ${results.length}`);
  if (wanted.length === 0) {
    await write(results, passed);
    if (passed < MIN_PASSED) process.exitCode = 1;
  }
} finally {
  server.kill("SIGTERM");
  await new Promise((resolve) => server.once("close", resolve));
  await rm(folder, { recursive: true, force: true });
}

async function write(results: readonly Result[], passed: number): Promise<void> {
  const cell = (text: string) =>
    text
      .replaceAll("|", "\\|")
      .replaceAll("\n", " ")
      .replace(/https?:\/\/\S+/g, "…")
      .slice(0, 200);
  const failed = results.filter(({ problem }) => problem !== null);
  const lines = [
    START,
    "",
    `Of ${results.length} popular packages without native code ${passed} can be installed, imported and used:`,
    results
      .filter(({ problem }) => problem === null)
      .map(({ name, version }) => `${name} ${version}`)
      .join(", ") + ".",
    "",
    "| not | why |",
    "| --- | --- |",
    ...failed.map(({ name, version, problem }) => `| ${name} ${version ?? ""} | ${cell(problem ?? "")} |`),
    "",
    END,
  ];
  const page = await readFile(PAGE, "utf8");
  const from = page.indexOf(START);
  const head = from < 0 ? `${page.trimEnd()}\n\n## Popular packages\n\n` : page.slice(0, from);
  const tail = from < 0 ? "" : page.slice(page.indexOf(END) + END.length);
  await writeFile(PAGE, `${head}${lines.join("\n")}${tail.trimEnd()}\n`);
}
