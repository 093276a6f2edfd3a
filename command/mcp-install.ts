/**
 * `cyrnel mcp install`: adds this command to an MCP client's settings, or prints what to add if it may not write
 * them.
 */
import { mkdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { visibleLine } from "#client/visible-text.ts";
import { EXIT, type ExitCode } from "./failure.ts";
import { parseOneOf } from "./options.ts";
import type { Session } from "./session.ts";

interface Client {
  /** Path below the system's folder for application settings, or (`home`) below the home directory. */
  file: string | { home: string };
  /** The settings file's member that lists the servers. */
  servers: "mcpServers" | "servers";
}

const CLIENTS: Record<string, Client> = {
  "claude-code": { file: { home: ".claude.json" }, servers: "mcpServers" },
  "claude-desktop": { file: "Claude/claude_desktop_config.json", servers: "mcpServers" },
  cursor: { file: { home: ".cursor/mcp.json" }, servers: "mcpServers" },
  vscode: { file: "Code/User/mcp.json", servers: "servers" },
};
export const CLIENT_NAMES = Object.keys(CLIENTS);
const KEY_PLACEHOLDER = "<your key>";

type Settings = Record<string, unknown>;

export async function installMcp(
  session: Session,
  name: string,
  { print }: { print?: true },
): Promise<ExitCode> {
  const { file: place, servers } = CLIENTS[parseOneOf(name, CLIENT_NAMES, "The client")] as Client;
  const programs = process.platform === "darwin" ? "Library/Application Support" : ".config";
  const file = join(homedir(), typeof place === "string" ? join(programs, place) : place.home);
  const { key } = session;
  const problem = print ? null : await addServer(file, servers, describeServer(session, servers, key));
  if (!print && problem === null) {
    session.print(
      { file, installed: true },
      () => `Added cyrnel to ${visibleLine(file)}. Restart the client.\n`,
    );
    return EXIT.ok;
  }
  // Other people could read a key on the screen or in a job's log.
  const shown = describeServer(session, servers, key === undefined ? undefined : KEY_PLACEHOLDER);
  const why = problem === null ? "" : `${file} was not changed: ${problem}. `;
  session.stderr.write(`${visibleLine(`${why}Add this to ${file}:`)}\n`);
  session.stdout.write(`${JSON.stringify({ [servers]: { cyrnel: shown } }, null, 2)}\n`);
  return problem === null ? EXIT.ok : EXIT.failed;
}

function describeServer({ shell, url }: Session, servers: string, key: string | undefined): Settings {
  return {
    ...(servers === "servers" && { type: "stdio" }),
    command: join(shell.root, "command/cyrnel"),
    args: ["mcp"],
    env: { CYRNEL_URL: url, ...(key !== undefined && { CYRNEL_API_KEY: key }) },
  };
}

/** Keeps everything else in the file. Returns why the file was not changed, or null. */
async function addServer(file: string, servers: string, server: Settings): Promise<string | null> {
  try {
    await mkdir(dirname(file), { recursive: true });
    // Follows a symbolic link, common in dotfiles repositories, instead of replacing it.
    const real = await realpath(file).catch(() => file);
    const settings = asObject(JSON.parse(await readFile(real, "utf8").catch(emptyIfMissing)));
    const known = asObject(settings[servers] ?? {});
    const text = JSON.stringify({ ...settings, [servers]: { ...known, cyrnel: server } }, null, 2);
    const next = `${real}.cyrnel-${process.pid}`;
    try {
      // The file contains a key.
      await writeFile(next, `${text}\n`, { mode: 0o600, flag: "wx" });
      await rename(next, real);
    } finally {
      await rm(next, { force: true });
    }
    return null;
  } catch (error) {
    return error instanceof SyntaxError
      ? "it is not a JSON object (it may have comments)"
      : (error as Error).message;
  }
}

function emptyIfMissing(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOENT") return "{}";
  throw error;
}

function asObject(value: unknown): Settings {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Settings;
  throw new SyntaxError();
}
