/** `cyrnel run --local` for what is begun ahead: a bundle of its own, with nothing of the other commands. */
import type { Ahead } from "../local/ahead.ts";
import { addRun } from "./commands/run.ts";
import { main } from "./main.ts";

export async function runHere({ abandon }: Ahead): Promise<void> {
  await main(addRun, abandon);
}
