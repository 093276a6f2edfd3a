/** The whole command line: what there is, how it is explained, and how a mistake in it is told. */
import { Command, CommanderError } from "commander";
import { addApprovals } from "./commands/approvals.ts";
import { addAudit } from "./commands/audit.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addKeys } from "./commands/keys.ts";
import { addModules } from "./commands/modules.ts";
import { addPolicies } from "./commands/policies.ts";
import { addProcesses } from "./commands/processes.ts";
import { addPrograms } from "./commands/programs.ts";
import { addRoles } from "./commands/roles.ts";
import { addRun } from "./commands/run.ts";
import { addServices } from "./commands/services.ts";
import { addTools } from "./commands/tools.ts";
import { type Failure, usageFailure } from "./failure.ts";
import { DEFAULT_URL, type Shell } from "./session.ts";

/** `isOnlyRun`: without the other commands, which take as long to declare as that one to parse. Parsing throws: see `toUsageFailure`. */
export function createProgram(shell: Shell, version: string, isOnlyRun = false): Command {
  const program = new Command("cyrnel");
  program
    .description("Runs TypeScript that you did not write: on a server, or locked down on this machine.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "explain the command")
    .helpCommand("help [command]", "explain a command")
    .option("--url <url>", `address of the server (CYRNEL_URL; default ${DEFAULT_URL})`)
    .option("--key <key>", "API key (better: CYRNEL_API_KEY, which other users cannot read)")
    .option("--json", "print the answer as JSON")
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false, helpWidth: 100 })
    .configureOutput({
      writeOut: (text) => shell.stdout.write(text),
      // Told once, in one line, by whoever catches the error.
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
  addRun(program, shell);
  if (isOnlyRun) return program;
  addProcesses(program, shell);
  addServices(program, shell);
  addTools(program, shell);
  addApprovals(program, shell);
  addPolicies(program, shell);
  addRoles(program, shell);
  addKeys(program, shell);
  addModules(program, shell);
  addAudit(program, shell);
  addPrograms(program, shell);
  addDoctor(program, shell);
  addCompletion(program, shell);
  return program;
}

/** Null: what was asked for, such as help, has been printed. Other errors are answered as they are. */
export function toUsageFailure(error: unknown): Failure | null | unknown {
  if (!(error instanceof CommanderError)) return error;
  if (error.exitCode === 0) return null;
  if (error.code === "commander.help") return usageFailure("Which command? See: cyrnel --help");
  return usageFailure(error.message.replace(/^error: /, "").replaceAll("\n", " "));
}
