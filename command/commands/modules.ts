/** `cyrnel module`: environments and adapters. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { readAll } from "#client/pages.ts";
import { visibleLine } from "#client/visible-text.ts";
import { act, type Session, type Shell } from "../session.ts";
import { formatFacts } from "../table.ts";
import { addCommand, changeEach, examples, printList } from "./resource.ts";
import { addSettings } from "./settings.ts";

export function addModules(program: Command, shell: Shell): void {
  const module = addCommand(
    program,
    "module|modules",
    "Installs and manages modules: environments run scripts, adapters turn definitions into services.",
  );
  addCommand(module, "list|ls", "Lists the modules.").action(act(shell, list));
  addCommand(module, "show", "Prints one module.")
    .argument("<id>", "id of the module")
    .action(act(shell, show));
  addCommand(
    module,
    "add",
    "Installs a module from a package. Modules run with the rights of the server: install only code you trust.",
  )
    .argument("<url>", "URL of the package")
    .option("--registry", "the URL is a registry's descriptor, for later updates")
    .addHelpText("after", examples("cyrnel module add https://example.com/python-process.tgz"))
    .action(act(shell, add));
  addCommand(
    module,
    "update",
    "Updates a module from its registry, or replaces it with the package at a URL.",
  )
    .argument("<id>", "id of the module")
    .argument("[url]", "URL of the package")
    .action(act(shell, update));
  for (const enabled of [true, false]) {
    const word = enabled ? "enable" : "disable";
    addCommand(
      module,
      word,
      enabled ? "Enables a module. An environment replaces the active one." : "Disables a module.",
    )
      .argument("<id>", "id of the module")
      .action(act(shell, (session, id: string) => switchModule(session, id, enabled)));
  }
  addSettings(module, shell, "module");
  addCommand(module, "reload", "Rescans the modules folder.").action(act(shell, reload));
  addCommand(module, "rm", "Deletes modules, except bundled ones.")
    .argument("<id...>", "ids of modules")
    .action(
      changeEach(shell, "Module", "deleted", (client, params) => client.DELETE("/modules/{id}", { params })),
    );
}

async function list(session: Session): Promise<void> {
  const modules = await readAll("modules", (query) => session.client.GET("/modules", { params: { query } }));
  printList(session, "modules", modules, "No modules.", {
    ID: (one) => one.id,
    TYPE: (one) => one.type,
    VERSION: (one) => one.version,
    STATE: (one) => (one.error === null ? one.state : `${one.state}: ${one.error}`),
    BUNDLED: (one) => one.isBuiltin,
    NAME: (one) => one.name,
  });
}

async function show(session: Session, id: string): Promise<void> {
  const module = unwrap(await session.client.GET("/modules/{id}", { params: { path: { id } } }));
  session.print(module, (one) =>
    formatFacts(session.stdout, [
      ["id", one.id],
      ["name", one.name],
      ["description", one.description],
      ["type", one.type],
      ["version", one.version],
      ["state", one.state],
      ["error", one.error],
      ["bundled", one.isBuiltin],
      ["source", one.source],
    ]),
  );
}

async function add(session: Session, url: string, { registry }: { registry?: true }): Promise<void> {
  const { client } = session;
  const installing = registry
    ? client.POST("/modules/install", { body: { source: url } })
    : client.POST("/modules", { body: { url } });
  const installed = unwrap(await session.during(`Installing ${url}`, installing));
  session.print(
    installed,
    (one) => `Module ${one.id} is installed. Enable it: cyrnel module enable ${one.id}\n`,
  );
}

async function update(session: Session, id: string, url: string | undefined): Promise<void> {
  const { client } = session;
  const params = { path: { id } };
  const updating =
    url === undefined
      ? client.POST("/modules/{id}/update", { params, body: {} })
      : client.PATCH("/modules/{id}", { params, body: { url } });
  unwrap(
    await session.during(`Updating ${id}`, updating as typeof updating & Promise<{ response: Response }>),
  );
  session.print({ id, updated: true }, (one) => `Module ${one.id} is up to date.\n`);
}

async function switchModule(session: Session, id: string, enabled: boolean): Promise<void> {
  const params = { path: { id } };
  const changing = session.client.POST("/modules/{id}/enabled", { params, body: { enabled } });
  const changed = unwrap(await session.during(id, changing));
  session.print(changed, (one) => `Module ${one.id} is ${one.enabled ? "enabled" : "disabled"}.\n`);
}

async function reload(session: Session): Promise<void> {
  const found = unwrap(await session.during("Reading", session.client.POST("/modules/reload", { body: {} })));
  session.print(found, ({ added, changed, removed, problems }) => {
    const word = (name: string, ids: string[]) => `${name}: ${ids.map(visibleLine).join(", ") || "none"}\n`;
    const lines = problems.map(
      ({ folder, error }) => `problem in ${visibleLine(folder)}: ${visibleLine(error)}\n`,
    );
    return [word("added", added), word("changed", changed), word("removed", removed), ...lines].join("");
  });
}
