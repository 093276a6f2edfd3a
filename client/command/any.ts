/** Every command line, with all commands. */
import { addAll } from "./commands/all.ts";
import { main } from "./main.ts";

export async function runAny(): Promise<void> {
  await main(addAll);
}
