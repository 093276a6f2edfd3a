/** Cyrnel over HTTP with the services of the mock API, started as `npm start` starts it. Approves every request. */
import { startService } from "../service.ts";
import type { MockApi } from "./mock-api.ts";
import { describeApi } from "./mock-documents.ts";
import type { Attempt } from "./peers.ts";

const MAX_WAIT_MS = 15_000;

interface Answered {
  id: number;
  state: string;
  exitState: string | null;
  error: string | null;
  errorDetail: { name: string } | null;
  result: unknown;
  output: unknown;
  warnings?: { code: string; message: string }[];
  approvals: string[];
  artifacts: { name: string }[];
}

export interface CyrnelRunner extends AsyncDisposable {
  run(code: string, timeoutMs: number): Promise<Attempt>;
}

export async function openCyrnel(environment: string, api: MockApi): Promise<CyrnelRunner> {
  const service = await startService({ CYRNEL_EGRESS_ALLOW: "127.0.0.1", LOG_LEVEL: "fatal" });
  async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await service.request(method, path, body);
    if (response.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(response.body)}`);
    return response.body as T;
  }

  async function install(id: string, adapter: string, definition: object): Promise<void> {
    await send("POST", "/services", { id, adapter, ...definition });
    await send("POST", `/services/${id}/enabled`, { enabled: true });
  }

  if (environment !== "typescript-process")
    await send("POST", `/modules/${environment}/enabled`, { enabled: true });
  await install("m", "openapi", { content: JSON.stringify(describeApi(api.url)) });
  // A service that cannot be installed makes its scripts fail, but not the whole measurement.
  const odd: [string, string, object][] = [
    ["odd", "openapi", { url: `${api.url}/docs/odd.json` }],
    ["odd_mcp", "mcp", { content: JSON.stringify({ transport: "http", url: `${api.url}/mcp` }) }],
    ["g", "graphql", { content: JSON.stringify({ endpoint: `${api.url}/graphql` }) }],
  ];
  for (const [id, adapter, definition] of odd) {
    await install(id, adapter, definition).catch((error) => console.error(`${id}: ${error.message}`));
  }
  // MCP tools are destructive by default; only this rule may request approval.
  await send("POST", "/policies", { servicePattern: "m", toolPattern: "clear", decision: "ask" });

  return {
    async run(code, timeoutMs) {
      const { id } = await send<{ id: number }>("POST", "/processes", {
        code,
        options: { timeout: timeoutMs },
      });
      let asks = 0;
      const deadline = performance.now() + timeoutMs + MAX_WAIT_MS;
      for (;;) {
        const { status, body } = await service.request("GET", `/processes/${id}?wait=1000`);
        if (status !== 200) throw new Error(`GET /processes/${id}: ${status}`);
        const record = body as Answered;
        if (record.state === "idle") return attemptOf(record, asks);
        if (performance.now() > deadline) return { ok: false, hung: true, asks };
        for (const approval of record.state === "paused" ? record.approvals : []) {
          asks += 1;
          await send("POST", `/approvals/${approval}/approve`, {});
        }
      }
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

function attemptOf(record: Answered, asks: number): Attempt {
  const { exitState, result, error, errorDetail, warnings = [], output, artifacts } = record;
  return {
    ok: exitState === "success",
    value: result,
    json: JSON.stringify(result),
    message: `${errorDetail?.name}: ${error}`,
    warnings: warnings.map(({ code, message }) => `${code}: ${message}`),
    asks,
    output,
    artifacts: artifacts.map(({ name }) => name),
  };
}
