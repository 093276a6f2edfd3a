/** `cyrnel completion`: a shell script that asks this program for completions. */
import type { Command, Option } from "commander";
import { usageFailure } from "../failure.ts";
import { act, type Session, type Shell } from "../session.ts";
import { addCommand, examples } from "./resource.ts";

/** Called by the scripts below; hidden from the help. */
const ASK = "__complete";

const SCRIPTS: Record<string, string> = {
  bash: `_cyrnel() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(cyrnel ${ASK} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _cyrnel cyrnel
`,
  zsh: `#compdef cyrnel
_cyrnel() {
  local -a found
  local line
  while IFS=$'\\t' read -r name text; do
    found+=("\${name//:/\\\\:}:$text")
  done < <(cyrnel ${ASK} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe cyrnel found; else _files; fi
}
compdef _cyrnel cyrnel
`,
  fish: `function __cyrnel_complete
  set -l words (commandline -opc) (commandline -ct)
  cyrnel ${ASK} -- $words[2..] 2>/dev/null
end
complete -c cyrnel -a '(__cyrnel_complete)'
`,
};

export function addCompletion(program: Command, shell: Shell): void {
  addCommand(
    program,
    "completion",
    "Prints a script that completes commands and options: for bash, zsh or fish.",
  )
    .argument("<shell>", "bash, zsh or fish")
    .addHelpText(
      "after",
      examples(
        "source <(cyrnel completion bash)",
        "cyrnel completion zsh > ~/.zfunc/_cyrnel",
        "cyrnel completion fish > ~/.config/fish/completions/cyrnel.fish",
      ),
    )
    .action(act(shell, print));
  program
    .command(ASK, { hidden: true })
    .argument("[words...]")
    .action(
      act(shell, async ({ stdout }: Session, words: string[]) => {
        for (const { name, text } of complete(program, words)) stdout.write(`${name}\t${text}\n`);
      }),
    );
}

async function print({ stdout }: Session, name: string): Promise<void> {
  const script = Object.hasOwn(SCRIPTS, name) ? SCRIPTS[name] : undefined;
  if (script === undefined)
    throw usageFailure(`There are completions for ${Object.keys(SCRIPTS).join(", ")}; found "${name}".`);
  stdout.write(script);
}

interface Candidate {
  name: string;
  text: string;
}

export function complete(program: Command, words: readonly string[]): Candidate[] {
  const last = words.at(-1) ?? "";
  let command = program;
  let awaited: Option | undefined;
  for (const word of words.slice(0, -1)) {
    if (awaited !== undefined) awaited = undefined;
    else if (word.startsWith("-")) {
      const option = findOption(command, word);
      if (option?.required || option?.optional) awaited = option;
    } else
      command =
        command.commands.find((one) => one.name() === word || one.aliases().includes(word)) ?? command;
  }
  const candidates =
    awaited !== undefined
      ? (awaited.argChoices ?? []).map((name) => ({ name, text: "" }))
      : last.startsWith("-")
        ? listOptions(command)
        : command.commands
            .filter((one) => one.name() !== ASK)
            .map((one) => ({ name: one.name(), text: one.summary() }));
  return candidates.filter(({ name }) => name.startsWith(last));
}

function findOption(command: Command | null, word: string): Option | undefined {
  for (let at = command; at !== null; at = at.parent) {
    const found = at.options.find(({ long, short }) => word === long || word === short);
    if (found !== undefined) return found;
  }
  return undefined;
}

function listOptions(command: Command): Candidate[] {
  const found: Candidate[] = [{ name: "--help", text: "show help" }];
  for (let at: Command | null = command; at !== null; at = at.parent) {
    for (const { long, description } of at.options) if (long) found.push({ name: long, text: description });
  }
  return found;
}
