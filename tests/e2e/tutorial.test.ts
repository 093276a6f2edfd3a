/**
 * docs/tutorial.md from the clone on, typed as it stands; then docs/ci.md, and docs/backup.md on what it has left. Says how
 * long it takes from a clone to the first result; the packages are in npm's cache, as they are after any `npm ci`.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, type TestContext, test } from "vitest";
import { type Block, compare, containsLines, DEFAULT_ORIGIN, readBlocks, type } from "./pages.ts";
import {
  findFreePort,
  PERSONAL_ENVIRONMENT,
  PROJECT,
  type StartedServer,
  startServer,
} from "./started-server.ts";

const ORDERS = "http://127.0.0.1:4010";
/** Of a clone, on a machine that does other things too; two minutes are what it should be on one that does not. */
const MAX_FIRST_RESULT_S = 300;
const MAX_TRIES = 60;
const TRY_EVERY_MS = 250;
const MAX_END_MS = 60_000;
const INFOS =
  /^(bash (install|start|restart|runnable|background|stopped|postgres|compose)|text (log|background)|ts shown=\S+)$/;

const execute = promisify(execFile);
const tutorial = await readBlocks("docs/tutorial.md");
const ci = (await readBlocks("docs/ci.md")).filter(({ info }) => info === "bash runnable");
const backup = (await readBlocks("docs/backup.md")).filter(({ info }) => /^bash (stopped|start)$/.test(info));

interface Terminal {
  child: ChildProcess;
  ended: Promise<unknown>;
  printed: string;
}

let folder: string;
let clone: string;
let port: number;
let ordersPort: number;
let server: StartedServer | null = null;
/** Programs left running, the latest last. */
const terminals: Terminal[] = [];
/** The id that a reader has on the screen. */
let approval = "apr_";
let processNumber = "";
/** A command beside one that was just left running: it may have to be repeated until that one is so far. */
let isEarly = false;
let wasFound = false;
/** The block that did not do what the page says: those after it stand on it. */
let failed: string | null = null;
const took: Record<string, number> = {};

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "cyrnel-clone-"));
  clone = path.join(folder, "cyrnel");
  [port, ordersPort] = [await findFreePort(), await findFreePort()];
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  for (const { child, ended } of terminals) {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), "SIGTERM");
    await ended;
  }
  await rm(folder, { recursive: true, force: true });
});

/** As a reader's shell: nothing of this test run but where npm finds its packages. */
function environment(): Record<string, string> {
  const npm = Object.entries(process.env).filter(([name]) =>
    /^(npm_config_(registry|cache|userconfig|proxy|https_proxy|cafile)|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i.test(
      name,
    ),
  ) as [string, string][];
  return {
    ...PERSONAL_ENVIRONMENT,
    ...Object.fromEntries(npm),
    npm_config_prefer_offline: "true",
    CYRNEL_URL: `http://127.0.0.1:${port}`,
    ORDERS_PORT: String(ordersPort),
  };
}

async function measure<T>(what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work();
  took[what] = (performance.now() - began) / 1000;
  return result;
}

/** The repository with what is changed and new in the working tree; where git cannot be had, a copy of its files. */
async function makeClone(): Promise<void> {
  try {
    await cloneByGit();
  } catch {
    await rm(clone, { recursive: true, force: true });
    const isSource = (file: string) => !/\/(node_modules|dist|\.git|\.cyrnel)$/.test(file);
    await cp(PROJECT, clone, { recursive: true, filter: isSource });
  }
}

async function cloneByGit(): Promise<void> {
  await execute("git", ["clone", "--quiet", "--local", PROJECT, clone]);
  const list = async (...flags: string[]) => {
    const { stdout } = await execute("git", ["ls-files", "-z", "--exclude-standard", ...flags], {
      cwd: PROJECT,
      maxBuffer: 1 << 24,
    });
    return stdout.split("\0").filter((file) => file !== "");
  };
  const [changed, deleted] = [await list("--modified", "--others"), await list("--deleted")];
  for (const file of deleted) await rm(path.join(clone, file), { force: true });
  for (const file of changed.filter((name) => !deleted.includes(name))) {
    await cp(path.join(PROJECT, file), path.join(clone, file));
  }
}

/** Where the page says npx, the program that npx finds, but for the first time: npm takes longer to start than the command. */
function typed(body: string): string {
  const found = wasFound ? body.replaceAll("npx cyrnel", "node_modules/.bin/cyrnel") : body;
  wasFound ||= body.includes("npx cyrnel");
  return found
    .replaceAll(DEFAULT_ORIGIN, `http://127.0.0.1:${port}`)
    .replaceAll(ORDERS, `http://127.0.0.1:${ordersPort}`)
    .replaceAll("apr_…", approval)
    .replaceAll("NUMBER", processNumber);
}

async function start(command: string): Promise<void> {
  server = await startServer(null, environment(), { folder: clone, command: command.trim(), port });
}

function leaveRunning(body: string): void {
  const child = spawn("bash", ["-c", `exec 2>&1\n${typed(body)}`], {
    cwd: clone,
    env: environment(),
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const terminal: Terminal = {
    child,
    printed: "",
    ended: new Promise((resolve) => child.once("close", resolve)),
  };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    terminal.printed = (terminal.printed + text).slice(-100_000);
  });
  terminals.push(terminal);
}

async function runAndCompare({ body, shown }: Block): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      const printed = await type(typed(body), { cwd: clone, environment: environment() });
      compare(shown, printed);
      approval = printed.match(/apr_[\w-]+/g)?.at(-1) ?? approval;
      processNumber =
        /^(?:apr_\S+ +pending +)?(\d+) +(?:running|idle|orders\.)/m.exec(printed)?.[1] ?? processNumber;
      break;
    } catch (error) {
      if (!isEarly || tries === MAX_TRIES) throw error;
      await sleep(TRY_EVERY_MS);
    }
  }
  // The run that was waited for goes on meanwhile.
  isEarly = /\bapprove\b/.test(body);
}

async function perform(block: Block, { skip }: Pick<TestContext, "skip">): Promise<void> {
  skip(failed !== null, "an earlier block has failed");
  failed = block.info;
  await carryOut(block);
  failed = null;
}

async function carryOut(block: Block): Promise<void> {
  switch (block.info) {
    case "bash install":
      await measure("npm ci", () =>
        execute("bash", ["-c", block.body], { cwd: clone, env: environment(), maxBuffer: 1 << 24 }),
      );
      break;
    case "bash start":
      await measure("start", () => start(block.body));
      break;
    case "bash restart":
      await server?.stop("SIGINT");
      await start(block.body);
      break;
    case "text log":
      expect(server?.log()).toContain(typed(block.body).trim());
      break;
    case "bash background":
      leaveRunning(block.body);
      isEarly = true;
      break;
    case "text background": {
      const terminal = terminals.at(-1) as Terminal;
      await Promise.race([terminal.ended, sleep(MAX_END_MS, undefined, { ref: false })]);
      expect(
        containsLines(block.body, terminal.printed),
        `the page shows ${block.body}\nprinted was ${terminal.printed}`,
      ).toBe(true);
      break;
    }
    case "bash stopped":
      await type(block.body, { cwd: clone, environment: environment() });
      break;
    case "bash runnable":
      await ("first run" in took ? runAndCompare(block) : measure("first run", () => runAndCompare(block)));
      break;
    default: {
      const file = block.info.split("shown=")[1] ?? "";
      expect(await readFile(path.join(PROJECT, file), "utf8")).toBe(block.body);
    }
  }
}

test("every block of the page is of a kind that is run or compared", () => {
  expect(tutorial.map(({ info }) => info).filter((info) => !INFOS.test(info))).toEqual([]);
  expect(tutorial.filter(({ info }) => info === "bash runnable").length).toBeGreaterThan(15);
  expect(ci.length).toBe(2);
  expect(backup.map(({ info }) => info)).toEqual(["bash stopped", "bash stopped", "bash start"]);
});

test("the repository is cloned", async () => {
  await measure("clone", makeClone);
});

const atFirstResult = tutorial.findIndex(({ info }) => info === "bash runnable");
const nameOf = ({ info, body }: Block) => `${info}: ${body.trim().split("\n")[0]}`;

// In the order of the page: later blocks stand on earlier ones, so none is tried twice.
test.for(tutorial.slice(0, atFirstResult + 1).map((block) => ({ ...block, name: nameOf(block) })))(
  "$name",
  { retry: 0, timeout: MAX_FIRST_RESULT_S * 1000 },
  perform,
);

test("the way from the clone to the first result is short", () => {
  const total = Object.values(took).reduce((sum, seconds) => sum + seconds, 0);
  const parts = Object.entries(took).map(([what, seconds]) => `${what} ${seconds.toFixed(1)} s`);
  console.log(`clone to first result: ${total.toFixed(1)} s (${parts.join(", ")})`);
  expect(total).toBeLessThan(MAX_FIRST_RESULT_S);
});

test("a reader tries something of their own, and has other numbers from then on", async ({ skip }) => {
  skip(failed !== null, "an earlier block has failed");
  const answer = await server?.request("POST", "/processes", { code: "return 1", block: true });
  expect(answer?.body).toMatchObject({ exitState: "success" });
});

test.for([...tutorial.slice(atFirstResult + 1), ...ci].map((block) => ({ ...block, name: nameOf(block) })))(
  "$name",
  { retry: 0 },
  perform,
);

test("a backup of all that, restored in another place, has the runs and can use the secrets", {
  retry: 0,
}, async ({ skip }) => {
  skip(failed !== null, "an earlier block has failed");
  await server?.stop("SIGINT");
  server = null;
  const [save, restore, begin] = backup as [Block, Block, Block];
  await carryOut(save);
  // The key is in a file of its own.
  const { stdout: names } = await execute("tar", ["-tzf", "cyrnel-backup.tar.gz"], { cwd: clone });
  expect(names).not.toContain("secrets.key");
  await rm(path.join(clone, ".cyrnel"), { recursive: true });
  await carryOut(restore);
  server = await startServer(
    null,
    { ...environment(), CYRNEL_EGRESS_ALLOW: "127.0.0.1" },
    { folder: clone, command: begin.body.trim(), port },
  );

  const { processes } = (await server.request("GET", "/processes?ref=late")).body;
  const run = await server.request("GET", `/processes/${processes[0].id}`);
  expect(run.body).toMatchObject({
    exitState: "success",
    result: ["rope", "boat"],
    stdout: expect.stringContaining("boat"),
  });
  expect((await server.request("GET", `/processes/${processes[0].id}/calls`)).body.calls.length).toBe(3);
  const call = await server.request("POST", "/tools/orders/whoAmI/invoke", { parameters: {} });
  expect(call.body.result).toMatchObject({ status: 200, body: { key: "[secret]" } });
});
