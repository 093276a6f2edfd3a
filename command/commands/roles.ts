/** `cyrnel roles`: which tools a key sees. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { act } from "../act.ts";
import { collect } from "../options.ts";
import { formatTable } from "../output/table.ts";
import { readAll } from "../pages.ts";
import type { Session, Shell } from "../session.ts";

export function addRoles(program: Command, shell: Shell): void {
  const roles = program
    .command("roles")
    .alias("role")
    .summary("decide which tools a key sees")
    .description("Roles: patterns of tools that a key may see and call.");
  roles
    .command("create")
    .summary("make a role")
    .description("Makes a role. Without --allow it allows nothing.")
    .argument("<name>", "what it is for")
    .option("--allow <patterns>", "tools it sees: shop.*,mail.send", collect)
    .option("--deny <patterns>", "tools it does not see, whatever --allow says", collect)
    .addHelpText("after", "\nExample:\n  cyrnel roles create reader --allow 'shop.get*'")
    .action(act(shell, create));
  roles
    .command("list")
    .alias("ls")
    .summary("list roles")
    .description("Lists the roles.")
    .action(act(shell, list));
  roles
    .command("rm")
    .summary("delete roles")
    .description("Deletes roles that no key and no policy names.")
    .argument("<id...>", "ids of roles")
    .action(act(shell, remove));
}

async function create(
  session: Session,
  name: string,
  { allow = [], deny = [] }: { allow?: string[]; deny?: string[] },
): Promise<void> {
  const role = unwrap(await session.client.POST("/roles", { body: { name, allow, deny } }));
  session.print(role, (one) => `${one.id}\n`);
}

async function list(session: Session): Promise<void> {
  const roles = await readAll(async (query) => {
    const page = unwrap(await session.client.GET("/roles", { params: { query } }));
    return { items: page.roles, nextCursor: page.nextCursor };
  });
  session.print({ roles }, (answer) =>
    formatTable(
      session.stdout,
      ["ID", "NAME", "ALLOW", "DENY"],
      answer.roles.map((one) => [one.id, one.name, one.allow.join(","), one.deny.join(",")]),
      "There are no roles: every key sees all tools.",
    ),
  );
}

async function remove(session: Session, ids: string[]): Promise<void> {
  for (const id of ids) {
    unwrap(await session.client.DELETE("/roles/{id}", { params: { path: { id } } }));
    session.print({ id, deleted: true }, (one) => `Role ${one.id} is deleted.\n`);
  }
}
