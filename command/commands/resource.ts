/** Shared by commands for server resources: declaration, lists, and one request per id. */
import type { Command } from "commander";
import type { CyrnelClient } from "#client/client.ts";
import { unwrap } from "#client/errors.ts";
import type { Answer } from "#client/pages.ts";
import { visibleLine } from "#client/visible-text.ts";
import { act, type Session, type Shell } from "../session.ts";
import { type Columns, formatTable } from "../table.ts";

/**
 * `names`: `list`, or `list|ls` with an alias. Command lists show the description up to its first `.`, `:` or `;`.
 */
export function addCommand(parent: Command, names: string, description: string): Command {
  const [name = "", alias] = names.split("|");
  const [summary = ""] = description.split(/[.:;](?: |$)/, 1);
  const command = parent.command(name).summary(summary).description(description);
  return alias === undefined ? command : command.alias(alias);
}

export function examples(...lines: string[]): string {
  return `\n${lines.length === 1 ? "Example" : "Examples"}:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

/**
 * Prints `{ [key]: items }` as JSON, or the items as a table. For an empty list, prints `empty`, in a pipe to
 * standard error.
 */
export function printList<T>(
  session: Session,
  key: string,
  items: T[],
  empty: string,
  columns: Columns<T>,
): void {
  session.print({ [key]: items }, () => formatTable(session, items, empty, columns));
}

/** Creates an action that sends one request per id and reports each: `Key k1 is revoked.` */
export function changeEach(
  shell: Shell,
  kind: string,
  change: "deleted" | "revoked" | "killed",
  request: (client: CyrnelClient, params: { path: { id: string } }) => Promise<Answer<unknown>>,
  parse: (id: string) => string | number = String,
) {
  return act(shell, async (session, given: string[]) => {
    for (const id of given.map(parse)) {
      unwrap(await request(session.client, { path: { id: String(id) } }));
      session.print({ id, [change]: true }, () => `${kind} ${visibleLine(String(id))} is ${change}.\n`);
    }
  });
}
