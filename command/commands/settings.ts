/** `config` and `secret` of services and of modules: the same words for both. */
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { act } from "../act.ts";
import { usageFailure } from "../failure.ts";
import { collect, parsePair, readText, toPointer } from "../options.ts";
import { safeJson, safeLine } from "../output/safe-text.ts";
import { formatTable } from "../output/table.ts";
import { askHidden } from "../prompt.ts";
import type { Session, Shell } from "../session.ts";

type Owner = "service" | "module";
type Change = { op: "add"; path: string; value: unknown } | { op: "remove"; path: string };

const MAX_SECRET_BYTES = 64 * 1024;

/** Adds both to `parent`, which is the command of the owners. */
export function addSettings(parent: Command, shell: Shell, owner: Owner): void {
  parent
    .command("config")
    .summary("read or change settings")
    .description(
      `Prints the settings of a ${owner}, or changes them: name=value, the value as JSON or text. A name that begins with / is a JSON Pointer.`,
    )
    .argument("<id>", `id of the ${owner}`)
    .argument("[name=value...]", "what to set")
    .option("--unset <names>", "settings to remove", collect)
    .option("--schema", "print the JSON Schema of the settings")
    .addHelpText(
      "after",
      `\nExamples:\n  cyrnel ${owner} config ${EXAMPLE[owner]}\n  cyrnel ${owner} config ${EXAMPLE[owner]} ${SETTING[owner]}`,
    )
    .action(
      act(shell, (session, ...given: [string, string[], ConfigFlags]) => config(session, owner, ...given)),
    );
  parent
    .command("secret")
    .summary("list, set or remove secrets")
    .description(
      `Names the secrets of a ${owner} that are set, or sets one: its value is asked for, or read from standard input, never taken from the command line. Values are never shown.`,
    )
    .argument("<id>", `id of the ${owner}`)
    .argument("[name]", "secret to set")
    .option("--unset <names>", "secrets to remove", collect)
    .option("--schema", "print the JSON Schema of the secrets")
    .addHelpText(
      "after",
      `\nExamples:\n  cyrnel ${owner} secret ${EXAMPLE[owner]} token\n  cyrnel ${owner} secret ${EXAMPLE[owner]} token < token.txt`,
    )
    .action(
      act(shell, (session, ...given: [string, string | undefined, ConfigFlags]) =>
        secret(session, owner, ...given),
      ),
    );
}

const EXAMPLE: Record<Owner, string> = { service: "shop", module: "typescript-process" };
const SETTING: Record<Owner, string> = { service: "baseUrl=https://api.example.com", module: "memoryMb=256" };

interface ConfigFlags {
  unset?: string[];
  schema?: true;
}

async function config(
  session: Session,
  owner: Owner,
  id: string,
  pairs: string[],
  { unset = [], schema }: ConfigFlags,
): Promise<void> {
  const { client } = session;
  const params = { path: { id } };
  if (schema) {
    const found = unwrap(
      owner === "service"
        ? await client.GET("/services/{id}/config/schema", { params })
        : await client.GET("/modules/{id}/config/schema", { params }),
    );
    return session.print(found, (value) => `${safeJson(value, 2)}\n`);
  }
  const changes = [...pairs.map(parsePair).map(toAddition), ...unset.map(toRemoval)];
  const settings = unwrap(await patchOrRead());
  session.print(settings.config, (value) => `${safeJson(value, 2)}\n`);
  if (settings.outdated.length > 0) {
    session.stderr.write(`The schema no longer knows: ${settings.outdated.map(safeLine).join(", ")}\n`);
  }

  async function patchOrRead() {
    if (owner === "service") {
      if (changes.length === 0) return client.GET("/services/{id}/config", { params });
      return session.during("Changing", client.PATCH("/services/{id}/config", { params, body: changes }));
    }
    if (changes.length === 0) return client.GET("/modules/{id}/config", { params });
    return session.during("Changing", client.PATCH("/modules/{id}/config", { params, body: changes }));
  }
}

async function secret(
  session: Session,
  owner: Owner,
  id: string,
  name: string | undefined,
  { unset = [], schema }: ConfigFlags,
): Promise<void> {
  const { client } = session;
  const params = { path: { id } };
  if (schema) {
    const found = unwrap(
      owner === "service"
        ? await client.GET("/services/{id}/secrets/schema", { params })
        : await client.GET("/modules/{id}/secrets/schema", { params }),
    );
    return session.print(found, (value) => `${safeJson(value, 2)}\n`);
  }
  const changes: Change[] = unset.map(toRemoval);
  if (name !== undefined) changes.push(toAddition([name, await readSecret(session, name)]));
  if (changes.length > 0) await change();
  const { present, outdated } = unwrap(
    owner === "service"
      ? await client.GET("/services/{id}/secrets", { params })
      : await client.GET("/modules/{id}/secrets", { params }),
  );
  session.print({ present, outdated }, (answer) =>
    formatTable(
      session.stdout,
      ["SECRET", "VALUE"],
      answer.present.map((one) => [one, answer.outdated.includes(one) ? "outdated" : "set"]),
      "No secret is set.",
    ),
  );
  if (outdated.some((one) => present.includes(one))) {
    session.stderr.write(
      "Outdated secrets are not used: they no longer fit the schema, or were set before the service had other addresses to send them to. Set them again, or --unset them.\n",
    );
  }

  async function change(): Promise<void> {
    if (owner === "service") unwrap(await client.PATCH("/services/{id}/secrets", { params, body: changes }));
    else unwrap(await client.PATCH("/modules/{id}/secrets", { params, body: changes }));
  }
}

async function readSecret({ stdin, signal }: Session, name: string): Promise<string> {
  if (name.includes("="))
    throw usageFailure("A secret's value is not taken from the command line: others can read that.");
  const text =
    stdin.isTTY === true
      ? await askHidden(`${safeLine(name)}: `, stdin, signal)
      : await readText("-", { stdin }, MAX_SECRET_BYTES);
  const value = text.replace(/\r?\n$/, "");
  if (value === "") throw usageFailure("The secret is empty: nothing was changed.");
  return value;
}

function toAddition([name, value]: [string, unknown]): Change {
  return { op: "add", path: toPointer(name), value };
}

function toRemoval(name: string): Change {
  return { op: "remove", path: toPointer(name) };
}
