/** Between the library that reads command lines and what a command does. */
import type { Command } from "commander";
import type { ExitCode } from "./exit-codes.ts";
import { type GlobalOptions, openSession, type Session, type Shell } from "./session.ts";

/** Makes an action of `run`, which gets the session, the arguments in their order and the options, and may answer an exit code. */
export function act<A extends unknown[]>(
  shell: Shell,
  run: (session: Session, ...given: A) => Promise<ExitCode | undefined> | Promise<void>,
) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.pop() as Command;
    const session = openSession(shell, command.optsWithGlobals<GlobalOptions>());
    const exitCode = await run(session, ...(given as A));
    if (exitCode !== undefined) shell.exitCode = exitCode;
  };
}
