/** `cyrnel policies`: which calls are allowed, asked about or blocked. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { act } from "../act.ts";
import { usageFailure } from "../failure.ts";
import { parseDuration } from "../options.ts";
import { safeLine } from "../output/safe-text.ts";
import { formatTable } from "../output/table.ts";
import { until } from "../output/times.ts";
import { readAll } from "../pages.ts";
import type { Session, Shell } from "../session.ts";

interface AddFlags {
  /** False for `--no-role`. */
  role?: string | boolean;
  expires?: number;
}

export function addPolicies(program: Command, shell: Shell): void {
  const policies = program
    .command("policies")
    .alias("policy")
    .summary("decide which calls are allowed, asked about or blocked")
    .description("Policies, asked in their order: the first that matches a call decides it.");
  policies
    .command("add")
    .summary("add a policy after all others")
    .description("Adds a policy after all others.")
    .argument("<decision>", "allow, ask or block")
    .argument("<service.tool>", "patterns: shop.*, *.delete*")
    .option("--role <id>", "only for calls under this role")
    .option("--no-role", "only for calls under no role")
    .option("--expires <time>", "ends after this time, such as 24h", parseDuration)
    .addHelpText(
      "after",
      "\nExamples:\n  cyrnel policies add ask 'shop.delete*'\n  cyrnel policies add block 'mail.*' --expires 24h",
    )
    .action(act(shell, add));
  policies
    .command("list")
    .alias("ls")
    .summary("list policies in their order")
    .description("Lists the policies in the order in which they are asked.")
    .action(act(shell, list));
  policies
    .command("order")
    .summary("put all policies in order")
    .description("Puts all policies in the given order.")
    .argument("<id...>", "ids of all policies")
    .action(act(shell, order));
  policies
    .command("rm")
    .summary("delete policies")
    .description("Deletes policies.")
    .argument("<id...>", "ids of policies")
    .action(act(shell, remove));
}

async function add(
  session: Session,
  decision: string,
  pattern: string,
  { role, expires = Number.POSITIVE_INFINITY }: AddFlags,
): Promise<void> {
  if (decision !== "allow" && decision !== "ask" && decision !== "block") {
    throw usageFailure(`The decision is allow, ask or block; found "${decision}".`);
  }
  const dot = pattern.indexOf(".");
  if (dot < 1) throw usageFailure(`Expected service.tool, such as shop.*; found "${pattern}".`);
  const policy = unwrap(
    await session.client.POST("/policies", {
      body: {
        servicePattern: pattern.slice(0, dot),
        toolPattern: pattern.slice(dot + 1),
        roleId: typeof role === "string" ? role : null,
        noRole: role === false,
        decision,
        expiresAt: Number.isFinite(expires) ? new Date(Date.now() + expires).toISOString() : null,
      },
    }),
  );
  session.print(policy, (one) => `${one.id}\n`);
  if (session.json) return;
  // Beside the id, which programs read.
  const { servicePattern, toolPattern, roleId, expiresAt } = policy;
  const whose = roleId === null ? "for every role" : `for the role ${roleId}`;
  const end = expiresAt === null ? "" : `, ending ${until(expiresAt)}`;
  const made = `${decision} ${servicePattern}.${toolPattern}, ${whose}${end}`;
  session.stderr.write(`${safeLine(`The policy is made: ${made}. It is asked after all others.`)}\n`);
}

async function list(session: Session): Promise<void> {
  let defaultPolicy = "";
  const policies = await readAll(async (query) => {
    const page = unwrap(await session.client.GET("/policies", { params: { query } }));
    defaultPolicy = page.defaultPolicy;
    return { items: page.policies, nextCursor: page.nextCursor };
  });
  session.print({ policies, defaultPolicy }, (answer) =>
    formatTable(
      session.stdout,
      ["ID", "DECISION", "TOOLS", "ROLE", "PROCESS", "EXPIRES"],
      [
        ...answer.policies.map((one) => [
          one.id,
          one.decision,
          `${one.servicePattern}.${one.toolPattern}`,
          one.noRole ? "(none)" : one.roleId,
          one.processId,
          until(one.expiresAt),
        ]),
        ["(otherwise)", answer.defaultPolicy, "*.*", null, null, null],
      ],
      "",
    ),
  );
}

async function order(session: Session, orderedIds: string[]): Promise<void> {
  unwrap(await session.client.PUT("/policies/order", { body: { orderedIds } }));
  session.print({ orderedIds }, () => "The policies are in order.\n");
}

async function remove(session: Session, ids: string[]): Promise<void> {
  for (const id of ids) {
    unwrap(await session.client.DELETE("/policies/{id}", { params: { path: { id } } }));
    session.print({ id, deleted: true }, (one) => `Policy ${one.id} is deleted.\n`);
  }
}
