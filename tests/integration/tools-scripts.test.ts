/**
 * Tools as scripts see them, in both environments: calls, search, details and documentation, limited by the key's
 * role.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BuiltinModule } from "#api/components/modules/builtins.ts";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

const ENVIRONMENTS: BuiltinModule[] = [
  {
    id: "typescript-process",
    type: "environment",
    load: () => import("#modules/typescript-process/index.ts"),
  },
  { id: "typescript-ivm", type: "environment", load: () => import("#modules/typescript-ivm/index.ts") },
];

describe.each(["typescript-process", "typescript-ivm"])("%s", (id) => {
  let server: ToolsServer;

  beforeAll(async () => {
    server = await startToolsServer({
      environment: { CYRNEL_ISOLATION: "development" },
      environments: ENVIRONMENTS,
    });
    const enabled = await server.post(`/modules/${id}/enabled`, { enabled: true });
    expect(enabled.status, enabled.text).toBe(200);
    await server.addService("shop", {
      list: {
        name: "List orders",
        description: "All orders of the shop.",
        inputSchema: {
          type: "object",
          properties: { page: { type: "integer", default: 1, description: "From 1." } },
          required: [],
        },
        outputSchema: {
          type: "object",
          properties: { orders: { type: "array", items: { type: "string" } } },
        },
      },
      secret: { description: "Only for some." },
    });
    await server.addService("hidden", { thing: {} });
  });
  afterAll(() => server?.close());

  // biome-ignore lint/suspicious/noExplicitAny: JSON of a script
  async function run(code: string, headers?: Record<string, string>): Promise<any> {
    const answer = await server.post("/processes", { code, block: true }, headers);
    expect(answer.status, answer.text).toBe(201);
    expect([answer.body.exitState, answer.body.error]).toEqual(["success", null]);
    return answer.body.result;
  }

  test("a script searches, reads, calls and is told what it mistyped", async () => {
    const result = await run(`
      const found = await tools.search({ query: "orders", limit: 3 });
      const details = await tools.describe.tool({ path: found[0].path });
      const same = await cyrnel.getTool({ serviceId: "shop", toolId: "list" });
      const docs = await cyrnel.getToolDocs({ serviceId: "shop", toolId: "list" });
      const service = await cyrnel.getService("shop");
      const services = await cyrnel.discoverServices();
      const called = await tools.shop.list({});
      const errors = [];
      for (const attempt of [() => tools.shop.lst({}), () => tools.shop.list({ page: "x" }), () => cyrnel.getTool({ serviceId: "shop", toolId: "lisst" }), () => cyrnel.getService("shpo")])
        await attempt().catch((e) => errors.push([e.name, e.code, e.status, e.message]));
      return { found, details, isSame: JSON.stringify(details) === JSON.stringify(same), docs, service, services, called, errors };
    `);
    expect(result.found[0]).toMatchObject({ serviceId: "shop", id: "list", path: "shop.list" });
    expect(result.found[0].score).toBeGreaterThan(0);
    expect(result.found[0].signature).toContain("page?: number");
    expect(result.details).toMatchObject({
      inputSchema: { properties: { page: { default: 1 } } },
      outputSchema: { type: "object" },
      destructive: false,
    });
    expect(result.isSame).toBe(true);
    expect(result.docs).toMatch(/page\?: number[\s\S]*orders\?: string\[\]/);
    expect(result.service.tools.map((tool: { id: string }) => tool.id)).toEqual(["list", "secret"]);
    expect(result.services.map((service: { id: string }) => service.id)).toEqual(["hidden", "shop"]);
    expect(result.called).toEqual({ echoed: { page: 1 } });
    expect(result.errors).toEqual([
      ["ToolError", "not_found", 404, "There is no tool shop.lst. Did you mean shop.list?"],
      [
        "ToolError",
        "invalid_parameters",
        400,
        "The parameters of shop.list are invalid: parameters.page must be integer, found string.",
      ],
      ["ToolError", "not_found", 404, "There is no tool shop.lisst. Did you mean shop.list?"],
      ["ToolError", "not_found", 404, "There is no service shpo. Did you mean shop?"],
    ]);
  });

  test("a script of a key sees and calls what the key's role allows, whatever it guesses", async () => {
    const role = await server.post("/roles", { name: "lists", allow: ["shop.list"], deny: [] });
    const key = await server.post("/keys", {
      name: "limited",
      scopes: ["processes:write", "processes:read"],
      roleId: role.body.id,
    });
    const headers = { authorization: `Bearer ${key.body.key ?? key.body.secret}` };
    const result = await run(
      `
      const refused = [];
      for (const attempt of [() => tools.shop.secret({}), () => tools.hidden.thing({}), () => cyrnel.getTool({ serviceId: "shop", toolId: "secret" }),
        () => cyrnel.getToolDocs({ serviceId: "hidden", toolId: "thing" }), () => cyrnel.getService("hidden"), () => tools.nowhere.nothing({})])
        await attempt().catch((e) => refused.push(e.code));
      return { all: (await tools.search({})).map((t) => t.path), found: (await tools.search("some")).map((t) => [t.path, t.score]), services: (await cyrnel.discoverServices()).map((s) => s.id),
        shop: (await cyrnel.getService("shop")).tools.map((t) => t.id), refused, fine: await tools.shop.list() };
    `,
      headers,
    );
    expect(result).toEqual({
      all: ["shop.list"],
      // Nothing is found: what the role shows is the nearest.
      found: [["shop.list", 0]],
      services: ["shop"],
      shop: ["list"],
      refused: new Array(6).fill("not_found"),
      fine: { echoed: { page: 1 } },
    });
  });

  test("the documentation of a tool is served, and 404 for one that is not there", async () => {
    const docs = await server.get("/tools/shop/list/docs");
    expect(docs.headers.get("content-type")).toContain("text/markdown");
    expect(docs.text).toContain("await tools.shop.list(");
    expect((await server.get("/tools/shop/lis/docs")).body.error).toContain("Did you mean shop.list?");
  });
});
