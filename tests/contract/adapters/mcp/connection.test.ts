/** One connection per service: when it is made, kept, lost and given up, and what is left behind (nothing). */
import { describe, expect, test } from "vitest";
import { hostMcp, startEverything } from "./host.ts";
import { eventually, type ScriptedServer, startScripted } from "./scripted-server.ts";

const initializations = (server: ScriptedServer) =>
  server.received.filter((message) => message.method === "initialize").length;

describe("over HTTP", () => {
  test("connects at the first call, once for many at the same time", async () => {
    await using server = await startScripted();
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: server.url });
    expect(initializations(server)).toBe(1);
    await Promise.all(Array.from({ length: 10 }, () => host.call("s", "ping")));
    expect(await host.call("s", "ping")).toBe("called ping");
    expect(initializations(server)).toBe(2);
  });

  test("a session that has ended is begun again, and the call is made once more", async () => {
    let sessions = 0;
    let calls = 0;
    await using server = await startScripted(({ message, response, request, refuse }) => {
      if (message.method === "initialize") {
        sessions += 1;
        response.setHeader("mcp-session-id", `session-${sessions}`);
        return false;
      }
      if (message.method !== "tools/call") return false;
      calls += 1;
      if (calls === 2) return refuse(404, "Session not found");
      expect(request.headers["mcp-session-id"]).toBe(`session-${sessions}`);
      return false;
    });
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: server.url });
    await host.call("s", "ping");
    expect(await host.call("s", "ping")).toBe("called ping");
    expect([sessions, calls]).toEqual([3, 3]);
  });

  test("404 for ever is told, not tried for ever", async () => {
    await using server = await startScripted(({ message, refuse }) => {
      if (message.method !== "tools/call") return false;
      return refuse(404, "no such thing");
    });
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: server.url });
    await expect(host.call("s", "ping")).rejects.toMatchObject({ code: "mcp_refused", status: 404 });
    await expect(host.call("s", "ping")).rejects.toThrow("no such thing");
    expect(server.received.filter((message) => message.method === "tools/call")).toHaveLength(2);
  });

  test("a call that the server does not take leaves others under way alone", async () => {
    let release = () => {};
    await using server = await startScripted(({ message, answer, refuse }) => {
      if (message.method !== "tools/call") return false;
      if (message.params?.arguments?.bad) return refuse(400, "bad request");
      release = () => answer({ content: [{ type: "text", text: "slow but good" }] });
      return true;
    });
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: server.url });
    const slow = host.call("s", "ping");
    await eventually(() => server.received.some((message) => message.method === "tools/call"));
    await expect(host.call("s", "ping", { bad: true })).rejects.toMatchObject({ status: 400 });
    release();
    expect(await slow).toBe("slow but good");
  });

  test("a server that was restarted is connected to again", async () => {
    const first = await startEverything("streamableHttp");
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: first.url });
    expect(await host.call("s", "echo", { message: "1" })).toBe("Echo: 1");
    await first[Symbol.asyncDispose]();
    await expect(host.call("s", "echo", { message: "2" })).rejects.toMatchObject({ code: "mcp_unreachable" });
    await using _second = await startEverything("streamableHttp", Number(new URL(first.url).port));
    expect(await host.call("s", "echo", { message: "3" })).toBe("Echo: 3");
  });

  test("an abort ends the request: the server sees its connection close, and is told", async () => {
    let closed = false;
    await using server = await startScripted(({ message, response }) => {
      if (message.method !== "tools/call") return false;
      response.on("close", () => {
        closed = true;
      });
      return true;
    });
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: server.url });
    const controller = new AbortController();
    const call = host.call("s", "ping", {}, controller.signal);
    await eventually(() => server.received.some((message) => message.method === "tools/call"));
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "mcp_canceled" });
    await eventually(() => closed && server.received.some((m) => m.method === "notifications/cancelled"));
  });

  test("a call that succeeded is not canceled afterwards, and its stream does not stay open", async () => {
    let closed = false;
    await using server = await startScripted(({ message, stream, response }) => {
      if (message.method !== "tools/call") return false;
      response.on("close", () => {
        closed = true;
      });
      stream().send({ id: message.id, result: { content: [{ type: "text", text: "done" }] } });
      return true;
    });
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: server.url });
    expect(await host.call("s", "ping")).toBe("done");
    await eventually(() => closed);
    expect(server.received.some((message) => message.method === "notifications/cancelled")).toBe(false);
  });

  test("dehydrating ends what is under way and says goodbye to the session", async () => {
    await using server = await startScripted(({ message, response }) => {
      if (message.method === "initialize") response.setHeader("mcp-session-id", "abc");
      return message.method === "tools/call";
    });
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: server.url });
    const call = host.call("s", "ping").catch((error: Error) => error);
    await eventually(() => server.received.some((message) => message.method === "tools/call"));
    await host.adapter.dehydrateService("s");
    await host.adapter.dehydrateService("s");
    expect(await call).toMatchObject({ code: "mcp_canceled" });
    expect(server.received.filter((message) => message.method === "http:DELETE")).toHaveLength(2);
    await expect(host.call("s", "ping")).rejects.toThrow("There is no tool s.ping");
  });

  test("secrets go with every request, configuration and tools alike; none goes into the definition", async () => {
    await using server = await startScripted();
    await using host = await hostMcp();
    const definition = await host.install(
      "s",
      { transport: "http", url: server.url },
      {
        config: { headers: { "X-Team": "a" } },
        secrets: { bearerToken: "tok-123456", headers: { "X-Api-Key": "key-123456" } },
      },
    );
    await host.call("s", "ping");
    const after = server.headers.slice(-3);
    for (const headers of after) {
      expect(headers).toMatchObject({
        authorization: "Bearer tok-123456",
        "x-api-key": "key-123456",
        "x-team": "a",
      });
    }
    expect(JSON.stringify(definition)).not.toContain("123456");
  });

  test("a secret no header can carry is refused without being told", async () => {
    await using server = await startScripted();
    await using host = await hostMcp();
    const install = host.install(
      "s",
      { transport: "http", url: server.url },
      { secrets: { headers: { "X-Key": "topsecret\r\nX-Evil: 1" } } },
    );
    await expect(install).rejects.toThrow(/secrets\.headers: the value of x-key/);
    await expect(install).rejects.not.toThrow(/topsecret/);
  });

  test("a server that wants credentials before it lists: installed without tools, and listed once it has them", async () => {
    await using server = await startScripted(({ request, refuse }) => {
      if (request.headers.authorization === "Bearer right-token") return false;
      return refuse(401, "who are you?");
    });
    await using host = await hostMcp();
    const input = JSON.stringify({ transport: "http", url: server.url });
    const locked = await host.adapter.generateDefinition(input);
    expect(locked.tools).toEqual([]);
    expect(locked.description).toContain("Set the secrets of this service, then POST /services/:id/sync");
    const open = await host.adapter.generateDefinition(input, {
      config: {},
      secrets: { bearerToken: "right-token" },
    });
    expect(open.tools.map((tool) => tool.id)).toEqual(["ping"]);
    // Wrong ones must not turn a service with tools into one without.
    await expect(
      host.adapter.generateDefinition(input, { config: {}, secrets: { bearerToken: "wrong-token" } }),
    ).rejects.toMatchObject({ status: 401 });
  });
});

describe("over the older HTTP transport", () => {
  test("a stream that ends is opened again for the next call", async () => {
    const first = await startEverything("sse");
    await using host = await hostMcp();
    await host.install("s", { transport: "http", url: first.url });
    const slow = host
      .call("s", "trigger_long_running_operation", { duration: 60, steps: 2 })
      .catch((error) => error);
    expect(await host.call("s", "echo", { message: "1" })).toBe("Echo: 1");
    await first[Symbol.asyncDispose]();
    expect(await slow).toMatchObject({ code: "mcp_connection_lost" });
    await using _second = await startEverything("sse", Number(new URL(first.url).port));
    expect(await host.call("s", "echo", { message: "2" })).toBe("Echo: 2");
  });
});

describe("programs", () => {
  test("are not started unless the server's operator allows it", async () => {
    await using host = await hostMcp();
    const install = host.install("s", { transport: "stdio", command: "touch", args: ["/tmp/never"] });
    await expect(install).rejects.toThrow("CYRNEL_ALLOW_STDIO_MCP=true");
    await using open = await hostMcp({ allowStdio: true });
    const { adapterDomain } = await open.install("s", await scriptedProgram(HONEST));
    await expect(
      host.adapter.hydrateService({ id: "s", adapterDomain, tools: {}, config: {}, secrets: {} }),
    ).rejects.toThrow("CYRNEL_ALLOW_STDIO_MCP=true");
  });

  test("dehydrating ends the program and all it has started, even what ignores signals", async () => {
    await using host = await hostMcp({ allowStdio: true });
    await host.install("s", await scriptedProgram(STUBBORN));
    const pids = JSON.parse((await host.call("s", "pids")) as string) as number[];
    expect(pids).toHaveLength(2);
    for (const pid of pids) expect(isAlive(pid)).toBe(true);
    await host.adapter.dehydrateService("s");
    await eventually(() => !pids.some(isAlive));
  });

  test("a program that dies fails its calls with its last words, and is started again for the next", async () => {
    await using host = await hostMcp({ allowStdio: true });
    await host.install("s", await scriptedProgram(HONEST));
    await expect(host.call("s", "die")).rejects.toMatchObject({
      code: "mcp_connection_lost",
      message: expect.stringMatching(/exit code 7.*the disk is on fire/s),
    });
    expect(await host.call("s", "ping")).toBe("pong");
  });

  test("one that cannot be started, or ends at once, refuses the install with the reason", async () => {
    await using host = await hostMcp({ allowStdio: true });
    await expect(host.install("s", { transport: "stdio", command: "/no/such/program" })).rejects.toThrow(
      "The program cannot be started: ENOENT",
    );
    const dying = {
      transport: "stdio",
      command: process.execPath,
      args: ["-e", "console.error('no config'); process.exit(3)"],
    };
    await expect(host.install("s", dying)).rejects.toThrow(/exit code 3.*no config/s);
  });

  test("noise on its output is passed over; a line without end is not waited for", async () => {
    await using host = await hostMcp({ allowStdio: true });
    await host.install("s", await scriptedProgram(HONEST), { config: { maxResponseBytes: 100_000 } });
    expect(await host.call("s", "noise")).toBe("pong");
    await expect(host.call("s", "endless")).rejects.toMatchObject({ code: "mcp_connection_lost" });
    expect(await host.call("s", "ping")).toBe("pong");
  });

  test("a flood of messages that answer nothing ends the connection", async () => {
    await using host = await hostMcp({ allowStdio: true });
    await host.install("s", await scriptedProgram(HONEST));
    await expect(host.call("s", "flood")).rejects.toMatchObject({ code: "mcp_bad_answer" });
    expect(await host.call("s", "ping")).toBe("pong");
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const PROTOCOL = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const text = (id, value) => send({ id, result: { content: [{ type: "text", text: value }] } });
let rest = "";
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (method === "initialize") send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "program", version: "1" } } });
    else if (method === "tools/list") send({ id, result: { tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: "object" } })) } });
    else if (method === "tools/call") TOOLS[params.name](id);
  }
});
`;

const HONEST = `
const TOOLS = {
  ping: (id) => text(id, "pong"),
  die: () => { console.error("the disk is on fire"); process.exit(7); },
  noise: (id) => { process.stdout.write("starting up...\\n\\n{}\\n[1]\\nnull\\n"); text(id, "pong"); },
  endless: () => { const more = () => process.stdout.write("x".repeat(65536), more); more(); },
  flood: () => { const more = () => process.stdout.write(Array.from({ length: 500 }, () => JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: {} })).join("\\n") + "\\n", more); more(); },
};
process.stdin.on("end", () => process.exit(0));
${PROTOCOL}`;

const STUBBORN = `
const { spawn } = require("node:child_process");
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {});
setInterval(() => {}, 1000);
const other = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], { stdio: "inherit" });
const TOOLS = { pids: (id) => text(id, JSON.stringify([process.pid, other.pid])) };
${PROTOCOL}`;

async function scriptedProgram(source: string) {
  return { transport: "stdio", command: process.execPath, args: ["-e", source] };
}
