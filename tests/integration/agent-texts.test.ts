/** What an agent reads before its first script, with the starter set installed: it is short, and says what can be imported. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { describePackages } from "#api/environment/service.ts";
import { STARTER_SET } from "#runner/packages/starter.ts";
import { startServer, type TestServer } from "./harness/server.ts";
import { connectMcp } from "./mcp-client.ts";
import { builtin } from "./modules-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    builtins: [
      ...BUILTIN_MODULES.filter(({ type }) => type === "environment"),
      builtin({ id: "scripted" }, () => new ScriptedEnvironment()),
    ],
    starterPackages: true,
  });
  // A package that is not there is looked for until all that comes with the server is stored.
  const { body } = await server.post("/processes", { code: 'import "not-there";', block: true });
  expect(body.error).toContain("not-there is not installed");
});
afterAll(() => server?.close());

/**
 * The one rule by which tokens are counted: a word is a token for each 11 letters, a number for each 3 digits, other characters for
 * each 3. Of these texts that is 1 to 2 % more than o200k_base makes of them.
 */
function countTokens(text: string): number {
  const pieces = text.match(/\p{L}{1,11}|\d{1,3}|[^\s\p{L}\d]{1,3}|\n/gu) ?? [];
  return pieces.length;
}

function report(what: string, text: string): number {
  const tokens = countTokens(text);
  console.log(`${what}: ${text.length} characters, ${tokens} tokens`);
  return tokens;
}

test.each(["typescript-process", "typescript-ivm"])(
  "the documentation of %s, with its packages",
  async (id) => {
    expect((await server.post(`/modules/${id}/enabled`, { enabled: true })).status).toBe(200);
    const { text } = await server.get("/environment/docs");
    for (const name of STARTER_SET) expect(text).toMatch(new RegExp(`^- ${name}@\\d+: \\S.{4,}$`, "m"));
    expect(text).not.toContain("and 1 more");
    expect(text).toContain("`cyrnel.discoverTools`");
    expect(report(`the documentation of ${id}`, text)).toBeLessThanOrEqual(1800);
  },
);

test("an environment that cannot import packages has its own documentation, and no more", async () => {
  expect((await server.post("/modules/scripted/enabled", { enabled: true })).status).toBe(200);
  expect((await server.get("/environment/docs")).text).toBe("# Scripted");
});

test("the documentation stays short with any number of packages", () => {
  const many = Array.from({ length: 500 }, (_, index) => ({
    name: `@corp/package-${index}`,
    version: `${index}.0.0`,
    description: "Words ".repeat(16),
  }));
  const text = describePackages(many);
  expect(text.length).toBeLessThan(800);
  expect(text).toMatch(/- and 4\d\d more: .*GET \/packages/);
  for (const [description, shown] of [
    ["x".repeat(100), `${"x".repeat(26)}…`],
    ["Short and whole, as it is", "Short and whole, as it is"],
    ["The fast, flexible & elegant library", "The fast, flexible…"],
    ["JWA, JWS, JWE, JWT, JWK, JWKS for Node.js", "JWA, JWS, JWE, JWT, JWK…"],
    ["Fast and powerful and - a parser of texts", "Fast and powerful…"],
  ] as const) {
    const text = describePackages([{ name: "p", version: "1.0.0", description }]);
    expect(text).toBe(`\n## Packages\n\n- p@1: ${shown}\n`);
  }
});

test("what an MCP client is given", async () => {
  const { client } = await connectMcp(server.url, {});
  try {
    const { tools } = await client.listTools();
    const given = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const text = `${client.getInstructions()}\n${JSON.stringify(given)}`;
    expect(text).toContain("npm packages");
    expect(report("the descriptions of MCP", text)).toBeLessThanOrEqual(900);
  } finally {
    await client.close();
  }
});

test("llms.txt", async () => {
  const { text } = await server.get("/llms.txt");
  expect(text).toContain('import { z } from "zod"');
  expect(report("llms.txt", text)).toBeLessThanOrEqual(700);
});

test("a search for tools finds packages too, in a list of their own, and a role hides them", async () => {
  const found = (await server.get("/tools?query=read+csv")).body;
  expect(found.tools).toEqual([]);
  expect(found.packages[0]).toMatchObject({
    name: "papaparse",
    version: expect.any(String),
    description: expect.stringContaining("CSV"),
  });
  expect(found.packages.length).toBeLessThanOrEqual(5);
  expect((await server.get("/tools")).body).not.toHaveProperty("packages");
  const code = `const found = await tools.search("read csv");
    return [found, found.packages[0].name, (await cyrnel.discoverTools({ query: "pdf" })).packages.map(({ name }) => name), (await tools.search("")).packages];`;
  for (const id of ["typescript-process", "typescript-ivm"]) {
    await server.post(`/modules/${id}/enabled`, { enabled: true });
    expect((await server.post("/processes", { code, block: true })).body.result, id).toEqual([
      [],
      "papaparse",
      ["pdf-lib"],
      [],
    ]);
  }
  const { client } = await connectMcp(server.url, {});
  const answer = await client.callTool({ name: "search_tools", arguments: { query: "read csv" } });
  await client.close();
  expect(JSON.stringify(answer.content)).toContain("papaparse");
  expect(JSON.stringify(answer.content)).toContain("No tool was found; packages are those that fit");
  const role = (await server.post("/roles", { name: "no csv", packages: ["pdf-lib"] })).body;
  const { key } = (
    await server.post("/keys", {
      name: "no csv",
      roleId: role.id,
      scopes: ["processes:read", "processes:write"],
    })
  ).body;
  const headers = { authorization: `Bearer ${key}` };
  expect((await server.get("/tools?query=read+csv", headers)).body.packages).toEqual([]);
  expect(
    (
      await server.post(
        "/processes",
        { code: 'return (await tools.search("read csv")).packages', block: true },
        headers,
      )
    ).body.result,
  ).toEqual([]);
});
