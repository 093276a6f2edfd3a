/** `cyrnel tools`: what scripts can call, and a call without a script. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { visibleJson, visibleLine } from "#client/visible-text.ts";
import { usageFailure } from "../failure.ts";
import { parseObject, parsePair, parseWhole, readText } from "../options.ts";
import { act, type Session, type Shell } from "../session.ts";
import { formatTable } from "../table.ts";
import { safeLines } from "../terminal.ts";
import { addCommand, examples } from "./resource.ts";

const MAX_PARAMETERS_BYTES = 1024 * 1024;
const DEFAULT_LIMIT = 50;

export function addTools(program: Command, shell: Shell): void {
  const tools = addCommand(program, "tools|tool", "Finds, describes and calls the tools of services.");
  addCommand(
    tools,
    "search|list",
    "Searches tools by what they do, best match first. Without words it lists them.",
  )
    .argument("[words...]", "keywords or a question")
    .option("--service <id>", "only this service")
    .option("-n, --limit <count>", "limit of entries", parseWhole)
    .addHelpText("after", examples("cyrnel tools search create order", "cyrnel tools search --service shop"))
    .action(act(shell, search));
  addCommand(tools, "show", "Prints the call, parameters and result of a tool.")
    .argument("<service.tool>", "path of the tool")
    .option("--docs", "its documentation for script authors, as Markdown")
    .addHelpText("after", examples("cyrnel tools show shop.createOrder"))
    .action(act(shell, show));
  addCommand(
    tools,
    "call",
    "Calls a tool without a script and prints its result as JSON. Rules apply; a call that needs approval is refused.",
  )
    .argument("<service.tool>", "path of the tool")
    .argument("[parameter...]", "one JSON object, or name=value each; - reads the object from standard input")
    .addHelpText(
      "after",
      examples(
        `cyrnel tools call shop.createOrder '{"article": "tea"}'`,
        `cyrnel tools call shop.createOrder article=tea amount=2`,
      ),
    )
    .action(act(shell, call));
}

interface SearchFlags {
  service?: string;
  limit?: number;
}

async function search(
  session: Session,
  words: string[],
  { service, limit = DEFAULT_LIMIT }: SearchFlags,
): Promise<void> {
  const query = {
    limit: String(limit),
    ...(words.length > 0 && { query: words.join(" ") }),
    ...(service !== undefined && { serviceId: service }),
  };
  const {
    tools,
    services,
    packages = [],
  } = unwrap(await session.client.GET("/tools", { params: { query } }));
  if (tools.length === 0 && packages.length === 0 && !session.json) {
    const what = words.length === 0 ? "No tools" : `No tool was found for "${visibleLine(words.join(" "))}"`;
    const where = service === undefined ? "" : ` in the service ${visibleLine(service)}`;
    session.stderr.write(`${what}${where}. List all: cyrnel tools search\n`);
    return;
  }
  session.print({ tools, ...(services && { services }), packages }, (answer) => {
    const tools = formatTable(session, answer.tools, "", {
      TOOL: (one) => `${one.serviceId}.${one.id}`,
      POLICY: (one) => one.policy,
      CHANGES: (one) => one.destructive,
      STATE: (one) => (one.effectivelyEnabled ? "ready" : "off"),
      DESCRIPTION: (one) => one.description || one.name,
    });
    const found = answer.packages.map(({ name, version }) => visibleLine(`${name} ${version}`));
    const table = tools + (found.length === 0 ? "" : `Packages to import: ${found.join(", ")}\n`);
    if (answer.services === undefined) return table;
    return `No tools match. Similar names:\n${table}Services: ${answer.services.map(visibleLine).join(", ")}\n`;
  });
}

async function show(session: Session, path: string, { docs }: { docs?: true }): Promise<void> {
  const params = { path: parseTool(path) };
  if (docs) {
    const answer = await session.client.GET("/tools/{serviceId}/{toolId}/docs", { params, parseAs: "text" });
    const text = unwrap(answer) as string;
    return session.print({ docs: text }, () => (session.stdout.isTty ? safeLines(text) : text));
  }
  const tool = unwrap(await session.client.GET("/tools/{serviceId}/{toolId}", { params }));
  session.print(tool, (one) => {
    const { paint } = session.stdout;
    return [
      `${paint("bold", `tools.${visibleLine(one.serviceId)}.${visibleLine(one.id)}(parameters)`)}`,
      safeLines(one.description || one.name),
      `${paint("dim", "policy")} ${one.policy}${one.destructive ? ", may change something" : ""}`,
      `${paint("dim", "parameters")} ${visibleJson(one.inputSchema, 2)}`,
      `${paint("dim", "answer")} ${visibleJson(one.outputSchema, 2)}`,
      "",
    ].join("\n");
  });
}

async function call(session: Session, path: string, given: string[]): Promise<void> {
  const params = { path: parseTool(path) };
  const parameters = await readParameters(session, given);
  const { result } = unwrap(
    await session.during(
      path,
      session.client.POST("/tools/{serviceId}/{toolId}/invoke", {
        params,
        body: { parameters },
        signal: session.signal,
      }),
    ),
  );
  session.print(result ?? null, (value) => `${visibleJson(value, session.stdout.isTty ? 2 : undefined)}\n`);
}

async function readParameters({ stdin }: Session, given: string[]): Promise<Record<string, unknown>> {
  const [first, ...rest] = given;
  if (first === undefined) return {};
  if (first === "-" || first.startsWith("{")) {
    if (rest.length > 0) throw usageFailure("Give the parameters as one JSON object, or as name=value each.");
    return parseObject(
      first === "-" ? await readText("-", { stdin }, MAX_PARAMETERS_BYTES) : first,
      "The parameters",
    );
  }
  return Object.fromEntries(given.map(parsePair));
}

function parseTool(path: string): { serviceId: string; toolId: string } {
  const dot = path.indexOf(".");
  if (dot < 1 || dot === path.length - 1) {
    throw usageFailure(`A tool is called service.tool or service.group.tool; found "${path}".`);
  }
  return { serviceId: path.slice(0, dot), toolId: path.slice(dot + 1) };
}
