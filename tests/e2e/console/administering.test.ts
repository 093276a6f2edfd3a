/** What an operator does in the console: roles, keys, rules, services and modules, in a real Chromium against a real server. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath } from "./browser.ts";
import { API_TOKEN, type ConsoleServer } from "./console-server.ts";
import { type Visit, visitConsole } from "./visit.ts";

const WIDE = { viewport: { width: 1440, height: 900 } };

describe.skipIf(chromiumPath === null)("an operator (skipped without a Chromium)", { retry: 0 }, () => {
  let opened: Visit;
  let server: ConsoleServer;
  let page: Page;

  beforeAll(async () => {
    opened = await visitConsole({ ...WIDE, permissions: ["clipboard-read", "clipboard-write"] });
    ({ server, page } = opened);
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  const button = (name: string | RegExp) => page.getByRole("button", { name });
  const goTo = (view: string) => page.getByRole("link", { name: view, exact: true }).click();
  const row = (text: string) => page.getByRole("listitem").filter({ hasText: text });
  const dialog = (name: string) => page.getByRole("dialog", { name });

  test("a role is made, changed, and says which of its patterns fit nothing", async () => {
    await goTo("Roles");
    await button("New role").click();
    await dialog("New role").getByLabel("Name").fill("reader");
    await dialog("New role").getByLabel("Allow").fill("demo.list*\nnowhere.*");
    await button("Save").click();
    await page.getByRole("status").getByText("nowhere.* matches no installed tool").waitFor();
    await row("reader").getByText("demo.list*, nowhere.*").waitFor();

    await row("reader").getByRole("button", { name: "Change" }).click();
    await dialog("Change reader").getByLabel("Allow").fill("demo.*");
    await dialog("Change reader").getByLabel("Deny").fill("demo.clear*");
    await button("Save").click();
    await row("reader").getByText("but not demo.clear*").waitFor();
    const { body } = await server.send("GET", "/roles");
    expect(body.roles).toMatchObject([{ name: "reader", allow: ["demo.*"], deny: ["demo.clear*"] }]);
  });

  test("a key is made with that role, shown once, copied, and works until it is revoked", async () => {
    await goTo("Keys");
    await button("New key").click();
    await button("Create key").click();
    expect(
      await dialog("New key")
        .getByLabel("Name")
        .evaluate((field: HTMLInputElement) => field.validity.valueMissing),
    ).toBe(true);
    await dialog("New key").getByLabel("Name").fill("nightly report");
    await dialog("New key").getByLabel("Role", { exact: true }).selectOption({ label: "reader" });
    await button("Create key").click();
    const shown = await dialog("New key created").locator(".once").innerText();
    await button("Copy key").click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(shown.trim());
    const key = shown.trim();
    const ask = () => fetch(`${server.url}/tools`, { headers: { authorization: `Bearer ${key}` } });
    const { tools } = (await (await ask()).json()) as { tools: { id: string }[] };
    expect(tools.map(({ id }) => id)).toContain("listTasks");
    expect(tools.map(({ id }) => id)).not.toContain("clearBoard");

    await button("Done").click();
    expect(await button("New key").evaluate((element) => element === document.activeElement)).toBe(true);
    await row("nightly report").getByText("role reader").waitFor();
    expect(await page.content()).not.toContain(key);
    await row("nightly report").getByRole("button", { name: "Revoke" }).click();
    await dialog("Revoke").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("No keys yet").waitFor();
    expect((await ask()).status).toBe(401);
  });

  test("rules are added, put in another order and deleted, and the order is what counts", async () => {
    await goTo("Rules");
    for (const [tool, decision] of [
      ["*", "Allow"],
      ["clear*", "Block"],
    ] as const) {
      await page.getByLabel("Service").fill("demo");
      await page.getByLabel("Tool").fill(tool);
      await page.getByLabel("Decision").selectOption({ label: decision });
      await button("Add rule").click();
      await row(`demo.${tool}`).first().waitFor();
    }
    const decide = async () => (await server.send("GET", "/tools/demo/clearBoard")).body.policy;
    expect(await decide()).toBe("allow");
    await button("Move demo.clear* up").click();
    await expect.poll(decide).toBe("block");
    await expect.poll(() => button("Move demo.clear* up").isDisabled()).toBe(true);
    await row("demo.clear*").first().getByRole("button", { name: "Delete" }).click();
    await dialog("Delete").getByRole("button", { name: "Delete" }).click();
    await expect.poll(decide).toBe("allow");
  });

  test("services are installed from a URL, a file and a registry; what is wrong is said and nothing typed is lost", async () => {
    const { files, document } = server.orders;
    await goTo("Services");
    await page.getByRole("link", { name: "Install service" }).click();
    await button("URL").click();
    await page.getByLabel("Id", { exact: true }).fill("by_url");
    await page.getByLabel("URL of the definition").fill("http://10.0.0.1/openapi.json");
    await button("Install").last().click();
    await page.getByRole("alert").getByText("egress_refused").waitFor();
    await opened.forgive(/502/);
    expect(await page.getByLabel("Id", { exact: true }).inputValue()).toBe("by_url");
    await page.getByLabel("URL of the definition").fill(`${files}/openapi.json`);
    await button("Install").last().click();
    await page.getByRole("heading", { name: "Orders by_url" }).waitFor();

    await goTo("Services");
    await page.getByRole("link", { name: "Install service" }).click();
    await button("File").click();
    await page.getByLabel("Id", { exact: true }).fill("by_file");
    await page
      .getByLabel("Definition file")
      .setInputFiles({ name: "orders.json", mimeType: "application/json", buffer: Buffer.from(document) });
    await page.getByText("orders.json, ").waitFor();
    await button("Install").last().click();
    await page.getByRole("heading", { name: "Orders by_file" }).waitFor();

    await goTo("Services");
    await page.getByRole("link", { name: "Install service" }).click();
    await button("Registry").click();
    await page.getByLabel("Id", { exact: true }).fill("by_registry");
    await page.getByLabel("URL of the registry entry").fill(`${files}/entry.json`);
    await button("Install").last().click();
    await page.getByRole("heading", { name: "Orders by_registry" }).waitFor();
    await page.getByRole("link", { name: "Definition" }).click();
    await button("Update from the registry").click();
    await page.getByText("The definition has not changed.").waitFor();

    await button("Delete service").click();
    await dialog("Delete service").getByRole("button", { name: "Delete" }).click();
    await page.getByText("by_registry is deleted.").waitFor();
    await page.locator("main").getByText("by_file").waitFor();
    expect(await page.locator("main").getByText("by_registry").count()).toBe(0);
  });

  test("what rules allow is read before they are installed, and above their tools", async () => {
    const rule = { name: "read", origins: ["https://api.example.com"], methods: ["GET"] };
    const says = "Scripts may send GET requests to https://api.example.com, to any path.";
    await goTo("Services");
    await page.getByRole("link", { name: "Install service" }).click();
    await page.getByLabel("Adapter").selectOption("http");
    await page.getByLabel("Definition").fill(JSON.stringify({ rules: [rule] }));
    await button("Preview").click();
    await page.getByText(says).waitFor();
    await page.getByLabel("Definition").fill(JSON.stringify({ rules: [{ ...rule, methods: ["DELETE"] }] }));
    await page.getByText(says).waitFor({ state: "detached" });
    await page.getByLabel("Definition").fill(JSON.stringify({ rules: [rule] }));
    await page.getByLabel("Id", { exact: true }).fill("rules");
    await button("Install").last().click();
    await page.getByRole("heading", { name: "once enabled" }).waitFor();
    expect(await page.getByText(says).count()).toBeGreaterThan(0);
    await server.send("DELETE", "/services/rules");
    await goTo("Services");
  });

  test("what a half-broken document leaves out is said on the page of its service", async () => {
    const get = (operationId: string, rest: object = {}) => ({
      get: { operationId, responses: {}, ...rest },
    });
    const broken = { parameters: [{ $ref: "#/components/parameters/<b>none</b>" }] };
    const document = {
      openapi: "3.1.0",
      info: { title: "Half", version: "1" },
      servers: [{ url: "https://api.example.com" }],
      paths: { "/whole": get("whole"), "/broken": get("broken", broken) },
    };
    await goTo("Services");
    await page.getByRole("link", { name: "Install service" }).click();
    await page.getByLabel("Adapter").selectOption("openapi");
    await page.getByLabel("Id", { exact: true }).fill("half");
    await page.getByLabel("Definition").fill(JSON.stringify(document));
    await button("Install").last().click();
    await page.getByRole("heading", { name: "Half half" }).waitFor();
    await page.getByText("Skipped in its definition:").waitFor();
    const says = 'GET /broken (broken) is left out. It refers to "#/components/parameters/<b>none</b>"';
    await row(says).waitFor();
    await page.getByRole("link", { name: "whole" }).waitFor();
    await server.send("DELETE", "/services/half");
    await goTo("Services");
  });

  test("a tool is switched off and on again, and what that means is said where it would be called", async () => {
    await page.getByRole("link", { name: /^Demo board/ }).click();
    await page.getByRole("switch", { name: "Tool addTask enabled" }).click();
    await page.getByRole("link", { name: "addTask" }).click();
    await page.getByText("This tool cannot be called").waitFor();
    expect(await button("Call").isDisabled()).toBe(true);
    await page.getByRole("link", { name: "← demo" }).click();
    await page.getByRole("switch", { name: "Tool addTask enabled" }).click();
    await expect.poll(async () => (await server.send("GET", "/tools/demo/addTask")).body.enabled).toBe(true);
  });

  test("settings that another person has changed meanwhile are not overwritten", async () => {
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByLabel("maxTasks").fill("7");
    await server.send("PATCH", "/services/demo/config", [{ op: "add", path: "/maxTasks", value: 9 }]);
    await button("Save settings").click();
    await page.getByRole("alert").waitFor();
    await opened.forgive(/412/);
    await button("Show stored values").click();
    await expect.poll(() => page.getByLabel("maxTasks").inputValue()).toBe("9");
  });

  test("secrets under names of one's own choice are typed hidden too, from the first character on", async () => {
    const { security: _security, components: _components, ...open } = JSON.parse(server.orders.document);
    await server.send("POST", "/services", { id: "open", adapter: "openapi", content: JSON.stringify(open) });
    await server.send("POST", "/services/open/enabled", { enabled: true });
    await goTo("Services");
    await page.getByRole("link", { name: "Orders open" }).click();
    await page.getByRole("link", { name: "Secrets" }).click();
    await button("Add").click();
    await page.getByLabel("Name", { exact: true }).fill("Authorization");
    await page.keyboard.press("Tab");
    const value = page.getByLabel("Authorization", { exact: true });
    expect(await value.getAttribute("type")).toBe("password");
    expect(await value.getAttribute("autocomplete")).toBe("new-password");
    expect(await value.inputValue()).toBe("");
    await value.fill(`Bearer ${API_TOKEN}`);
    await button("Add").click();
    await page.getByLabel("newKey", { exact: true }).fill("a mistake");
    await button("Remove").last().click();
    await page.getByLabel("newKey", { exact: true }).waitFor({ state: "detached" });
    await button("Save secrets").click();
    await page.getByText("headers/Authorization").waitFor();
    expect(await page.content()).not.toContain(API_TOKEN);
    const { body } = await server.send("POST", "/processes", {
      code: "return await tools.open.getOrder({ path: { id: 'o-1' } });",
      block: true,
    });
    expect(body).toMatchObject({ exitState: "success" });
    expect(server.orders.seen.at(-1)).toBe(`Bearer ${API_TOKEN}`);
  });

  test("a module is installed from a package and deleted", async () => {
    await goTo("Modules");
    await page.getByLabel("URL").fill(`${server.orders.files}/module.tar.zst`);
    await button("Install").click();
    await page.getByRole("link", { name: "The packed packed" }).click();
    await button("Delete").click();
    await dialog("Delete").getByRole("button", { name: "Delete" }).click();
    await page.getByText("packed is deleted.").waitFor();
  });

  test("a module is installed from a registry, enabled, updated and deleted; a package that is another one is refused", async () => {
    const { files, publishModule } = server.orders;
    await goTo("Modules");
    // A notice of the test before would be taken for one of this test.
    await expect.poll(() => page.getByText(/^packed is /).count(), { timeout: 10_000 }).toBe(0);
    await page.getByLabel("Source").selectOption({ label: "Registry entry" });
    await page.getByLabel("URL").fill(`${files}/wrong-module.json`);
    await button("Install").click();
    await page.getByRole("alert").getByText("hash_mismatch").waitFor();
    await opened.forgive(/502/);
    expect(await page.getByLabel("URL").inputValue()).toBe(`${files}/wrong-module.json`);
    await page.getByLabel("URL").fill(`${files}/module.json`);
    await button("Install").click();
    await page.getByText("packed is installed.").waitFor();

    await page.getByRole("switch", { name: "Module packed enabled" }).click();
    await expect
      .poll(async () => (await server.send("GET", "/modules/packed")).body)
      .toMatchObject({ enabled: true, state: "active" });
    await page.getByRole("link", { name: "The packed packed" }).click();
    await page.getByText("1.0.0").waitFor();
    await button("Update").click();
    await page.getByText("packed is already up to date.").waitFor();
    await publishModule("2.0.0");
    await button("Update").click();
    await page.getByText("packed is updated.").waitFor();
    await page.getByText("2.0.0").waitFor();

    await button("Delete").click();
    await dialog("Delete").getByRole("button", { name: "Delete" }).click();
    await page.getByText("packed is deleted.").waitFor();
  });

  test("the audit trail is narrowed to an action and an outcome, and saved to a file", async () => {
    await goTo("Audit");
    await page.getByLabel("Action").fill("key.*");
    await row("key.revoke").waitFor();
    await row("key.create").click();
    await row("key.create")
      .getByText(/^request/)
      .waitFor();
    await expect.poll(() => page.locator("main .list > li").count()).toBe(2);
    await page.getByLabel("Outcome").selectOption({ label: "Refused" });
    await page.getByText("No records yet").waitFor();
    await page.getByLabel("Outcome").selectOption({ label: "All outcomes" });
    const [download] = await Promise.all([page.waitForEvent("download"), button("Export").click()]);
    expect(download.suggestedFilename()).toBe("audit.jsonl");
    const stream = await download.createReadStream();
    const lines = (await stream.setEncoding("utf8").toArray()).join("").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).action).sort()).toEqual(["key.create", "key.revoke"]);
  });

  test("all along, the browser had nothing to complain about", () => {
    expect(opened.complaints).toEqual([]);
  });
});
