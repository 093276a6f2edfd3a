/** `cyrnel tools`: what scripts can call, and a call without a script. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { act } from "../act.ts";
import { usageFailure } from "../failure.ts";
import { parseObject, parsePair, parseWhole, readText } from "../options.ts";
import { safeJson, safeLine, safeLines } from "../output/safe-text.ts";
import { formatTable } from "../output/table.ts";
import type { Session, Shell } from "../session.ts";

const MAX_PARAMETERS_BYTES = 1024 * 1024;
const DEFAULT_LIMIT = 50;

export function addTools(program: Command, shell: Shell): void {
  const tools = program
    .command("tools")
    .alias("tool")
    .summary("find, read about and call tools")
    .description("Tools are what services let scripts do.");
  tools
    .command("search")
    .alias("list")
    .summary("find tools")
    .description(
      "Finds tools by what they should do, in any words, the most fitting first; without words lists them.",
    )
    .argument("[words...]", "what it should do")
    .option("--service <id>", "only of this service")
    .option("-n, --limit <count>", "at most so many", parseWhole)
    .addHelpText(
      "after",
      "\nExamples:\n  cyrnel tools search create order\n  cyrnel tools search --service shop",
    )
    .action(act(shell, search));
  tools
    .command("show")
    .summary("print one tool")
    .description("Prints how a tool is called, what it takes and what it answers.")
    .argument("<service.tool>", "path of the tool")
    .option("--docs", "the documentation that an author of scripts gets, as Markdown")
    .addHelpText("after", "\nExample:\n  cyrnel tools show shop.createOrder")
    .action(act(shell, show));
  tools
    .command("call")
    .summary("call a tool once")
    .description(
      "Calls a tool without a script and prints its answer as JSON. Policies apply; nobody can be asked.",
    )
    .argument("<service.tool>", "path of the tool")
    .argument("[parameter...]", "one JSON object, or name=value each; - reads the object from standard input")
    .addHelpText(
      "after",
      `\nExamples:\n  cyrnel tools call shop.createOrder '{"article": "tea"}'\n  cyrnel tools call shop.createOrder article=tea amount=2`,
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
  const { tools, services } = unwrap(await session.client.GET("/tools", { params: { query } }));
  if (tools.length === 0 && !session.json) {
    const what =
      words.length === 0 ? "No tool is there" : `No tool was found for "${safeLine(words.join(" "))}"`;
    const where = service === undefined ? "" : ` in the service ${safeLine(service)}`;
    session.stderr.write(`${what}${where}. All of them: cyrnel tools search\n`);
    return;
  }
  session.print({ tools, ...(services && { services }) }, (answer) => {
    const table = formatTable(
      session.stdout,
      ["TOOL", "POLICY", "CHANGES", "STATE", "DESCRIPTION"],
      answer.tools.map((one) => [
        `${one.serviceId}.${one.id}`,
        one.policy,
        one.destructive ? "yes" : "no",
        one.effectivelyEnabled ? "ready" : "off",
        one.description || one.name,
      ]),
      "",
    );
    if (answer.services === undefined) return table;
    return `Nothing was found. The nearest:\n${table}Services: ${answer.services.map(safeLine).join(", ")}\n`;
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
      `${paint("bold", `tools.${safeLine(one.serviceId)}.${safeLine(one.id)}(parameters)`)}`,
      safeLines(one.description || one.name),
      `${paint("dim", "policy")} ${one.policy}${one.destructive ? ", may change something" : ""}`,
      `${paint("dim", "parameters")} ${safeJson(one.inputSchema, 2)}`,
      `${paint("dim", "answer")} ${safeJson(one.outputSchema, 2)}`,
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
  session.print(result ?? null, (value) => `${safeJson(value, session.stdout.isTty ? 2 : undefined)}\n`);
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
