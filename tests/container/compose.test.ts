/**
 * The blocks of docs/docker.md, typed as they stand: with Docker's own compose plug-in, against podman,
 * which speaks the same language. Started by build-and-run.sh, which finds the plug-in and makes the images that compose.yaml
 * and the Dockerfile name where no registry is in reach.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { DEFAULT_ORIGIN, readBlocks, type } from "../e2e/pages.ts";
import { PROJECT } from "../e2e/started-server.ts";

const PLUGIN = process.env.CYRNEL_TEST_COMPOSE ?? "";
/** Folders of netavark and its name server, where podman does not use them by itself. */
const NETAVARK = (process.env.CYRNEL_TEST_NETAVARK ?? "").split(":").filter(Boolean);
const BUILD_TIMEOUT_MS = 300_000;
/** Shorter than compose.yaml says: nothing is learnt by waiting. */
const HEALTH_INTERVAL_MS = 1_000;

const run = promisify(execFile);

/** As podman is set up where there is no systemd; with the networks of build-and-run.sh, if it names any. */
function describeEngine(folder: string): string {
  const helpers = `helper_binaries_dir = ${JSON.stringify([...NETAVARK, "/usr/libexec/podman", "/usr/lib/podman"])}`;
  const networks = `[network]
network_backend = "netavark"
network_config_dir = "${path.join(folder, "networks")}"`;
  return `
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
${NETAVARK.length > 0 ? helpers : ""}
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
log_driver = "k8s-file"
${NETAVARK.length > 0 ? networks : ""}
`;
}

describe.skipIf(PLUGIN === "")("compose.yaml, by the words of the documentation", () => {
  let folder: string;
  let clone: string;
  let environment: Record<string, string>;
  let service: ChildProcess;
  let isOver = false;
  let watching: Promise<void>;

  const inClone = (body: string) => type(body, { cwd: clone, environment, timeoutMs: BUILD_TIMEOUT_MS });

  /** podman leaves it to systemd's timers to look after the health of a container; here nobody else does. */
  async function watchHealth(): Promise<void> {
    while (!isOver) {
      const { stdout } = await run("podman", ["ps", "--quiet"], { env: environment });
      for (const container of stdout.split("\n").filter(Boolean)) {
        await run("podman", ["healthcheck", "run", container], { env: environment }).catch(() => {});
      }
      await new Promise((resolve) => setTimeout(resolve, HEALTH_INTERVAL_MS));
    }
  }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cyrnel-compose-"));
    clone = path.join(folder, "cyrnel");
    await mkdir(clone);
    const files = "git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create";
    await run("bash", ["-euc", `set -o pipefail; ${files} | tar --extract --directory "$0"`, clone], {
      cwd: PROJECT,
    });
    const programs = path.join(folder, "bin");
    await mkdir(programs);
    const docker = path.join(programs, "docker");
    await writeFile(
      docker,
      `#!/bin/sh\n[ "$1" = compose ] && shift && exec ${PLUGIN} "$@"\nexec podman "$@"\n`,
    );
    await chmod(docker, 0o755);
    const configuration = path.join(folder, "containers.conf");
    await writeFile(configuration, describeEngine(folder));
    const socket = path.join(folder, "engine.sock");
    environment = {
      PATH: `${programs}:${process.env.PATH}`,
      HOME: folder,
      CONTAINERS_CONF: configuration,
      DOCKER_HOST: `unix://${socket}`,
      // BuildKit would be an image of its own.
      DOCKER_BUILDKIT: "0",
    };
    service = spawn("podman", ["system", "service", "--time=0", `unix://${socket}`], {
      env: environment,
      stdio: "ignore",
    });
    await vi.waitFor(() => expect(existsSync(socket)).toBe(true), 20_000);
    watching = watchHealth();
  });

  afterAll(async () => {
    isOver = true;
    await watching;
    if (clone && existsSync(path.join(clone, ".env")))
      await inClone("docker compose down --volumes").catch(() => {});
    service?.kill();
    await rm(folder, { recursive: true, force: true });
  });

  const blocksOf = async (page: string) =>
    (await readBlocks(page)).map(({ body }) => body).filter((body) => /compose|openssl/.test(body));

  test("without .env it refuses, and says what to do", async () => {
    await expect(inClone("docker compose up --detach")).rejects.toThrow(
      /copy deploy\/compose\.env\.example to \.env and fill it in/,
    );
  });

  test("docs/docker.md: from a clone to a result", { timeout: BUILD_TIMEOUT_MS }, async () => {
    const block = (await blocksOf("docs/docker.md")).slice(0, 2).join("");
    expect(block).toContain("docker compose up --build --detach --wait");
    // After what building the image says.
    const answer = (await inClone(block)).trim().split("\n").at(-1) ?? "";
    expect(JSON.parse(answer)).toMatchObject({ exitState: "success", result: 42 });
  });

  test("runs are walled in as anywhere else, and the log can be read", async () => {
    const key = /^CYRNEL_API_KEY=(.*)$/m.exec(await readFile(path.join(clone, ".env"), "utf8"))?.[1];
    const answer = await fetch(`${DEFAULT_ORIGIN}/environment`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await answer.json()).toMatchObject({ isolation: { level: "strict" } });
    expect(await inClone("docker compose logs api | grep listening")).toContain("with an API key");
  });

  test("docs/docker.md: stopped and started again it has its data; an override is taken; thrown away it has none", {
    timeout: BUILD_TIMEOUT_MS,
  }, async () => {
    const page = await readFile(path.join(PROJECT, "docs/docker.md"), "utf8");
    const override = /```yaml\n(services:\n[\s\S]*?)```/.exec(page)?.[1] ?? "";
    const count = `curl -s "${DEFAULT_ORIGIN}/processes" -H "authorization: Bearer $(sed -n 's/^CYRNEL_API_KEY=//p' .env)"`;
    const countRuns = async () =>
      (JSON.parse(await inClone(count)) as { processes: unknown[] }).processes.length;
    const before = await countRuns();
    expect(before).toBeGreaterThan(0);

    await inClone("docker compose down");
    await writeFile(path.join(clone, "compose.override.yaml"), override);
    await inClone("docker compose up --detach --wait");
    expect(await countRuns()).toBe(before);
    expect(await inClone("docker compose exec -T api env")).toContain(
      "CYRNEL_DEFAULT_POLICY=ask-destructive",
    );

    await inClone("docker compose down --volumes");
    await inClone("docker compose up --detach --wait");
    expect(await countRuns()).toBe(0);
  });
});
