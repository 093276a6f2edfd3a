/**
 * The mock API as functions, written as an embedder of a sandbox would write them: fetch, an error for a bad status,
 * JSON.
 */
const PATHS: Record<string, string> = {
  put: "POST /put",
  row: "GET /row",
  saveRow: "POST /saveRow",
  gone: "GET /gone",
  fail: "GET /fail",
  teapot: "GET /teapot",
  never: "GET /never",
  items: "GET /items",
  user: "GET /users/{id}",
  flaky: "GET /flaky",
  echo: "POST /echo",
  slow: "GET /slow",
  openTicket: "POST /tickets",
  closeTicket: "DELETE /tickets/{id}",
  big: "GET /big",
  huge: "GET /huge",
  proto: "GET /proto",
  echoQuery: "GET /echoQuery",
};

type Tool = (parameters: unknown) => Promise<unknown>;
interface Parameters {
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
}

export function createTools(base: string): Record<string, Tool> {
  const call = (method: string, template: string) => async (parameters: unknown) => {
    const { path = {}, query = {}, body } = (parameters ?? {}) as Parameters;
    const pathname = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] ?? ""));
    const search = new URLSearchParams(query).toString();
    const response = await fetch(`${base}/api${pathname}${search === "" ? "" : `?${search}`}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${text}`);
    return { status: response.status, body: text === "" ? null : JSON.parse(text) };
  };
  return Object.fromEntries(
    Object.entries(PATHS).map(([name, route]) => {
      const [method = "", template = ""] = route.split(" ");
      return [name, call(method, template)];
    }),
  );
}
