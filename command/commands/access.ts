/** `cyrnel keys`, `roles`, `policies`: who may use the server, which tools a key sees, which calls are allowed. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { readAll } from "#client/pages.ts";
import type { paths } from "#client/schema.ts";
import { visibleLine } from "#client/visible-text.ts";
import { usageFailure } from "../failure.ts";
import { collect, parseDuration, parseOneOf } from "../options.ts";
import { act, type Session, type Shell } from "../session.ts";
import { ago, formatTable, until } from "../table.ts";
import { addCommand, changeEach, examples, printList } from "./resource.ts";

type Scope = paths["/keys"]["post"]["requestBody"]["content"]["application/json"]["scopes"][number];

export function addKeys(program: Command, shell: Shell): void {
  const keys = addCommand(program, "keys|key", "Creates, lists and revokes API keys.");
  addCommand(keys, "create", "Creates a key and prints it, alone, on standard output. It is shown only once.")
    .argument("<name>", "what it is for")
    .requiredOption(
      "--scopes <names>",
      "scopes: processes:write,processes:read,processes:all,services:admin,modules:admin,packages:admin,approvals:decide,keys:admin,logs:read",
      collect,
    )
    .option("--role <id>", "role that limits its tools (default: none, all tools)")
    .option("--expires <time>", "lifetime, such as 24h", parseDuration)
    .addHelpText(
      "after",
      examples("cyrnel keys create agent --scopes processes:write,processes:read --expires 24h"),
    )
    .action(act(shell, createKey));
  addCommand(keys, "list|ls", "Lists the live keys.").action(act(shell, listKeys));
  addCommand(keys, "revoke", "Revokes keys at once.")
    .argument("<id...>", "ids of keys")
    .action(changeEach(shell, "Key", "revoked", (client, params) => client.DELETE("/keys/{id}", { params })));
}

async function createKey(
  session: Session,
  name: string,
  { scopes = [], role, expires }: { scopes?: string[]; role?: string; expires?: number },
): Promise<void> {
  if (expires === Number.POSITIVE_INFINITY)
    throw usageFailure("--expires needs a time such as 24h. Omit it for a key that does not expire.");
  const body = {
    name,
    scopes: scopes as Scope[],
    roleId: role ?? null,
    expiresAt: expires === undefined ? null : new Date(Date.now() + expires).toISOString(),
  };
  const made = unwrap(await session.client.POST("/keys", { body }));
  session.print(made, (one) => `${one.key}\n`);
  if (!session.json) session.stderr.write(`Key ${made.id}. Save it now: it is not shown again.\n`);
}

async function listKeys(session: Session): Promise<void> {
  const keys = await readAll("keys", (query) => session.client.GET("/keys", { params: { query } }));
  printList(
    session,
    "keys",
    keys,
    "No keys yet. Create one: cyrnel keys create <name> --scopes processes:write,processes:read",
    {
      ID: (one) => one.id,
      NAME: (one) => one.name,
      KEY: (one) => `${one.prefix}…`,
      ROLE: (one) => one.roleId,
      EXPIRES: (one) => until(one.expiresAt),
      USED: (one) => ago(one.lastUsedAt),
      SCOPES: (one) => one.scopes.join(","),
    },
  );
}

export function addRoles(program: Command, shell: Shell): void {
  const roles = addCommand(
    program,
    "roles|role",
    "Creates, lists and deletes roles: patterns of the tools that a key may see and call.",
  );
  addCommand(roles, "create", "Creates a role. Without --allow it allows nothing.")
    .argument("<name>", "what it is for")
    .option("--allow <patterns>", "visible tools: shop.*,mail.send", collect)
    .option("--deny <patterns>", "hidden tools, even if --allow names them", collect)
    .option(
      "--packages <patterns>",
      "npm packages its scripts may import: zod,@scope/* (default: all)",
      collect,
    )
    .addHelpText("after", examples("cyrnel roles create reader --allow 'shop.get*'"))
    .action(act(shell, createRole));
  addCommand(roles, "list|ls", "Lists the roles.").action(act(shell, listRoles));
  addCommand(roles, "rm", "Deletes roles that no key and no rule uses.")
    .argument("<id...>", "ids of roles")
    .action(
      changeEach(shell, "Role", "deleted", (client, params) => client.DELETE("/roles/{id}", { params })),
    );
}

async function createRole(
  session: Session,
  name: string,
  { allow = [], deny = [], packages = ["*"] }: { allow?: string[]; deny?: string[]; packages?: string[] },
): Promise<void> {
  const role = unwrap(await session.client.POST("/roles", { body: { name, allow, deny, packages } }));
  session.print(role, (one) => `${one.id}\n`);
}

async function listRoles(session: Session): Promise<void> {
  const roles = await readAll("roles", (query) => session.client.GET("/roles", { params: { query } }));
  printList(session, "roles", roles, "No roles yet: every key sees all tools.", {
    ID: (one) => one.id,
    NAME: (one) => one.name,
    ALLOW: (one) => one.allow.join(","),
    DENY: (one) => one.deny.join(","),
    PACKAGES: (one) => one.packages.join(","),
  });
}

export function addPolicies(program: Command, shell: Shell): void {
  const policies = addCommand(
    program,
    "policies|policy",
    "Manages the rules that allow, ask about or block calls. The first rule that matches a call decides.",
  );
  addCommand(policies, "add", "Adds a rule after all others.")
    .argument("<decision>", "allow, ask or block")
    .argument("<service.tool>", "patterns: shop.*, *.delete*")
    .option("--role <id>", "only for calls under this role")
    .option("--no-role", "only for calls under no role")
    .option("--expires <time>", "ends after this time, such as 24h", parseDuration)
    .addHelpText(
      "after",
      examples("cyrnel policies add ask 'shop.delete*'", "cyrnel policies add block 'mail.*' --expires 24h"),
    )
    .action(act(shell, addPolicy));
  addCommand(policies, "list|ls", "Lists the rules in order.").action(act(shell, listPolicies));
  addCommand(policies, "order", "Reorders all rules.")
    .argument("<id...>", "ids of all rules")
    .action(act(shell, orderPolicies));
  addCommand(policies, "rm", "Deletes rules.")
    .argument("<id...>", "ids of rules")
    .action(
      changeEach(shell, "Policy", "deleted", (client, params) => client.DELETE("/policies/{id}", { params })),
    );
}

async function addPolicy(
  session: Session,
  decided: string,
  pattern: string,
  /** `role` is false for `--no-role`. */
  { role, expires = Number.POSITIVE_INFINITY }: { role?: string | boolean; expires?: number },
): Promise<void> {
  const decision = parseOneOf(decided, ["allow", "ask", "block"], "The decision");
  const dot = pattern.indexOf(".");
  if (dot < 1) throw usageFailure(`Expected service.tool, such as shop.*; found "${pattern}".`);
  const body = {
    servicePattern: pattern.slice(0, dot),
    toolPattern: pattern.slice(dot + 1),
    roleId: typeof role === "string" ? role : null,
    noRole: role === false,
    decision,
    expiresAt: Number.isFinite(expires) ? new Date(Date.now() + expires).toISOString() : null,
  };
  const policy = unwrap(await session.client.POST("/policies", { body }));
  session.print(policy, (one) => `${one.id}\n`);
  if (session.json) return;
  // Prints only the id to standard output, for programs.
  const { servicePattern, toolPattern, roleId, expiresAt } = policy;
  const whose = roleId === null ? "for every role" : `for the role ${roleId}`;
  const end = expiresAt === null ? "" : `, ending ${until(expiresAt)}`;
  const made = `${decision} ${servicePattern}.${toolPattern}, ${whose}${end}`;
  session.stderr.write(`${visibleLine(`Added rule: ${made}. It applies after all others.`)}\n`);
}

async function listPolicies(session: Session): Promise<void> {
  let defaultPolicy = "";
  const policies = await readAll("policies", async (query) => {
    const answer = await session.client.GET("/policies", { params: { query } });
    defaultPolicy = answer.data?.defaultPolicy ?? "";
    return answer;
  });
  session.print({ policies, defaultPolicy }, () =>
    formatTable(session, [...policies, null], "", {
      ID: (one) => one?.id ?? "(otherwise)",
      DECISION: (one) => one?.decision ?? defaultPolicy,
      TOOLS: (one) => (one === null ? "*.*" : `${one.servicePattern}.${one.toolPattern}`),
      ROLE: (one) => (one?.noRole ? "(none)" : one?.roleId),
      PROCESS: (one) => one?.processId,
      EXPIRES: (one) => until(one?.expiresAt ?? null),
    }),
  );
}

async function orderPolicies(session: Session, orderedIds: string[]): Promise<void> {
  unwrap(await session.client.PUT("/policies/order", { body: { orderedIds } }));
  session.print({ orderedIds }, () => "Rules reordered.\n");
}
