/** The command line: what all commands have in common, how it is explained, and how a mistake in it is told. */
import { Command, CommanderError } from "commander";
import { type Failure, usageFailure } from "./failure.ts";
import { DEFAULT_URL, type Shell } from "./session.ts";

/** Declares commands. */
export type AddCommands = (program: Command, shell: Shell) => void;

/** Parsing throws: see `toUsageFailure`. */
export function createProgram(shell: Shell, version: string, addCommands: AddCommands): Command {
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
  addCommands(program, shell);
  return program;
}

/** Null: what was asked for, such as help, has been printed. Other errors are answered as they are. */
export function toUsageFailure(error: unknown): Failure | null | unknown {
  if (!(error instanceof CommanderError)) return error;
  if (error.exitCode === 0) return null;
  if (error.code === "commander.help") return usageFailure("Which command? See: cyrnel --help");
  return usageFailure(error.message.replace(/^error: /, "").replaceAll("\n", " "));
}
