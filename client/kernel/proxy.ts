/** Tools as a namespace: `tools.mail.send({ … })` calls `mail.send`. */

export interface SearchQuery {
  query?: string | undefined;
  serviceId?: string | undefined;
  limit?: number | undefined;
}

type Invoke = (path: string, args: Record<string, unknown>) => unknown;

/** Each member is another node; calling a node calls the tool at its path. */
export type ToolNamespace = ((args?: Record<string, unknown>) => Promise<unknown>) & {
  readonly [name: string]: ToolNamespace;
};

const MAX_SUGGESTIONS = 10;

/**
 * `tools` lists the existing paths; a call to any other rejects and names them. With `searchTools` and
 * `describeTools`, `tools.search(query)` and `tools.describe.tool({ path })` exist too, as in a script.
 */
export function buildProxy(
  tools: readonly (string | { path: string })[],
  invoke: Invoke,
  searchTools?: (query: SearchQuery) => unknown,
  describeTools?: (path: string) => unknown,
): ToolNamespace {
  const paths = new Set(tools.map((tool) => (typeof tool === "string" ? tool : tool.path)));
  const special = new Map<string, (args: Record<string, unknown>) => unknown>();
  if (searchTools !== undefined) special.set("search", (args) => searchTools(args));
  if (describeTools !== undefined) special.set("describe.tool", ({ path }) => describeTools(String(path)));

  async function call(path: string, args: unknown): Promise<unknown> {
    if (typeof args !== "object" || args === null || Array.isArray(args)) {
      throw new TypeError(`tools.${path} takes one object of parameters.`);
    }
    const parameters = args as Record<string, unknown>;
    const own = special.get(path);
    if (own !== undefined && !paths.has(path)) return own(parameters);
    if (!paths.has(path)) throw unknownTool(path, paths);
    return invoke(path, parameters);
  }

  function makeNode(path: string): ToolNamespace {
    const target = (args: unknown = {}) => call(path, args);
    return new Proxy(target, {
      // Symbols and `then` are not nodes, so that a node can be printed and awaited.
      get: (_target, name) =>
        typeof name === "symbol" || name === "then"
          ? undefined
          : makeNode(path === "" ? name : `${path}.${name}`),
      set: () => false,
      defineProperty: () => false,
      deleteProperty: () => false,
      setPrototypeOf: () => false,
      has: () => false,
    }) as unknown as ToolNamespace;
  }

  return makeNode("");
}

/** Returns an error that suggests tools of the same service, or else any tools. */
export function unknownTool(path: string, paths: ReadonlySet<string>): Error {
  const service = `${path.split(".")[0]}.`;
  const near = [...paths].filter((known) => known.startsWith(service));
  const shown = (near.length > 0 ? near : [...paths]).slice(0, MAX_SUGGESTIONS);
  const hint = shown.length === 0 ? "There are no tools." : `There are ${shown.join(", ")}.`;
  return toolError("not_found", `There is no tool ${path || "without a name"}. ${hint}`, 404);
}

/** Creates an error that reaches the script with these members, like a server error. */
export function toolError(code: string, message: string, status: number): Error {
  return Object.assign(new Error(message), { name: "ToolError", code, status });
}
