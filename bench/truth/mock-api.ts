/**
 * An HTTP API with the oddities of real ones, its OpenAPI documents, GraphQL endpoint and MCP server. Records the
 * calls that change something.
 */
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { buildSchema, graphql } from "graphql";
import { describeApi, describeOddApi } from "./mock-documents.ts";
import { answerMcp } from "./mock-mcp.ts";

const MAX_BODY_BYTES = 8 * 1024 * 1024;
const PUT_MS = 60;
/** No JavaScript number can represent this id. */
const LARGE_ROW = '{"id":9223372036854775807,"n":12}';

export interface MockApi extends AsyncDisposable {
  url: string;
  /** Calls that changed something, in order of arrival: `put "a"`. */
  effects: string[];
  reset(): void;
}

type Reply = (status: number, body?: string, type?: string | null) => void;
interface Request {
  query: URLSearchParams;
  path: string[];
  body: string;
  reply: Reply;
  response: http.ServerResponse;
}

const graph = buildSchema(`
  type User { id: ID!, name: String, age: Int, secret: String }
  type Query { user(id: ID!): User, users: [User!]!, broken: String, half: User }
  type Mutation { rename(id: ID!, name: String!): User }
`);

export async function openMockApi(): Promise<MockApi> {
  const effects: string[] = [];
  let failuresLeft = 2;
  let nextTicket = 1;
  const note = (name: string, body: string) => void effects.push(`${name} ${body}`);

  const graphRoot = {
    user: ({ id }: { id: string }) => (id === "9" ? null : { id, name: `user ${id}`, age: 30 }),
    users: () => [1, 2, 3].map((id) => ({ id: String(id), name: `user ${id}`, age: 30 + id })),
    broken: () => {
      throw new Error("the index is rebuilding");
    },
    half: () => ({
      id: "1",
      name: "half",
      secret: () => {
        throw new Error("not for you");
      },
    }),
    rename: ({ id, name }: { id: string; name: string }) => {
      note("rename", JSON.stringify([id, name]));
      return { id, name };
    },
  };

  const routes: Record<string, (request: Request) => unknown> = {
    "POST put": ({ body, reply }) => {
      JSON.parse(body);
      // Reads the text: parsing would round a large integer here.
      const x = /"x"\s*:(.*)\}$/s.exec(body)?.[1] ?? "null";
      setTimeout(() => {
        note("put", x);
        reply(200, `{"ok":true,"x":${x}}`);
      }, PUT_MS);
    },
    "GET row": ({ reply }) => reply(200, LARGE_ROW),
    "POST saveRow": ({ body, reply }) => {
      note("saveRow", /"id"\s*:\s*([^,}]+)/.exec(body)?.[1] ?? body);
      reply(200, '{"saved":true}');
    },
    "GET gone": ({ reply }) => reply(404, '{"error":"there is no such row"}'),
    "GET fail": ({ reply }) => reply(500, '{"error":{"message":"the database is down"}}'),
    "GET teapot": ({ reply }) => reply(418, "short and stout", "text/plain"),
    "POST clear": ({ body, reply }) => {
      note("clear", body);
      reply(200, '{"cleared":3}');
    },
    "GET never": () => {},
    "GET items": ({ query, reply }) => {
      const page = Number(query.get("page") ?? 1);
      const items = [1, 2].map((index) => ({
        id: page * 10 + index,
        title: `item ${page}.${index}`,
        done: index === 2,
      }));
      reply(200, JSON.stringify({ items, next: page < 3 ? page + 1 : null }));
    },
    "GET users": ({ path: [id = ""], reply }) => {
      if (id === "9") reply(404, '{"error":"no user 9"}');
      else reply(200, JSON.stringify({ id: Number(id), name: `user ${id}`, tags: ["a", "b"] }));
    },
    "GET flaky": ({ reply }) => {
      failuresLeft--;
      if (failuresLeft >= 0) reply(503, '{"error":"try again"}');
      else reply(200, '{"ok":true}');
    },
    "POST echo": ({ body, reply }) => {
      note("echo", body);
      reply(200, `{"got":${body === "" ? "null" : body}}`);
    },
    "GET slow": ({ query, reply }) =>
      void setTimeout(() => reply(200, '{"late":true}'), Number(query.get("ms"))),
    "POST tickets": ({ body, reply }) => {
      note("ticket", body);
      reply(201, JSON.stringify({ ticket: nextTicket++ }));
    },
    "DELETE tickets": ({ path: [id = ""], reply }) => {
      note("delete", id);
      reply(204);
    },
    "GET text": ({ reply }) => reply(200, "hello", "text/plain"),
    "GET mislabeled": ({ reply }) => reply(200, '{"a":1}', "text/plain"),
    "GET unlabeled": ({ reply }) => reply(200, '{"a":1}', null),
    "GET html": ({ reply }) => reply(200, '{"a":1}', "text/html; charset=utf-8"),
    "GET notjson": ({ reply }) => reply(200, "<p>busy</p>", "application/json"),
    "GET big": ({ reply }) =>
      reply(200, '{"id":9007199254740993,"ids":[1,9007199254740993],"free":9007199254740993}'),
    "GET huge": ({ reply }) => reply(200, '{"ratio":1e400}'),
    "GET proto": ({ reply }) => reply(200, '{"__proto__":{"x":1},"a":2}'),
    "GET events": ({ response }) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      let count = 0;
      const timer = setInterval(() => response.write(`data: {"tick":${++count}}\n\n`), 50);
      response.on("close", () => clearInterval(timer));
    },
    "GET finite": ({ reply }) => reply(200, 'data: {"n":1}\n\ndata: {"n":2}\n\n', "text/event-stream"),
    "GET echoQuery": ({ query, reply }) => reply(200, JSON.stringify(Object.fromEntries(query))),
    "POST graphql": async ({ body, reply }) => {
      const { query, variables } = JSON.parse(body);
      const answer = await graphql({
        schema: graph,
        source: query,
        rootValue: graphRoot,
        variableValues: variables,
      });
      reply(200, JSON.stringify(answer));
    },
    "POST mcp": ({ body, reply }) => {
      const answer = answerMcp(JSON.parse(body), note);
      if (answer === null) reply(202);
      else reply(200, JSON.stringify(answer));
    },
    "GET docs": ({ path: [name = ""], reply }) => {
      const document = name === "api.json" ? describeApi(url) : describeOddApi(name);
      if (document === null) reply(404, "{}");
      else reply(200, JSON.stringify(document));
    },
  };

  const server = http.createServer(async (incoming, response) => {
    const { pathname, searchParams: query } = new URL(incoming.url ?? "/", "http://mock");
    const [name = "", ...path] = pathname
      .split("/")
      .slice(1)
      .filter((part) => part !== "api");
    const reply: Reply = (status, body = "", type = "application/json") => {
      if (response.destroyed) return;
      response.writeHead(status, type === null ? {} : { "content-type": type });
      response.end(body);
    };
    let body = "";
    for await (const chunk of incoming.setEncoding("utf8")) {
      body += chunk;
      if (body.length > MAX_BODY_BYTES) return reply(413);
    }
    const route = routes[`${incoming.method} ${name}`];
    if (route === undefined) return reply(405, '{"error":"no such route"}');
    try {
      await route({ query, path: path.map(decodeURIComponent), body, reply, response });
    } catch (error) {
      reply(400, JSON.stringify({ error: String(error) }));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    effects,
    reset() {
      effects.length = 0;
      failuresLeft = 2;
      nextTicket = 1;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
