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
  const keys = addCommand(
    program,
    "keys|key",
    "Makes, lists and revokes API keys: what each may do, and which tools it sees.",
  );
  addCommand(keys, "create", "Makes a key and prints it alone on standard output. It is shown this once.")
    .argument("<name>", "what it is for")
    .requiredOption(
      "--scopes <names>",
      "what it may do: processes:write,processes:read,processes:all,services:admin,modules:admin,packages:admin,approvals:decide,keys:admin,logs:read",
      collect,
    )
    .option("--role <id>", "which tools it sees (default: all)")
    .option("--expires <time>", "stops working after this time, such as 24h", parseDuration)
    .addHelpText(
      "after",
      examples("cyrnel keys create agent --scopes processes:write,processes:read --expires 24h"),
    )
    .action(act(shell, createKey));
  addCommand(keys, "list|ls", "Lists the keys that are not revoked.").action(act(shell, listKeys));
  addCommand(keys, "revoke", "Revokes keys, at once.")
    .argument("<id...>", "ids of keys")
    .action(changeEach(shell, "Key", "revoked", (client, params) => client.DELETE("/keys/{id}", { params })));
}

async function createKey(
  session: Session,
  name: string,
  { scopes = [], role, expires }: { scopes?: string[]; role?: string; expires?: number },
): Promise<void> {
  if (expires === Number.POSITIVE_INFINITY)
    throw usageFailure("--expires takes a time; leave it out for a key that does not expire.");
  const body = {
    name,
    scopes: scopes as Scope[],
    roleId: role ?? null,
    expiresAt: expires === undefined ? null : new Date(Date.now() + expires).toISOString(),
  };
  const made = unwrap(await session.client.POST("/keys", { body }));
  session.print(made, (one) => `${one.key}\n`);
  if (!session.json) session.stderr.write(`Key ${made.id}. Keep it now: it is not shown again.\n`);
}

async function listKeys(session: Session): Promise<void> {
  const keys = await readAll("keys", (query) => session.client.GET("/keys", { params: { query } }));
  printList(session, "keys", keys, "There are no keys.", {
    ID: (one) => one.id,
    NAME: (one) => one.name,
    KEY: (one) => `${one.prefix}…`,
    ROLE: (one) => one.roleId,
    EXPIRES: (one) => until(one.expiresAt),
    USED: (one) => ago(one.lastUsedAt),
    SCOPES: (one) => one.scopes.join(","),
  });
}

export function addRoles(program: Command, shell: Shell): void {
  const roles = addCommand(
    program,
    "roles|role",
    "Makes, lists and deletes roles: patterns of tools that a key may see and call.",
  );
  addCommand(roles, "create", "Makes a role. Without --allow it allows nothing.")
    .argument("<name>", "what it is for")
    .option("--allow <patterns>", "tools it sees: shop.*,mail.send", collect)
    .option("--deny <patterns>", "tools it does not see, even if --allow names them", collect)
    .option(
      "--packages <patterns>",
      "npm packages its scripts may import: zod,@scope/* (default: all)",
      collect,
    )
    .addHelpText("after", examples("cyrnel roles create reader --allow 'shop.get*'"))
    .action(act(shell, createRole));
  addCommand(roles, "list|ls", "Lists the roles.").action(act(shell, listRoles));
  addCommand(roles, "rm", "Deletes roles that no key and no policy names.")
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
  printList(session, "roles", roles, "There are no roles: every key sees all tools.", {
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
    "Decides which calls are allowed, asked about or blocked: the first policy that matches a call counts.",
  );
  addCommand(policies, "add", "Adds a policy after all others.")
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
  addCommand(policies, "list|ls", "Lists the policies in the order in which they are applied.").action(
    act(shell, listPolicies),
  );
  addCommand(policies, "order", "Puts all policies in the given order.")
    .argument("<id...>", "ids of all policies")
    .action(act(shell, orderPolicies));
  addCommand(policies, "rm", "Deletes policies.")
    .argument("<id...>", "ids of policies")
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
  // Standard output has the id alone, for programs.
  const { servicePattern, toolPattern, roleId, expiresAt } = policy;
  const whose = roleId === null ? "for every role" : `for the role ${roleId}`;
  const end = expiresAt === null ? "" : `, ending ${until(expiresAt)}`;
  const made = `${decision} ${servicePattern}.${toolPattern}, ${whose}${end}`;
  session.stderr.write(`${visibleLine(`The policy is made: ${made}. It is applied after all others.`)}\n`);
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
  session.print({ orderedIds }, () => "The policies are in order.\n");
}
