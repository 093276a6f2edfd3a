/** A server whose tools ask a person: keys for whoever submits and whoever decides, and a service with tools to call. */

import { TEST_KEY } from "../harness/http-app.ts";
import type { Answer } from "../harness/server.ts";
import { until } from "../processes-server.ts";
import { SECRETS_KEY } from "../services-server.ts";
import {
  startToolsServer,
  type TestTool,
  type ToolsServer,
  type ToolsServerOptions,
} from "../tools-server.ts";

export interface Person {
  id: string;
  key: string;
  send(method: string, path: string, json?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface ApprovalsServer extends AsyncDisposable {
  server: ToolsServer;
  /** Submits processes. */
  agent: Person;
  /** Decides. */
  boss: Person;
  makeKey(scopes: string[], roleId?: string): Promise<Person>;
  /** Submits as the agent; the id. */
  submit(code: string, body?: Record<string, unknown>): Promise<number>;
  read(id: number, query?: string): Promise<Answer["body"]>;
  /** Waits until the process is paused with so many approvals; their ids. */
  paused(id: number, count?: number): Promise<string[]>;
  decide(id: string, verb: "approve" | "deny", body?: unknown): Promise<Answer>;
  /** Calls that have reached the adapter: `tool parameters`. */
  made(): string[];
}

export interface ApprovalsServerOptions extends ToolsServerOptions {
  /** More tools of the service `shop`. */
  functions?: Record<string, TestTool>;
}

export async function startApprovalsServer(options: ApprovalsServerOptions = {}): Promise<ApprovalsServer> {
  const { functions = {}, environment, ...rest } = options;
  const shop = {
    list: {},
    free: { destructive: true },
    delete_item: { destructive: true },
    buy: { destructive: true },
    ...functions,
  };
  const server = await startToolsServer({
    ...rest,
    services: { shop },
    environment: { CYRNEL_API_KEY: TEST_KEY, CYRNEL_SECRETS_KEY: SECRETS_KEY, ...environment },
  });
  const person = (key: string, id: string): Person => ({
    id,
    key,
    send: (method, path, json, headers) =>
      server.request(method, path, {
        headers: { authorization: `Bearer ${key}`, ...headers },
        ...(json === undefined ? {} : { json }),
      }),
  });
  const makeKey = async (scopes: string[], roleId?: string) => {
    const made = await server.post("/keys", { name: "test", scopes, ...(roleId && { roleId }) });
    if (made.status !== 201) throw new Error(made.text);
    return person(made.body.key, made.body.id);
  };
  const agent = await makeKey(["processes:write", "processes:read"]);
  const boss = await makeKey(["processes:read", "processes:all", "approvals:decide"]);
  if ((await server.get("/services/shop")).status === 404) await server.addService("shop", shop);
  const policies = (await server.get("/policies")).body.policies;
  if (policies.length === 0) {
    for (const toolPattern of ["delete_*", "buy", "ask_*"]) {
      await server.post("/policies", { servicePattern: "shop", toolPattern, decision: "ask" });
    }
  }
  const read: ApprovalsServer["read"] = async (id, query = "") =>
    (await server.get(`/processes/${id}${query}`)).body;
  return {
    server,
    agent,
    boss,
    makeKey,
    async submit(code, body = {}) {
      const answer = await agent.send("POST", "/processes", { code, ...body });
      if (answer.status !== 201) throw new Error(answer.text);
      return answer.body.id;
    },
    read,
    paused: (id, count = 1) =>
      until(`process ${id} waits for ${count}`, async () => {
        const record = await read(id);
        return record.state === "paused" && record.approvals.length === count && record.approvals;
      }),
    decide: (id, verb, body = {}) => boss.send("POST", `/approvals/${id}/${verb}`, body),
    made: () => server.calls.map(({ toolId, parameters }) => `${toolId} ${JSON.stringify(parameters)}`),
    [Symbol.asyncDispose]: () => server.close(),
  };
}
