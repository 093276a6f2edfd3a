/** `cyrnel keys`: who may use the server. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import type { paths } from "#client/schema.ts";
import { act } from "../act.ts";
import { usageFailure } from "../failure.ts";
import { collect, parseDuration } from "../options.ts";
import { formatTable } from "../output/table.ts";
import { ago, until } from "../output/times.ts";
import { readAll } from "../pages.ts";
import type { Session, Shell } from "../session.ts";

type Scope = paths["/keys"]["post"]["requestBody"]["content"]["application/json"]["scopes"][number];

interface CreateFlags {
  scopes?: string[];
  role?: string;
  expires?: number;
}

export function addKeys(program: Command, shell: Shell): void {
  const keys = program
    .command("keys")
    .alias("key")
    .summary("make and revoke API keys")
    .description("API keys: what each may do, and which tools it sees.");
  keys
    .command("create")
    .summary("make a key")
    .description("Makes a key and prints it alone on standard output. It is shown this once.")
    .argument("<name>", "what it is for")
    .requiredOption(
      "--scopes <names>",
      "what it may do: processes:write,processes:read,processes:all,services:admin,modules:admin,approvals:decide,keys:admin,logs:read",
      collect,
    )
    .option("--role <id>", "which tools it sees (default: all)")
    .option("--expires <time>", "stops working after this time, such as 24h", parseDuration)
    .addHelpText(
      "after",
      "\nExample:\n  cyrnel keys create agent --scopes processes:write,processes:read --expires 24h",
    )
    .action(act(shell, create));
  keys
    .command("list")
    .alias("ls")
    .summary("list keys")
    .description("Lists the keys that are not revoked.")
    .action(act(shell, list));
  keys
    .command("revoke")
    .summary("revoke keys, at once")
    .description("Revokes keys, at once.")
    .argument("<id...>", "ids of keys")
    .action(act(shell, revoke));
}

async function create(
  session: Session,
  name: string,
  { scopes = [], role, expires }: CreateFlags,
): Promise<void> {
  if (expires === Number.POSITIVE_INFINITY)
    throw usageFailure("--expires takes a time; leave it out for a key that does not expire.");
  const made = unwrap(
    await session.client.POST("/keys", {
      body: {
        name,
        scopes: scopes as Scope[],
        roleId: role ?? null,
        expiresAt: expires === undefined ? null : new Date(Date.now() + expires).toISOString(),
      },
    }),
  );
  session.print(made, (one) => `${one.key}\n`);
  if (!session.json) session.stderr.write(`Key ${made.id}. Keep it now: it is not shown again.\n`);
}

async function list(session: Session): Promise<void> {
  const keys = await readAll(async (query) => {
    const page = unwrap(await session.client.GET("/keys", { params: { query } }));
    return { items: page.keys, nextCursor: page.nextCursor };
  });
  session.print({ keys }, (answer) =>
    formatTable(
      session.stdout,
      ["ID", "NAME", "KEY", "ROLE", "EXPIRES", "USED", "SCOPES"],
      answer.keys.map((one) => [
        one.id,
        one.name,
        `${one.prefix}…`,
        one.roleId,
        until(one.expiresAt),
        ago(one.lastUsedAt),
        one.scopes.join(","),
      ]),
      "There are no keys.",
    ),
  );
}

async function revoke(session: Session, ids: string[]): Promise<void> {
  for (const id of ids) {
    unwrap(await session.client.DELETE("/keys/{id}", { params: { path: { id } } }));
    session.print({ id, revoked: true }, (one) => `Key ${one.id} is revoked.\n`);
  }
}
