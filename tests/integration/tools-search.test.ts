/** Listing and searching tools: order, ranking, corrections, pages, filters. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "./harness/server.ts";
import { startToolsServer, type ToolsServer } from "./tools-server.ts";

let server: ToolsServer;

beforeAll(async () => {
  server = await startToolsServer();
  await server.addService("github", {
    createIssue: { name: "Create an issue", description: "Opens a ticket in a repository." },
    listIssues: { name: "List issues", description: "Pages through all issues of a repository." },
    closeTicket: { name: "Close", description: "Closes an issue.", destructive: true },
    HTTPStatusOf: { name: "Status", description: "Grüße aus Köln: reachability" },
  });
  await server.addService("mailer", {
    send: { name: "Send a letter", description: "Sends text to a person; mentions github once." },
    issue: { name: "Vouchers", description: "Gives out a voucher." },
  });
});
afterAll(() => server?.close());

interface Found {
  tools: { serviceId: string; id: string; score?: number }[];
  nextCursor: string | null;
}

async function list(query = ""): Promise<Found> {
  const answer: Answer = await server.get(`/tools${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body as Found;
}
const search = async (text: string, more = "") =>
  (await list(`?query=${encodeURIComponent(text)}${more}`)).tools;
const paths = (tools: Found["tools"]) => tools.map(({ serviceId, id }) => `${serviceId}.${id}`);

describe("GET /tools", () => {
  test("lists the service installed last first, each in the order of its definition, with every field", async () => {
    const { tools, nextCursor } = await list();
    expect(paths(tools)).toEqual([
      "mailer.send",
      "mailer.issue",
      "github.createIssue",
      "github.listIssues",
      "github.closeTicket",
      "github.HTTPStatusOf",
    ]);
    expect(nextCursor).toBeNull();
    expect(tools[4]).toEqual({
      serviceId: "github",
      id: "closeTicket",
      name: "Close",
      description: "Closes an issue.",
      enabled: true,
      effectivelyEnabled: true,
      destructive: true,
      policy: "allow",
    });
  });

  test("pages through everything exactly once, plain and ranked", async () => {
    for (const query of ["", "&query=issue"]) {
      const whole = paths((await list(`?limit=200${query}`)).tools);
      const seen: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page = await list(`?limit=1${query}${cursor && `&cursor=${cursor}`}`);
        seen.push(...paths(page.tools));
        cursor = page.nextCursor;
      }
      expect(seen).toEqual(whole);
      expect(whole.length).toBeGreaterThan(2);
    }
  });

  test("a cursor of the other listing is refused", async () => {
    const { nextCursor } = await list("?limit=1");
    expect((await server.get(`/tools?query=issue&cursor=${nextCursor}`)).body.code).toBe("invalid_cursor");
    expect((await server.get("/tools?cursor=abc")).body.code).toBe("invalid_cursor");
  });

  test("filters by service and flag; an unknown service is not found, with suggestions", async () => {
    expect(paths((await list("?serviceId=mailer")).tools)).toEqual(["mailer.send", "mailer.issue"]);
    await server.post("/tools/mailer/send/enabled", { enabled: false });
    expect(paths((await list("?enabled=false")).tools)).toEqual(["mailer.send"]);
    expect(paths(await search("letter", "&enabled=true"))).toEqual([]);
    await server.post("/tools/mailer/send/enabled", { enabled: true });
    const unknown = await server.get("/tools?serviceId=gihub");
    expect([unknown.status, unknown.body.error]).toEqual([
      404,
      "There is no service gihub. Did you mean github?",
    ]);
    expect((await server.get("/tools?serviceId=9x")).status).toBe(400);
  });

  test("a disabled service is listed as not effectively enabled", async () => {
    await server.post("/services/mailer/enabled", { enabled: false });
    const { tools } = await list("?serviceId=mailer");
    expect(tools[0]).toMatchObject({ enabled: true, effectivelyEnabled: false });
    await server.post("/services/mailer/enabled", { enabled: true });
  });
});

describe("a search", () => {
  test("counts 12 for the path, 10 for the name, 5 for the description, 8 for an exact segment", async () => {
    const found = await search("issue");
    expect(found.map(({ serviceId, id, score }) => [`${serviceId}.${id}`, score])).toEqual([
      ["github.createIssue", 12 + 10],
      // "issues" begins with the word: three quarters
      ["github.listIssues", 12 * 0.75 + 10 * 0.75 + 5 * 0.75],
      ["mailer.issue", 12 + 8],
      ["github.closeTicket", 5],
    ]);
    expect((await search("github.createIssue"))[0]).toMatchObject({
      id: "createIssue",
      score: 12 * 3 + 10 * 2 + 8 * 2,
    });
  });

  test("wants all words, wherever they are", async () => {
    expect(paths(await search("create issue"))).toEqual(["github.createIssue"]);
    expect(paths(await search("issue repository"))).toEqual(
      ["github.listIssues", "github.createIssue"].sort(),
    );
    expect(paths(await search("issue voucher letter"))).toEqual([]);
  });

  test("takes prefixes, misspellings, parts of camel case, whole paths and other alphabets", async () => {
    expect(paths(await search("repos"))).toHaveLength(2);
    expect(paths(await search("creat isue"))[0]).toBe("github.createIssue");
    expect(paths(await search("gihtub tiket"))).toContain("github.closeTicket");
    expect(paths(await search("http status"))).toEqual(["github.HTTPStatusOf"]);
    expect(paths(await search("httpstatusof"))).toEqual(["github.HTTPStatusOf"]);
    expect(paths(await search("grüße köln"))).toEqual(["github.HTTPStatusOf"]);
    expect(paths(await search("the issue of a github"))[0]).toBe("github.createIssue");
  });

  test.each([
    "'",
    "\\",
    "a'b:*|c",
    "' | 'x",
    ":A",
    "!!!",
    "%",
    "\u{1f600}",
    "select 1; --",
    "((",
    "a & b",
    "x".repeat(200),
  ])("survives %j", async (text) => {
    expect((await server.get(`/tools?query=${encodeURIComponent(text)}`)).status).toBe(200);
  });

  test("sees a change at once", async () => {
    expect(await search("zeppelin")).toEqual([]);
    await server.addService("air", { fly: { description: "Flies a zeppelin." } });
    expect(paths(await search("zeppelin"))).toEqual(["air.fly"]);
    expect(paths(await search("zepelin"))).toEqual(["air.fly"]);
    await server.request("DELETE", "/services/air");
    expect(await search("zeppelin")).toEqual([]);
    expect(await server.pool`select from tool_vocabulary where word = 'zeppelin'`).toHaveLength(0);
    expect(await server.pool`select from tool_vocabulary where word = 'issue'`).toHaveLength(1);
  });
});
