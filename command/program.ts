/** The command line: every command in help order, the global options, and usage errors. */
import { Command, CommanderError } from "commander";
import { addKeys, addPolicies, addRoles } from "./commands/access.ts";
import { addApprovals } from "./commands/approvals.ts";
import { addAudit } from "./commands/audit.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addModules } from "./commands/modules.ts";
import { addPackages } from "./commands/packages.ts";
import { addProcesses } from "./commands/processes.ts";
import { addPrograms } from "./commands/programs.ts";
import { addServices } from "./commands/services.ts";
import { addTools } from "./commands/tools.ts";
import { type Failure, usageFailure } from "./failure.ts";
import { addRun } from "./run/command.ts";
import { DEFAULT_URL, type Shell } from "./session.ts";

const COMMANDS: ((program: Command, shell: Shell) => void)[] = [
  addRun,
  addProcesses,
  addServices,
  addTools,
  addApprovals,
  addPolicies,
  addRoles,
  addKeys,
  addModules,
  addPackages,
  addAudit,
  addPrograms,
  addDoctor,
  addCompletion,
];

/** Its parser throws on errors: see `toUsageFailure`. */
export function createProgram(shell: Shell, version: string): Command {
  const program = new Command("cyrnel");
  program
    .description("Runs TypeScript you did not write: on a server, or locked down on this machine.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "Shows help for a command")
    .option("--url <url>", `address of the server (CYRNEL_URL; default ${DEFAULT_URL})`)
    .option("--key <key>", "API key; prefer CYRNEL_API_KEY, which other users cannot read")
    .option("--json", "print the answer as JSON")
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false, helpWidth: 100 })
    .configureOutput({
      writeOut: (text) => shell.stdout.write(text),
      // The entry file reports the error, on one line.
      writeErr() {},
    })
    .addHelpText(
      "after",
      `
Examples:
  cyrnel serve
  cyrnel run script.ts
  echo 'return 6 * 7' | cyrnel run - --local
  cyrnel service add https://api.example.com/openapi.json --id shop
  cyrnel approvals list`,
    );
  for (const addTo of COMMANDS) addTo(program, shell);
  return program;
}

/** Returns a Failure for a usage error, null after help or version output, and any other error unchanged. */
export function toUsageFailure(error: unknown): Failure | null | unknown {
  if (!(error instanceof CommanderError)) return error;
  if (error.exitCode === 0) return null;
  if (error.code === "commander.help") return usageFailure("No command given. See: cyrnel --help");
  return usageFailure(error.message.replace(/^error: /, "").replaceAll("\n", " "));
}
