/** A registry that says nothing any more, at whatever point: the installation ends within its bound and says why. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { installPackage } from "#api/packages/install/installer.ts";
import { type FrontedRegistry, makeTarball, type Registry, startFront, startRegistry } from "./registry.ts";
import { type PackagesServer, startPackagesServer } from "./server.ts";

const SILENCE_MS = 700;

let registry: Registry;
let fronted: FrontedRegistry;
let on: PackagesServer;

beforeAll(async () => {
  registry = await startRegistry();
  fronted = await startFront(registry);
  on = await startPackagesServer(fronted.url, { CYRNEL_NPM_REGISTRY_TIMEOUT_MS: String(SILENCE_MS) });
});
afterAll(async () => {
  await on?.[Symbol.asyncDispose]();
  await fronted?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  fronted.front = () => false;
});

async function expectGivenUp(name: string, server = on): Promise<void> {
  const installation = await server.install(name);
  expect(installation).toMatchObject({
    state: "failed",
    error: `The registry did not answer within ${SILENCE_MS} ms.`,
    version: null,
  });
  expect((await server.get(`/packages?name=${name}`)).body.packages).toEqual([]);
  expect(await server.server.pool`select 1 from packages where name = ${name}`).toEqual([]);
  const folder = path.join(server.server.config.dataDirectory, "packages");
  expect(await readdir(folder).catch(() => [])).toEqual([]);
}

/** Answers the beginning of what it would, and nothing more. */
const begin = async (url: string, response: ServerResponse, share: number) => {
  const whole = Buffer.from(await (await fetch(registry.url + url)).arrayBuffer());
  const text = whole.toString("latin1").replaceAll(registry.url, fronted.url);
  const bytes = url.endsWith(".tgz") ? whole : Buffer.from(text, "latin1");
  response.writeHead(200, { "content-length": bytes.length });
  response.write(bytes.subarray(0, Math.ceil(bytes.length * share)));
};

test("after the connection", async () => {
  const open = new Set<Socket>();
  const mute: Server = createServer((socket) => {
    open.add(socket.on("error", () => {}).resume());
  });
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  const { port } = mute.address() as AddressInfo;
  const server = await startPackagesServer(`http://127.0.0.1:${port}`, {
    CYRNEL_NPM_REGISTRY_TIMEOUT_MS: String(SILENCE_MS),
  });
  try {
    await expectGivenUp("never-answered", server);
    // The one that was asked over; a spare one stays as long as any that is kept alive.
    const asked = [...open].filter(({ bytesRead }) => bytesRead > 0);
    expect(asked.length).toBeGreaterThan(0);
    await expect.poll(() => asked.every(({ destroyed }) => destroyed), { timeout: 5000 }).toBe(true);
  } finally {
    await server[Symbol.asyncDispose]();
    for (const socket of open) socket.destroy();
    mute.close();
  }
});

test("in place of a description, of a dependency's description, and of a tarball", async () => {
  await registry.publish({ name: "mute-inner" });
  await registry.publish({ name: "mute", manifest: { dependencies: { "mute-inner": "1" } } });
  for (const silent of [
    "/mute",
    "/mute-inner",
    "/mute/-/mute-1.0.0.tgz",
    "/mute-inner/-/mute-inner-1.0.0.tgz",
  ]) {
    fronted.front = ({ url }) => url === silent;
    await expectGivenUp("mute");
  }
  fronted.front = () => false;
  expect(await on.install("mute")).toMatchObject({ state: "done", error: null });
});

test.each([0.01, 0.5, 0.99])("after %d of a tarball and of a description", async (share) => {
  const name = `partly-${share * 100}`;
  const tarball = await makeTarball([
    { name: "package/package.json", body: JSON.stringify({ name, version: "1.0.0", main: "index.js" }) },
    { name: "package/index.js", body: `exports.x = "${Buffer.alloc(90_000, "abc").toString("base64")}";` },
  ]);
  await registry.publish({ name, tarball });
  for (const pattern of [/\.tgz$/, new RegExp(`^/${name}$`)]) {
    fronted.front = async ({ url = "" }, response) => {
      if (!pattern.test(url)) return false;
      await begin(url, response, share);
      return true;
    };
    await expectGivenUp(name);
  }
  fronted.front = () => false;
  expect(await on.install(name)).toMatchObject({ state: "done", error: null });
});

test("where advisories are asked, no answer is none; where they have to be, nothing is installed", async () => {
  await registry.publish({ name: "advised" });
  fronted.front = ({ url }) => url?.includes("/advisories") === true;
  const settings = { CYRNEL_NPM_REGISTRY_TIMEOUT_MS: String(SILENCE_MS) };
  await using asked = await startPackagesServer(fronted.url, {
    ...settings,
    CYRNEL_PACKAGE_ADVISORIES: "registry",
  });
  expect(await asked.install("advised")).toMatchObject({ state: "done", error: null });
  await using required = await startPackagesServer(fronted.url, {
    ...settings,
    CYRNEL_PACKAGE_ADVISORIES: `${fronted.url}/advisories`,
  });
  await expectGivenUp("advised", required);
});

test("one that drips goes on to be asked until the time of the whole installation is over", async () => {
  const drips: NodeJS.Timeout[] = [];
  fronted.front = ({ url }, response) => {
    if (url !== "/dripping") return false;
    response.writeHead(200, { "content-type": "application/json" });
    drips.push(setInterval(() => response.write(" "), 50));
    return true;
  };
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-drip-"));
  try {
    const installing = installPackage(
      {
        fetch,
        registry: { url: fronted.url, token: null, advisoriesUrl: null },
        advisories: "off",
        minAgeDays: 0,
        idleMs: SILENCE_MS,
        maxMs: 3 * SILENCE_MS,
      },
      {
        name: "dripping",
        range: "latest",
        lock: null,
        folder,
        signal: new AbortController().signal,
        onStep() {},
      },
    );
    await expect(installing).rejects.toThrow(`It could not be installed within ${3 * SILENCE_MS} ms.`);
  } finally {
    for (const drip of drips) clearInterval(drip);
    await rm(folder, { recursive: true, force: true });
  }
});
