/** `cyrnel service`: APIs whose tools scripts call. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { readAll } from "#client/pages.ts";
import { visibleLine, visibleText } from "#client/visible-text.ts";
import { usageFailure } from "../failure.ts";
import { collect, readText } from "../options.ts";
import { act, type Session, type Shell } from "../session.ts";
import { ago, formatFacts } from "../table.ts";
import { addCommand, changeEach, examples, printList } from "./resource.ts";
import { addSettings } from "./settings.ts";

/** The server's request limit. Larger definitions must be given as a URL. */
const MAX_DEFINITION_BYTES = 30 * 1024 * 1024;
const DEFAULT_ADAPTER = "openapi";

interface AddFlags {
  id?: string;
  adapter?: string;
  registry?: true;
  operations?: string[];
}

export function addServices(program: Command, shell: Shell): void {
  const service = addCommand(
    program,
    "service|services",
    "Installs and manages services: APIs that scripts call as tools.<service>.<tool>(parameters).",
  );
  addCommand(
    service,
    "add",
    "Installs a service from a definition: an OpenAPI document, an MCP server, a GraphQL endpoint.",
  )
    .argument("<definition>", "URL, file, or - for standard input")
    .option("--id <id>", "name in scripts; required without --registry")
    .option("--adapter <id>", `module that reads the definition (default: ${DEFAULT_ADAPTER})`)
    .option("--registry", "the URL is a registry's descriptor, for later updates")
    .option(
      "--operations <patterns>",
      'only these of an OpenAPI document: listPets,"GET /pets/*",tag:pets; ! before one excludes',
      collect,
    )
    .addHelpText(
      "after",
      examples(
        "cyrnel service add https://api.example.com/openapi.json --id shop",
        "cyrnel service add ./mcp.json --id files --adapter mcp",
      ),
    )
    .action(act(shell, add));
  addCommand(
    service,
    "preview",
    "Prints the tools of a definition without installing it; for the adapter http, what each rule allows.",
  )
    .argument("<definition>", "URL, file, or - for standard input")
    .option("--adapter <id>", `module that reads the definition (default: ${DEFAULT_ADAPTER})`)
    .option("--operations <patterns>", "only these operations of an OpenAPI document", collect)
    .addHelpText("after", examples("cyrnel service preview ./rules.json --adapter http"))
    .action(act(shell, preview));
  addCommand(service, "list|ls", "Lists the installed services.").action(act(shell, list));
  addCommand(service, "show", "Prints one service.")
    .argument("<id>", "id of the service")
    .action(act(shell, show));
  for (const enabled of [true, false]) {
    const word = enabled ? "enable" : "disable";
    addCommand(
      service,
      word,
      `${enabled ? "Enables" : "Disables"} services: scripts ${enabled ? "can" : "cannot"} call their tools.`,
    )
      .argument("<id...>", "ids of services")
      .action(act(shell, (session, ids: string[]) => switchServices(session, ids, enabled)));
  }
  addSettings(service, shell, "service");
  addCommand(service, "update", "Updates a service from the registry it was installed from.")
    .argument("<id>", "id of the service")
    .action(act(shell, update));
  addCommand(service, "rm", "Deletes services with their tools, settings and secrets.")
    .argument("<id...>", "ids of services")
    .action(
      changeEach(shell, "Service", "deleted", (client, params) =>
        client.DELETE("/services/{id}", { params }),
      ),
    );
}

async function add(session: Session, definition: string, flags: AddFlags): Promise<void> {
  const { id, adapter, registry, operations } = flags;
  const installing = registry
    ? session.client.POST("/services/install", {
        body: {
          source: definition,
          ...(id !== undefined && { id }),
          ...(adapter !== undefined && { adapter }),
          ...(operations !== undefined && { operationFilter: operations }),
        },
      })
    : session.client.POST("/services", { body: await toBody(session, definition, flags) });
  const installed = unwrap(await session.during(`Installing ${id ?? definition}`, installing));
  session.print(
    installed,
    (answer) =>
      `Service ${answer.id} is installed. Its tools: cyrnel tools search --service ${answer.id}\n${formatProblems(answer.problems)}`,
  );
}

async function preview(session: Session, definition: string, flags: AddFlags): Promise<void> {
  const body = await readDefinition(session, definition, flags);
  const read = session.client.POST("/services/preview", { body });
  const made = unwrap(await session.during(`Reading ${definition}`, read));
  session.print(made, (one) => {
    const left = one.toolCount - one.tools.length;
    return `${visibleLine(one.name)}: ${one.toolCount} ${one.toolCount === 1 ? "tool" : "tools"}\n\n${formatTools(one.tools)}${left > 0 ? `And ${left} more.\n` : ""}${formatProblems(one.problems)}`;
  });
}

function formatProblems(problems: readonly string[] = []): string {
  return problems.map((problem) => `Problem: ${visibleLine(problem)}\n`).join("");
}

function formatTools(tools: readonly { id: string; name: string; description: string }[]): string {
  return tools
    .map(
      ({ id, name, description }) =>
        `${visibleLine(id)}\n  ${visibleText(description || name).replaceAll("\n", "\n  ")}\n\n`,
    )
    .join("");
}

async function toBody(session: Session, definition: string, flags: AddFlags) {
  const { id } = flags;
  if (id === undefined) throw usageFailure("--id is missing: the name of the service in scripts.");
  return { id, ...(await readDefinition(session, definition, flags)) };
}

async function readDefinition({ stdin }: Session, definition: string, flags: AddFlags) {
  const { adapter = DEFAULT_ADAPTER, operations } = flags;
  const service = { adapter, ...(operations !== undefined && { operationFilter: operations }) };
  if (/^https?:\/\//i.test(definition)) return { ...service, url: definition };
  return { ...service, content: await readText(definition, { stdin }, MAX_DEFINITION_BYTES) };
}

async function list(session: Session): Promise<void> {
  const services = await readAll("services", (query) =>
    session.client.GET("/services", { params: { query } }),
  );
  printList(
    session,
    "services",
    services,
    "No services installed. Install one: cyrnel service add <url> --id <id>",
    {
      ID: (one) => one.id,
      ADAPTER: (one) => one.adapter,
      ENABLED: (one) => one.enabled,
      STATE: describeState,
      NAME: (one) => one.name,
    },
  );
}

function describeState(one: {
  stale: boolean;
  enabled: boolean;
  effectivelyEnabled: boolean;
  error: string | null;
}): string {
  if (one.error !== null) return `error: ${one.error}`;
  if (one.stale) return "stale";
  if (one.enabled && !one.effectivelyEnabled) return "adapter off";
  return one.enabled ? "ready" : "off";
}

async function show(session: Session, id: string): Promise<void> {
  const service = unwrap(await session.client.GET("/services/{id}", { params: { path: { id } } }));
  const rules = service.adapter === "http" ? await listRules(session, id) : [];
  const shown = { ...service, ...(rules.length > 0 && { rules }) };
  session.print(shown, (one) =>
    formatFacts(session.stdout, [
      ["id", one.id],
      ["name", one.name],
      ["description", one.description],
      ["adapter", one.adapter],
      ["state", describeState(one)],
      ["source", one.source],
      ["installed", ago(one.createdAt)],
      ...one.problems.map((problem) => ["problem", problem] as const),
      ...rules.map((rule) => [rule.id, rule.description] as const),
    ]),
  );
}

/** Describes in sentences which `fetch` requests the rules allow. A service has at most 100 rules. */
async function listRules({ client }: Session, serviceId: string) {
  const query = { serviceId, limit: "200" };
  const { tools } = unwrap(await client.GET("/tools", { params: { query } }));
  return tools.map(({ id, description, enabled }) => ({ id, description, enabled }));
}

async function switchServices(session: Session, ids: string[], enabled: boolean): Promise<void> {
  for (const id of ids) {
    const params = { path: { id } };
    const changed = unwrap(
      await session.during(id, session.client.POST("/services/{id}/enabled", { params, body: { enabled } })),
    );
    session.print(changed, (one) => `Service ${one.id} is ${one.enabled ? "enabled" : "disabled"}.\n`);
  }
}

async function update(session: Session, id: string): Promise<void> {
  const params = { path: { id } };
  const changed = unwrap(
    await session.during(`Updating ${id}`, session.client.POST("/services/{id}/update", { params })),
  );
  session.print(changed, (one) => `Service ${one.id} is ${one.updated ? "updated" : "up to date"}.\n`);
}
