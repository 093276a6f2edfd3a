/** CYRNEL_NPM_REGISTRY_TOKEN: the registry itself gets it, and nothing else has it, whatever that registry answers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { answerJson, type FrontedRegistry, type Registry, startFront, startRegistry } from "./registry.ts";
import { type PackagesServer, startPackagesServer } from "./server.ts";

const TOKEN = "npm_token-of-a-test+0123456789/abcdef=";

let registry: Registry;
let fronted: FrontedRegistry;
let on: PackagesServer;
/** Hosts that are not the registry; what they were sent. */
let elsewhere: Server;
let elsewhereUrl: string;
let answerElsewhere: (request: IncomingMessage, response: ServerResponse) => unknown;
const seenElsewhere: string[] = [];
const seenHere: { url: string; authorization: string | undefined }[] = [];

beforeAll(async () => {
  registry = await startRegistry();
  fronted = await startFront(registry);
  elsewhere = createServer((request, response) => {
    seenElsewhere.push(`${request.url} ${JSON.stringify(request.rawHeaders)}`);
    if (request.url === "/advisories") answerJson(response, {});
    else answerElsewhere(request, response);
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  elsewhereUrl = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  on = await startPackagesServer(fronted.url, {
    CYRNEL_NPM_REGISTRY_TOKEN: TOKEN,
    CYRNEL_PACKAGE_ADVISORIES: `${elsewhereUrl}/advisories`,
  });
  reset();
});
afterEach(async () => {
  expect(seenElsewhere.join("\n")).not.toContain(TOKEN);
  const said = [
    JSON.stringify(on.server.logs()),
    (await on.get("/package-installations?limit=100")).text,
    (await on.get("/packages?limit=100")).text,
    (await on.get("/audit?limit=200")).text,
    (await on.get("/logs?limit=500")).text,
    (await on.get("/metrics")).text,
  ];
  for (const text of said) {
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain(encodeURIComponent(TOKEN));
  }
  reset();
});
afterAll(async () => {
  await on?.[Symbol.asyncDispose]();
  await fronted?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
  elsewhere?.closeAllConnections();
  elsewhere?.close();
});

/** A registry that answers nobody without the token. */
const guard = ({ url = "", headers }: IncomingMessage, response: ServerResponse) => {
  seenHere.push({ url, authorization: headers.authorization });
  return headers.authorization === `Bearer ${TOKEN}` ? false : answerJson(response, { error: "who?" }, 401);
};

function reset(): void {
  fronted.front = guard;
  answerElsewhere = (_request, response) => answerJson(response, {}, 404);
  seenElsewhere.length = 0;
  seenHere.length = 0;
}

test("descriptions and tarballs of the registry are asked for with it, advisories elsewhere without", async () => {
  await registry.publish({ name: "guarded-dependency" });
  await registry.publish({ name: "guarded", manifest: { dependencies: { "guarded-dependency": "1" } } });
  expect(await on.install("guarded")).toMatchObject({ state: "done", error: null });
  expect(seenHere.filter(({ url }) => url.endsWith(".tgz"))).toHaveLength(2);
  expect(new Set(seenHere.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${TOKEN}`]));
  expect(seenElsewhere).toEqual([expect.stringMatching(/^\/advisories /)]);
});

describe("redirects", () => {
  const redirect = (pattern: RegExp, target: (url: string) => string, status = 302) => {
    fronted.front = (request, response) => {
      if (guard(request, response)) return true;
      if (!pattern.test(request.url ?? "")) return false;
      response.writeHead(status, { location: target(request.url ?? "") }).end();
      return true;
    };
  };
  const handOn = async ({ url }: IncomingMessage, response: ServerResponse) =>
    response.end(Buffer.from(await (await fetch(registry.url + url)).arrayBuffer()));

  test.each([301, 302, 303, 307, 308])("a tarball elsewhere is fetched without it (%i)", async (status) => {
    const name = `moved-${status}`;
    await registry.publish({ name });
    redirect(/\.tgz$/, (url) => `${elsewhereUrl}${url}`, status);
    answerElsewhere = handOn;
    expect(await on.install(name)).toMatchObject({ state: "done", error: null });
    expect(seenElsewhere.filter((one) => one.includes(".tgz"))).toHaveLength(1);
  });

  test("another port of the same machine is elsewhere; a description there is fetched without it too", async () => {
    await registry.publish({ name: "described-elsewhere" });
    redirect(/^\/described-elsewhere$/, (url) => `${elsewhereUrl}${url}`);
    answerElsewhere = async ({ url }, response) => {
      const text = await (await fetch(registry.url + url)).text();
      response.end(text.replaceAll(registry.url, fronted.url));
    };
    expect(await on.install("described-elsewhere")).toMatchObject({ state: "done", error: null });
    expect(seenElsewhere.some((one) => one.startsWith("/described-elsewhere "))).toBe(true);
  });

  test("on the registry itself it stays; from elsewhere back to the registry it does not", async () => {
    await registry.publish({ name: "moved-within" });
    redirect(/^\/moved-within\/-\/[^?]*$/, (url) => `${url}?signed=1`);
    expect(await on.install("moved-within")).toMatchObject({ state: "done", error: null });
    seenHere.length = 0;
    await registry.publish({ name: "sent-back" });
    redirect(/^\/sent-back\/-\/[^?]*$/, (url) => `${elsewhereUrl}${url}`);
    answerElsewhere = ({ url }, response) =>
      response.writeHead(302, { location: `${fronted.url}${url}?chosen=elsewhere` }).end();
    expect(await on.install("sent-back")).toMatchObject({ state: "failed" });
    expect(seenHere.find(({ url }) => url.includes("chosen"))).toEqual({
      url: expect.stringContaining("?chosen=elsewhere"),
      authorization: undefined,
    });
  });
});

test("a tarball that the description says lies elsewhere is not asked for at all", async () => {
  await registry.publish({ name: "lies-elsewhere" });
  fronted.front = async (request, response) => {
    if (guard(request, response)) return true;
    if (request.url !== "/lies-elsewhere") return false;
    const packument = await (await fetch(`${registry.url}/lies-elsewhere`)).json();
    packument.versions["1.0.0"].dist.tarball = `${elsewhereUrl}/lies-elsewhere.tgz`;
    return answerJson(response, packument);
  };
  expect(await on.install("lies-elsewhere")).toMatchObject({
    state: "failed",
    error: expect.stringContaining("only tarballs of the registry itself"),
  });
  expect(seenElsewhere.filter((one) => one.includes("lies-elsewhere.tgz"))).toEqual([]);
});

test.each([
  ["an error", 403],
  ["a refusal to know it", 401],
  ["a failure", 500],
  ["not found", 404],
])("what the registry quotes of it in %s is shown nowhere", async (_, status) => {
  fronted.front = (request, response) =>
    answerJson(response, { error: `no: ${request.headers.authorization}`, reason: TOKEN }, status);
  const installation = await on.install(`quoted-${status}`);
  expect(installation.state).toBe("failed");
  expect(JSON.stringify(installation)).not.toContain(TOKEN);
});

test("nor what it quotes in a redirect, a tarball's address, a version or a header", async () => {
  await registry.publish({ name: "quoting" });
  const packument = await (await fetch(`${registry.url}/quoting`)).json();
  const answers: ((response: ServerResponse) => unknown)[] = [
    (response) => response.writeHead(302, { location: `http://10.0.0.1/${TOKEN}` }).end(),
    (response) => response.writeHead(302, { location: `http://${encodeURIComponent(TOKEN)}.invalid/` }).end(),
    (response) => response.writeHead(302, { location: `gopher://x/${TOKEN}` }).end(),
    (response) => response.writeHead(200, { "content-encoding": TOKEN.slice(0, 9) }).end(TOKEN),
    (response) => response.end(`<html>${TOKEN}`),
    (response) => {
      packument.versions["1.0.0"].dist.tarball = `http://${TOKEN.replaceAll(/[+/=]/g, "")}/${TOKEN}`;
      return answerJson(response, packument);
    },
    (response) => {
      packument.versions["1.0.0"].dependencies = { x: `git+ssh://${TOKEN}@example.com/x` };
      return answerJson(response, packument);
    },
    (response) => {
      packument.versions["1.0.0"].dependencies = { [TOKEN.slice(0, 20)]: TOKEN };
      return answerJson(response, packument);
    },
  ];
  for (const answer of answers) {
    fronted.front = (request, response) => {
      if (request.url !== "/quoting") return guard(request, response);
      answer(response);
      return true;
    };
    const installation = await on.install("quoting");
    expect(installation.state).toBe("failed");
    expect(JSON.stringify(installation)).not.toContain(TOKEN);
  }
});
