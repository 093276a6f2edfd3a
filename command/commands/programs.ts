/** Commands that are server entry files: execve replaces this program, so signals and exit codes are theirs. */
import { join } from "node:path";
import type { Command } from "commander";
import { CLIENT_NAMES, installMcp } from "../mcp-install.ts";
import { act, type Session, type Shell } from "../session.ts";
import { addCommand, examples } from "./resource.ts";

const NODE_FLAGS = ["--disable-sigusr1"];
const SERVER_FLAGS = [
  ...NODE_FLAGS,
  "--enable-source-maps",
  "--max-semi-space-size=8",
  "--initial-heap-size=128",
];

interface ServeFlags {
  port?: string;
  host?: string;
  data?: string;
}

export function addPrograms(program: Command, shell: Shell): void {
  addCommand(
    program,
    "serve",
    "Starts the server in the foreground; Ctrl-C stops it. Settings are environment variables (docs/configuration.md). Exit code 78 means they are invalid.",
  )
    .option("--port <port>", "TCP port; 0 picks a free one (PORT)")
    .option("--host <address>", "address to listen on (HOST)")
    .option("--data <folder>", "folder of the embedded database and modules (CYRNEL_DATA_DIR)")
    .addHelpText(
      "after",
      examples("cyrnel serve", "DATABASE_URL=postgres://… CYRNEL_API_KEY=… cyrnel serve --host 0.0.0.0"),
    )
    .action(act(shell, serve));
  const relays = "Relays a server's MCP endpoint over stdio, for clients that start a program";
  const mcps = addCommand(program, "mcp", `${relays}.`);
  mcps
    .command("relay", { isDefault: true })
    .summary(relays)
    .description(`${relays}; also without the word relay.`)
    .action(act(shell, mcp));
  addCommand(
    mcps,
    "install",
    "Adds this command to the settings of an MCP client, with the address and key given to it. Prints what to add if the file cannot be changed.",
  )
    .argument("<client>", CLIENT_NAMES.join(", "))
    .option("--print", "only print what to add, without the key")
    .addHelpText("after", examples("cyrnel mcp install cursor", "cyrnel mcp install vscode --print"))
    .action(act(shell, installMcp));
  const secrets = addCommand(program, "secrets", "Manages the key that encrypts secrets.");
  addCommand(
    secrets,
    "rotate",
    "Re-encrypts every stored secret with CYRNEL_SECRETS_KEY. Older keys are in CYRNEL_SECRETS_PREVIOUS_KEYS. Works on the database directly, with the server's settings.",
  ).action(act(shell, rotate));
}

async function serve({ shell }: Session, { port, host, data }: ServeFlags): Promise<void> {
  shell.become(process.execPath, [...SERVER_FLAGS, join(shell.root, "dist/server/main.js")], {
    ...(port !== undefined && { PORT: port }),
    ...(host !== undefined && { HOST: host }),
    ...(data !== undefined && { CYRNEL_DATA_DIR: data }),
  });
}

async function mcp({ shell, url, key }: Session): Promise<void> {
  shell.become(process.execPath, [...NODE_FLAGS, join(shell.root, "dist/server/mcp.js")], {
    CYRNEL_URL: url,
    ...(key !== undefined && { CYRNEL_API_KEY: key }),
  });
}

async function rotate({ shell }: Session): Promise<void> {
  shell.become(process.execPath, [...NODE_FLAGS, join(shell.root, "dist/server/rotate-secrets.js")], {});
}
