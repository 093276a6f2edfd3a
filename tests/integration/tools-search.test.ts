/** Listing and searching tools: order, ranking, corrections, pages, filters. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createToolSearch } from "#api/tools/search.ts";
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
  tools: { serviceId: string; id: string; score?: number; signature?: string }[];
  nextCursor: string | null;
  services?: string[];
}

async function list(query = ""): Promise<Found> {
  const answer: Answer = await server.get(`/tools${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body as Found;
}
const search = async (text: string, more = "") =>
  (await list(`?query=${encodeURIComponent(text)}${more}`)).tools;
const paths = (tools: readonly { serviceId: string; id: string }[]) =>
  tools.map(({ serviceId, id }) => `${serviceId}.${id}`);

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
    expect(paths(await search("letter", "&enabled=true"))).not.toContain("mailer.send");
    expect(paths(await search("letter", "&enabled=false"))).toEqual(["mailer.send"]);
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
  test("puts first what is named so in path and name, and last what only mentions it, each with a score and a type", async () => {
    const found = await search("issue");
    expect(paths(found).toSorted()).toEqual(
      ["github.closeTicket", "github.createIssue", "github.listIssues", "mailer.issue"].toSorted(),
    );
    expect(paths(found)[0]).toBe("mailer.issue");
    expect(paths(found).at(-1)).toBe("github.closeTicket");
    const scores = found.map(({ score }) => score as number);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(scores.at(-1)).toBeGreaterThan(0);
    expect(found[0]?.signature).toMatch(/^\(params: .+\) => Promise<.+>$/);
    const [whole] = await search("github.createIssue");
    expect(whole).toMatchObject({ serviceId: "github", id: "createIssue" });
    expect((await list()).tools[0]).not.toHaveProperty("signature");
  });

  test("wants any of the words; more of them rank higher", async () => {
    expect(paths(await search("create issue"))[0]).toBe("github.createIssue");
    expect(paths(await search("issue voucher letter"))).toEqual(
      expect.arrayContaining(["mailer.issue", "mailer.send", "github.createIssue"]),
    );
    expect(paths(await search("give out a voucher to somebody, please"))[0]).toBe("mailer.issue");
  });

  test("takes other forms, prefixes, misspellings, other words, parts of camel case, whole paths and other alphabets", async () => {
    expect(paths(await search("voucher"))[0]).toBe("mailer.issue");
    expect(paths(await search("vouch"))[0]).toBe("mailer.issue");
    expect(paths(await search("creat isue"))[0]).toBe("github.createIssue");
    expect(paths(await search("gihtub tiket"))).toContain("github.closeTicket");
    expect(paths(await search("report a new bug"))[0]).toBe("github.createIssue");
    expect(paths(await search("http status"))[0]).toBe("github.HTTPStatusOf");
    expect(paths(await search("httpstatusof"))[0]).toBe("github.HTTPStatusOf");
    expect(paths(await search("grüße köln"))).toEqual(["github.HTTPStatusOf"]);
    expect(paths(await search("the issue of a github"))).toEqual(paths(await search("issue github")));
  });

  test("that finds nothing names the nearest, with score 0, and the services there are", async () => {
    for (const text of ["zzqqxx", "!!!"]) {
      const answer = await list(`?query=${encodeURIComponent(text)}`);
      expect(answer.tools).toHaveLength(5);
      expect(answer.tools.every(({ score }) => score === 0)).toBe(true);
      expect(answer.services?.toSorted()).toEqual(["github", "mailer"]);
      expect(answer.nextCursor).toBeNull();
    }
    expect(await list("?query=voucher")).not.toHaveProperty("services");
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

  test("sees a change at once, also one that was made by another server", async () => {
    const elsewhere = createToolSearch(server.pool);
    const searchElsewhere = async (text: string) => {
      const { rows } = await elsewhere.search(text, {}, { from: null, limit: 10 }, () => true);
      return paths(rows.filter(({ score }) => score > 0));
    };
    expect(await searchElsewhere("zeppelin")).toEqual([]);
    await server.addService("air", { fly: { description: "Flies a zeppelin." } });
    expect(paths(await search("zeppelin"))).toEqual(["air.fly"]);
    expect(await searchElsewhere("zeppelin")).toEqual(["air.fly"]);
    expect(paths(await search("zepelin"))).toEqual(["air.fly"]);
    await server.request("DELETE", "/services/air");
    expect((await search("zeppelin")).every(({ score }) => score === 0)).toBe(true);
    expect(await searchElsewhere("zeppelin")).toEqual([]);
  });
});
