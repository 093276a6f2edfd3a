/** Requests of `fetch` as calls of the one rule that they fit: who sees which, what is asked, told, recorded and previewed. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { describeForm } from "#api/mcp/elicitation.ts";
import { type ApprovalsServer, type Person, startApprovalsServer } from "./approvals/server.ts";
import { cyrnel } from "./command/cyrnel.ts";
import { builtin } from "./modules-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";

const received: string[] = [];
const upstream = createServer((request, response) => {
  received.push(`${request.method} ${request.url}`);
  response.end("ok");
});

let on: ApprovalsServer;
let environment: ScriptedEnvironment;
let origin: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  environment = new ScriptedEnvironment();
  on = await startApprovalsServer({
    environments: [
      builtin({ id: "typescript-process" }, () => environment),
      ...BUILTIN_MODULES.filter(({ id }) => id === "http"),
    ],
    environment: { CYRNEL_EGRESS_ALLOW: "127.0.0.1" },
  });
  await install("web", [
    { name: "read", origins: [origin], pathPrefix: "/api", methods: ["GET", "HEAD"] },
    { name: "write", origins: [origin], pathPrefix: "/api/items", methods: ["POST", "DELETE"] },
    { name: "secret", origins: ["https://hidden.example"], methods: ["GET"] },
  ]);
  await on.server.post("/policies", { servicePattern: "web", toolPattern: "write", decision: "ask" });
});
beforeEach(() => {
  received.length = 0;
});
afterAll(async () => {
  await on?.[Symbol.asyncDispose]();
  upstream.close();
});

async function install(id: string, rules: object[], isEnabled = true): Promise<void> {
  const made = await on.server.post("/services", { id, adapter: "http", content: JSON.stringify({ rules }) });
  expect(made.status, made.text).toBe(201);
  if (isEnabled) {
    const enabled = await on.server.post(`/services/${id}/enabled`, { enabled: true });
    expect(enabled.status, enabled.text).toBe(200);
  }
}

let gates = 0;
/** A run that is held while `work` asks on its behalf. */
async function during<T>(work: (eid: number) => Promise<T>, person: Person = on.agent): Promise<[T, number]> {
  gates += 1;
  const gate = `held${gates}`;
  const { body } = await person.send("POST", "/processes", { code: `gate ${gate}` });
  await expect.poll(async () => (await on.read(body.id)).state).toBe("running");
  try {
    return [await work(body.id), body.id];
  } finally {
    environment.open(gate);
    await on.read(body.id, "?wait=10000");
  }
}

const call = (eid: number, serviceId: string, toolId: string, parameters: object) =>
  environment.bindings.invokeTool({
    eid,
    serviceId,
    toolId,
    parameters: parameters as Record<string, unknown>,
  });
const request = (eid: number, parameters: object) => call(eid, "fetch", "", parameters);

const calling = (serviceId: string, toolId: string, parameters: object, person?: Person) =>
  during(
    (eid) =>
      call(eid, serviceId, toolId, parameters).then(
        (answer) => answer as { status: number; body: object },
        (error) => ({ code: error.code, status: error.status, message: error.message }),
      ),
    person,
  );
const fetching = (parameters: object, person?: Person) => calling("fetch", "", parameters, person);

test("a request becomes a call of the rule that it fits, in trail and audit", async () => {
  const [answer, id] = await fetching({ url: `${origin}/api/./list?x=1#top` });
  expect(answer).toMatchObject({ status: 200, body: { text: "ok" } });
  expect(received).toEqual(["GET /api/list?x=1"]);
  const { calls } = (await on.server.get(`/processes/${id}/calls`)).body;
  expect(calls).toMatchObject([
    { serviceId: "web", toolId: "read", status: "ok", parameters: { url: `${origin}/api/list?x=1` } },
  ]);
  const { records } = (await on.server.get(`/audit?action=tool.call&limit=5`)).body;
  expect(JSON.stringify(records)).toContain('"web.read"');
});

describe("what no rule allows", () => {
  test.each<[string, object, string, RegExp]>([
    [
      "a method",
      { url: "/api/list", method: "PUT" },
      "no_rule",
      /the method PUT is not allowed by the rule web\.read, which allows GET, HEAD/,
    ],
    [
      "a path",
      { url: "/other" },
      "no_rule",
      /the path is not allowed by the rule web\.read, which allows \/api;/,
    ],
    [
      "a path that begins alike",
      { url: "/apix" },
      "no_rule",
      /the path is not allowed by the rule web\.read/,
    ],
    ...[
      "..;/x",
      "..%3f",
      "..%3fx=1",
      "..%23",
      "..%253f",
      "%uff0e%uff0e/x",
      "%uff0e%uff0e%uff0fx",
      "..%u2215x",
    ].map((up): [string, object, string, RegExp] => [
      `a way up (${up})`,
      { url: `/api/${up}` },
      "invalid_parameters",
      /a segment of dots/,
    ]),
  ])("%s is refused with the rule that is near", async (_what, parameters, code, message) => {
    const { url } = parameters as { url: string };
    const [answer] = await fetching({ ...parameters, url: origin + url });
    expect(answer).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(received).toEqual([]);
  });

  test("another port or scheme of the same host is told apart from another host", async () => {
    const [port] = await fetching({ url: "http://127.0.0.1:1/api" });
    expect(port).toMatchObject({
      message: expect.stringContaining("the scheme or port is not allowed by the rule web.read"),
    });
    const [host] = await fetching({ url: "https://evil.example/api" });
    expect(host).toMatchObject({
      code: "no_rule",
      status: 404,
      message: expect.stringContaining(
        `no rule allows https://evil.example. Rules of this script: web.read (GET, HEAD ${origin}/api)`,
      ),
    });
    expect(received).toEqual([]);
  });

  test.each([
    {},
    { url: 1 },
    { url: "/relative" },
    { url: "http://u:p@127.0.0.1/" },
    { url: "http://127.0.0.1/", method: "" },
  ])("%j is no request", async (parameters) => {
    const [answer] = await fetching(parameters);
    expect(answer).toMatchObject({ code: "invalid_parameters" });
  });

  test("no URL is of use to a script that sees no rule; it learns of none", async () => {
    const { body: role } = await on.server.post("/roles", { name: "blind", allow: ["shop.*"] });
    const blind = await on.makeKey(["processes:write", "processes:read"], role.id);
    const [answer] = await fetching({ url: `${origin}/api/list` }, blind);
    expect(answer).toMatchObject({
      code: "no_rule",
      message: expect.stringContaining("no rule lets this script make requests"),
    });
    expect(JSON.stringify(answer)).not.toContain("web.");
    const { body: half } = await on.server.post("/roles", { name: "half", allow: ["web.read"] });
    const [near] = await fetching(
      { url: "https://hidden.example/" },
      await on.makeKey(["processes:write", "processes:read"], half.id),
    );
    expect(near).toMatchObject({ message: expect.stringContaining("web.read") });
    expect(JSON.stringify(near)).not.toContain("web.secret");
  });
});

test("a request that fits two rules is made by neither, until one is disabled", async () => {
  await install("more", [{ name: "all", origins: [origin], methods: ["GET"] }]);
  const [two] = await fetching({ url: `${origin}/api/list` });
  expect(two).toMatchObject({
    code: "ambiguous_rule",
    status: 409,
    message: expect.stringMatching(/fits more than one rule: .*web\.read .*more\.all|more\.all .*web\.read/),
  });
  expect(received).toEqual([]);
  await on.server.post("/tools/more/all/enabled", { enabled: false });
  expect((await fetching({ url: `${origin}/api/list` }))[0]).toMatchObject({ status: 200 });
  expect((await fetching({ url: `${origin}/elsewhere` }))[0]).toMatchObject({ code: "tool_disabled" });
  await on.server.request("DELETE", "/services/more");
  expect((await fetching({ url: `${origin}/elsewhere` }))[0]).toMatchObject({ code: "no_rule" });
});

test("nor by the name of the looser one, where the other asks a person", async () => {
  await install("loose", [{ name: "all", origins: [origin], methods: ["GET", "POST"] }]);
  const parameters = { url: `${origin}/api/items`, method: "POST" };
  const [inScript] = await calling("loose", "all", parameters);
  expect(inScript).toMatchObject({
    code: "ambiguous_rule",
    message: expect.stringMatching(/loose\.all.*web\.write|web\.write.*loose\.all/),
  });
  const direct = await on.server.post("/tools/loose/all/invoke", { parameters });
  expect([direct.status, direct.body.code], direct.text).toEqual([400, "invalid_parameters"]);
  expect(received).toEqual([]);
  // What the other is not for.
  expect((await calling("loose", "all", { ...parameters, url: `${origin}/x` }))[0]).toMatchObject({
    status: 200,
  });
  // Nor by another spelling of what the server may take for the same path.
  for (const path of [
    "/%61pi/items",
    "//api/items",
    "/api;a/items",
    "/API/items",
    "/api%2fitems",
    "/api%3f/items",
  ]) {
    const answers = [
      await fetching({ url: `${origin}${path}`, method: "POST" }),
      await calling("loose", "all", { url: `${origin}${path}`, method: "POST" }),
    ];
    for (const [answer] of answers) {
      expect(answer, path).toMatchObject({
        code: "ambiguous_rule",
        message: expect.stringMatching(/fits loose\.all .* may read the path as one of web\.write/),
      });
    }
  }
  expect(received).toHaveLength(1);
  await on.server.request("DELETE", "/services/loose");
});

test("a person who is asked sees method, address and size of the body; then exactly this is sent", async () => {
  const url = `${origin}/api/items?token=in-the-query`;
  const [answer] = await during(async (eid) => {
    const sending = request(eid, { url, method: "POST", body: "grüß" });
    const [approval = ""] = await on.paused(eid);
    const { body: asked } = await on.boss.send("GET", `/approvals/${approval}`);
    expect(asked).toMatchObject({
      serviceId: "web",
      toolId: "write",
      destructive: true,
      message: `The script wants to call web.write: POST ${origin}/api/items with a body of 6 bytes.`,
      parameters: { url, method: "POST", body: "grüß" },
      files: [],
    });
    const what = `POST ${origin}/api/items with a body of 6 bytes.`;
    expect(describeForm(asked)?.message).toContain(what);
    const shown = await cyrnel(["approvals", "show", approval, "--url", on.server.url], {
      environment: { CYRNEL_API_KEY: on.boss.key },
    });
    expect(shown.stdout, shown.stderr).toContain(what);
    await on.decide(approval, "approve");
    return sending;
  });
  expect(answer).toMatchObject({ status: 200 });
  expect(received).toEqual(["POST /api/items?token=in-the-query"]);
});

test.each([
  ["another notation of the host", (url: string) => url.replace("127.0.0.1", "0x7f.1")],
  ["dots", (url: string) => url.replace("/api/items", "/api/x/%2e%2e/./items")],
  ["a scheme in capitals", (url: string) => url.replace("http:", "HTTP:")],
  ["a fragment", (url: string) => `${url}#/api/harmless`],
])(
  "a person is shown the address that is sent when the rule is called by its name: %s",
  async (_what, write) => {
    const url = `${origin}/api/items`;
    const [answer, id] = await during(async (eid) => {
      const sending = call(eid, "web", "write", { url: write(url), method: "DELETE" });
      const [approval = ""] = await on.paused(eid);
      const { body: asked } = await on.boss.send("GET", `/approvals/${approval}`);
      expect(asked).toMatchObject({
        message: `The script wants to call web.write: DELETE ${url}.`,
        parameters: { url, method: "DELETE" },
      });
      await on.decide(approval, "approve");
      return sending;
    });
    expect(answer).toMatchObject({ status: 200, url });
    expect(received).toEqual(["DELETE /api/items"]);
    const { calls } = (await on.server.get(`/processes/${id}/calls`)).body;
    expect(calls).toMatchObject([{ parameters: { url } }]);
  },
);

test("a rule is called by its name too, and refuses there what it is not for", async () => {
  const path = "/tools/web/read/invoke";
  const good = await on.server.post(path, { parameters: { url: `${origin}/api/x` } });
  expect([good.status, good.body.result.body]).toEqual([200, { text: "ok" }]);
  for (const parameters of [
    { url: `${origin}/x` },
    { url: `${origin}/api/x`, method: "POST" },
    { url: `${origin}/api/it\nems` },
    { url: `${origin}/api/%2e%2e%3f` },
    { url: `${origin}/api/x`, headers: [["Host", "evil"]] },
    { url: "http://169.254.169.254/api" },
  ]) {
    const answer = await on.server.post(path, { parameters });
    expect(answer.status).toBeGreaterThanOrEqual(400);
  }
  expect(received).toEqual(["GET /api/x"]);
});

test("a definition is shown in sentences before it is installed, and stored nowhere", async () => {
  const rules = [
    { name: "read", origins: ["https://api.example.com"], methods: ["GET"], auth: { type: "bearer" } },
  ];
  const before = (await on.server.get("/services")).body.services.length;
  const shown = await on.server.post("/services/preview", {
    adapter: "http",
    content: JSON.stringify({ rules }),
  });
  expect(shown.status, shown.text).toBe(200);
  expect(shown.body).toMatchObject({
    toolCount: 1,
    tools: [
      {
        id: "read",
        destructive: false,
        description: expect.stringContaining(
          "Scripts may send GET requests to https://api.example.com, to any path.",
        ),
      },
    ],
  });
  expect((await on.server.get("/services")).body.services.length).toBe(before);
  const wrong = await on.server.post("/services/preview", { adapter: "http", content: "{}" });
  expect([wrong.status, wrong.body.code]).toEqual([400, "invalid_definition"]);
  expect((await on.agent.send("POST", "/services/preview", { adapter: "http", content: "{}" })).status).toBe(
    403,
  );
});

test("a disabled service says what it would allow, and allows nothing", async () => {
  await install("later", [{ name: "read", origins: ["http://127.0.0.1:9"], methods: ["GET"] }], false);
  const { tools } = (await on.server.get("/tools?serviceId=later")).body;
  expect(tools).toMatchObject([{ description: expect.stringContaining("http://127.0.0.1:9, to any path") }]);
  expect((await fetching({ url: "http://127.0.0.1:9/" }))[0]).toMatchObject({ code: "service_disabled" });
});
