/** `cyrnel packages`: npm packages that scripts on the server may import. */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { unwrap } from "#client/errors.ts";
import { readAll } from "#client/pages.ts";
import { visibleLine } from "#client/visible-text.ts";
import { Failure, usageFailure } from "../failure.ts";
import { parseObject } from "../options.ts";
import { act, type Session, type Shell } from "../session.ts";
import { ago, formatFacts, formatTable } from "../table.ts";
import { addCommand, examples, printList } from "./resource.ts";

export function addPackages(program: Command, shell: Shell): void {
  const packages = addCommand(
    program,
    "packages|package",
    "Installs, lists and removes npm packages that scripts on the server may import.",
  );
  addCommand(packages, "add", "Installs a package with its dependencies. Install scripts are not run.")
    .argument("<name[@range]>", "name, with a version or a range: zod, zod@4.1.2, date-fns@^4")
    .option("--lock <file>", "package-lock.json whose tree is installed exactly")
    .option("--no-wait", "do not wait for the installation")
    .addHelpText("after", examples("cyrnel packages add zod", "cyrnel packages add 'date-fns@^4'"))
    .action(act(shell, add));
  addCommand(packages, "list|ls", "Lists the packages that scripts of this key may import.").action(
    act(shell, list),
  );
  addCommand(packages, "show", "Prints a package and its dependency tree.")
    .argument("<name[@version]>", "name; without a version, every installed version")
    .action(act(shell, show));
  addCommand(packages, "rm", "Removes packages. Runs that already use them keep them.")
    .argument("<name@version...>", "names with versions")
    .action(act(shell, remove));
}

const LOOK_MS = 500;

/** `@scope/name@range`. */
function splitName(text: string): { name: string; range: string | undefined } {
  const at = text.indexOf("@", 1);
  return at < 0 ? { name: text, range: undefined } : { name: text.slice(0, at), range: text.slice(at + 1) };
}

async function add(
  session: Session,
  text: string,
  { lock, wait }: { lock?: string; wait: boolean },
): Promise<void> {
  const { client, signal } = session;
  const { name, range } = splitName(text);
  const body = {
    name,
    ...(range !== undefined && { range }),
    ...(lock !== undefined && { lock: parseObject(await readLock(lock), "--lock") }),
  };
  let installation = unwrap(await client.POST("/packages", { body }));
  const follow = async () => {
    const params = { path: { id: installation.id } };
    while (installation.state === "running") {
      await sleep(LOOK_MS, undefined, { signal });
      installation = unwrap(await client.GET("/package-installations/{id}", { params, signal }));
    }
  };
  if (wait) await session.during(() => describeStep(installation), follow());
  if (installation.state === "failed") {
    throw new Failure("installation_failed", installation.error ?? "The package could not be installed.");
  }
  session.print(installation, (one) =>
    one.state === "done"
      ? `${one.name}@${one.version} is installed. In a script: import … from ${JSON.stringify(one.name)}\n`
      : `${one.name} is being installed: ${one.id}\n`,
  );
}

function describeStep({
  name,
  step,
  done,
  total,
}: {
  name: string;
  step: string;
  done: number;
  total: number | null;
}) {
  return `${name}: ${step}${total === null ? "" : ` ${done}/${total}`}`;
}

async function readLock(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw usageFailure(`The lock file cannot be read: ${(error as Error).message}`);
  }
}

function readInstalled(session: Session, name?: string) {
  return readAll("packages", (query) =>
    session.client.GET("/packages", { params: { query: { ...query, ...(name !== undefined && { name }) } } }),
  );
}

async function list(session: Session): Promise<void> {
  printList(
    session,
    "packages",
    await readInstalled(session),
    "No packages installed. Install one: cyrnel packages add zod",
    {
      NAME: (one) => one.name,
      VERSION: (one) => one.version,
      LICENSE: (one) => one.license,
      SIZE: (one) => formatBytes(one.sizes.code),
      PACKAGES: (one) => one.packages,
      ADVISORIES: (one) => one.advisories ?? "?",
      INSTALLED: (one) => (one.source === "starter" ? "with the server" : ago(one.installedAt)),
      DESCRIPTION: (one) => one.description,
    },
  );
}

async function show(session: Session, text: string): Promise<void> {
  const { name, range } = splitName(text);
  const versions =
    range === undefined ? (await readInstalled(session, name)).map(({ version }) => version) : [range];
  if (versions.length === 0) throw new Failure("not_found", `The package ${name} is not installed.`);
  for (const version of versions) {
    const params = { path: { name, version } };
    const found = unwrap(await session.client.GET("/packages/{name}/{version}", { params }));
    session.print(found, (one) =>
      [
        formatFacts(session.stdout, [
          ["package", `${one.name}@${one.version}`],
          ["description", one.description],
          ["license", one.license],
          ["digest", one.digest],
          ["imports", one.exports.map((path) => one.name + path.slice(1)).join(", ")],
          ["code", formatBytes(one.sizes.code)],
          ["unpacked", `${formatBytes(one.sizes.unpacked)} in ${one.sizes.files} files`],
          ["Node built-ins", one.builtins.join(", ")],
          ["unavailable modules", one.missing.join(", ")],
          ["left out", one.leftOut.map((left) => `${left.name} (${left.reason})`).join(", ")],
          ["advisories", describeAdvisories(one.advisories)],
          ["installed", `${ago(one.installedAt)} by ${one.installedBy}`],
        ]),
        formatTable(session, one.tree, "", {
          PACKAGE: (member) => `${member.name}@${member.version}`,
          LICENSE: (member) => member.license,
          PUBLISHED: (member) => ago(member.publishedAt),
          SIZE: (member) => formatBytes(member.bytes),
          SCRIPTS: (member) => (member.installScripts ? "not run" : null),
        }),
      ].join("\n"),
    );
  }
}

function describeAdvisories(advisories: { name: string; severity: string; title: string }[] | null): string {
  if (advisories === null) return "not checked";
  if (advisories.length === 0) return "none known";
  return advisories.map((one) => `${one.name} (${one.severity}): ${one.title}`).join("; ");
}

async function remove(session: Session, given: string[]): Promise<void> {
  for (const text of given) {
    const { name, range: version } = splitName(text);
    if (version === undefined)
      throw usageFailure(`Expected a name with a version, such as zod@4.1.2; found "${text}".`);
    unwrap(
      await session.client.DELETE("/packages/{name}/{version}", { params: { path: { name, version } } }),
    );
    session.print(
      { name, version, deleted: true },
      () => `Package ${visibleLine(`${name}@${version}`)} is deleted.\n`,
    );
  }
}

function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kib = bytes / 1024;
  return kib < 1024 ? `${Math.round(kib)} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}
